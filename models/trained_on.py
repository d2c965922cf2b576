"""What a model was trained on: of each training the task, the measure, the encoder and the judge, and by what.

A training writes it into `run_config.json` when it begins: what the model that it starts from records, what the answers
that it shows were drawn by, and what they were chosen by or paid for. None is none; what was never written is said so.
Answers that are the best of several were chosen, too, whoever wrote them: that is told like a training.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sozo.data.checkpoints import STATE, record_of
from sozo.data.record import read_json
from sozo.models.settings import FRONTIER
from sozo.scoring.embeddings.prompts import parts_of
from sozo.scoring.measure import Measure
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task

NOT_RECORDED = "not recorded"
_BEST_OF = "best-of"
PLACEBO = "placebo"  # by what a model was trained that chance paid
YES, NO, NOT_KNOWN = "yes", "no", "not known"
Training = dict[str, Any]  # task, measure, encoder, judge, by


def trained_on(model: Path) -> list[Training]:
    """The trainings of a model's folder or of a checkpoint in it, the first one first; none of what sozo never trained.

    Of a training of before only what GRPO paid for is known.
    """
    record = record_of(model)
    if not (record or (model / STATE).is_file()):
        return []
    config = read_json(record) if record else {}
    if "trained_on" in config:
        return list(config["trained_on"])
    paid = of_rewards(config.get("settings", {}).get("rewards", []))
    # Only of a folder, which may have been trained
    start = config.get("loaded", {}).get("model_sha256")
    return [_training()] * bool(start or not paid) + paid


def of_rewards(rewards: Iterable[Mapping[str, Any]]) -> list[Training]:
    """What GRPO pays for, of rewards as its record describes them (`sozo.training.mix.described`)."""
    return [
        _training(
            PLACEBO if PLACEBO in reward else "grpo",
            task=reward["task"],
            measure=reward.get("measure") or reward.get("path") or reward["task"],
            encoder=reward.get("embedding_model"),
            judge=(reward.get("judge") or {}).get("model"),
        )
        for reward in rewards
    ]


def of_answers(run: RunResult, by: str, *, chosen: bool) -> list[Training]:
    """What a run's answers were drawn by, and what a method `by` trains on: all of them, or `chosen` by their score."""
    if not run.settings:  # of bare parts nothing else is known
        measure = run.known_by.name if chosen else NOT_RECORDED
        return [_training(by, task=run.task, measure=measure)]
    worth: dict[str, str | None] = {"measure": None, "encoder": None, "judge": None}
    if chosen:
        judge = run.scale.get("judge", {}).get("model")
        worth = {
            "measure": run.known_by.name,
            "encoder": run.scale.get("embedding_model"),
            "judge": judge,
        }
    return [*_drawn_by(run), _training(by, task=run.task, **worth)]


def _drawn_by(run: RunResult) -> list[Training]:
    decoder = run.loaded.get("decoder") or {}
    if decoder.get("generator") != FRONTIER:
        return recorded(run)
    if not (decoder["strength"] or decoder["word_strength"]):  # every list is as likely
        return []
    encoder = decoder.get("embedding_model")
    return [
        _training(
            FRONTIER, task=run.task, measure=run.main.name, encoder=encoder, judge=None
        )
    ]


def recorded(run: RunResult) -> list[Training]:
    """The trainings of the model that wrote a run's answers, as the run recorded them; last what they were chosen by."""
    trainings = run.loaded.get("trained_on") or []
    # Before, they were GRPO's tasks
    if run.loaded.get("model_trained") and not (
        trainings and isinstance(trainings[0], dict)
    ):
        trainings = [
            _training(),
            *(_training("grpo", task=task) for task in trainings),
        ]
    if _BEST_OF not in run.settings.get("sampling", ""):
        return trainings
    # Of answers that are scored again the encoder that chose is not recorded.
    encoder = run.scorer if run.loaded.get("decoder") else NOT_RECORDED
    chosen = _training(
        _BEST_OF, task=run.task, measure=run.known_by.name, encoder=encoder, judge=None
    )
    return [*trainings, chosen]


def different(trainings: Iterable[Training]) -> list[Training]:
    """Each once, in order."""
    known: list[Training] = []
    for training in trainings:
        if training not in known:
            known.append(training)
    return known


def target(
    trainings: Sequence[Training],
    task: type[Task],
    measure: Measure,
    second_encoder: str = "",
) -> str:
    """Whether answers were paid for, drawn or chosen by a measure: YES, NO or NOT_KNOWN; then a gain is no evidence.

    Whoever pays for a task's answers pays 0 for one that is not usable, and shows usable ones only: so what counts an
    unusable one as 0 rises with them. What else is paid for is part of the first measure. What a second encoder says of
    pairing is a target only if training went by that encoder, in whatever task and whatever it was combined with.
    """
    if measure == task.second:
        own = set(parts_of(second_encoder)) if second_encoder else set()
        hit = any(
            one["encoder"] and own & set(parts_of(one["encoder"])) for one in trainings
        )
    else:
        meant = {one["measure"] for one in trainings if one["task"] == task.name}
        if any(meant):
            meant.add(task.measures[0].name)
        if meant:
            meant.update(one.name for one in (task.beside()[0], *task.unusable_is_0))
        hit = measure.name in meant
    if hit:
        return YES
    not_known = any(
        NOT_RECORDED in one.values()
        for one in trainings
        if one["task"] in (task.name, NOT_RECORDED) and one["measure"] is not None
    )
    # That answers were chosen says nothing of the model.
    unknown = all(one["by"] == _BEST_OF for one in trainings)
    return NOT_KNOWN if not_known or unknown else NO


def _training(by: str = NOT_RECORDED, **recorded: str | None) -> Training:
    unknown = dict.fromkeys(("task", "measure", "encoder", "judge"), NOT_RECORDED)
    return {**unknown, **recorded, "by": by}
