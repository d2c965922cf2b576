"""Gains by the runs' own encoder, and by a second one that nobody trained on."""

from dataclasses import dataclass

from sozo.eval.compare import Compared
from sozo.eval.evaluated import not_alike
from sozo.scoring.second_encoder import Gain, GainParts, SecondEncoder, gain
from sozo.tasks import task_types


@dataclass(frozen=True, slots=True)
class SecondGain:
    """A model's gains over its base in a task's main measure."""

    task: str
    model: str
    base: str
    encoder: str  # the second encoder's name
    revision: str
    own: Gain | None  # None where both runs are not on one scale
    parts: GainParts | None  # None where it can score too few


def second_gains(compared: Compared, second: SecondEncoder) -> list[SecondGain]:
    """Both gains of every model over its base, in the tasks that a second encoder can score."""
    gains = []
    for task in task_types().values():
        runs = {model.name: run for model in compared.models if (run := model.run(task.name))}
        seen = {name: lists for name, run in runs.items() if (lists := run.seen_by(second)) is not None}
        for base, name in ((base.name, model.name) for base, model in compared.pairs):
            if base in seen and name in seen:
                one, other = runs[base], runs[name]
                own = None if not_alike(one, other) else gain(one.by_answer(one.main), other.by_answer(other.main))
                encoder = second.of(other.language).encoder
                names = (task.name, name, base, encoder.name, encoder.revision)
                gains.append(SecondGain(*names, own, seen[name].over(seen[base])))
    return gains
