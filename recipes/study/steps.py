"""The steps a study stands for: which command makes what, from what."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.study_folder import StudyRow
from sozo.models.settings import OF_FORM, OF_NOUNS, GeneratorSettings
from study.arm import Arm
from study.config import Study

_MODEL_FLAGS = {
    f.name for f in fields(GeneratorSettings)
}  # of recipes/sample_dat.py; those that are no model know none of them
_APART = 1000  # between the seeds of rows and of training data


@dataclass(frozen=True)
class Step:
    """One command of the study."""

    name: str  # also the name of its folder
    script: str  # the recipe's file name
    flags: dict[str, str]  # its flags, in order
    inputs: tuple[str, ...] = ()  # steps whose output it reads
    config: Path | None = None  # the method's YAML, if it has one
    launcher: Path | None = None  # an accelerate config; None starts the recipe with plain Python
    arguments: tuple[str, ...] = ()  # what follows the flags
    derived: bool = False  # soon made of other steps' results: where these have changed it is made anew

    @property
    def trains(self) -> bool:
        """Whether it trains a model; the page over a study's arms has a YAML, too, but is launched by nobody."""
        return self.config is not None and self.launcher is not None

    def command(self, launch: list[str], python: str = "python") -> list[str]:
        """The words of the command; `launch` are those of `accelerate launch`."""
        script = Path(__file__).parents[1] / self.script
        shown = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
        words = [*launch, "--config_file", str(self.launcher)] if self.launcher else [python]
        words += [str(shown), *(["--config", str(self.config)] if self.config else [])]
        words += [word for flag, value in self.flags.items() for word in (f"--{flag}", value)]
        return [*words, *self.arguments]


def study_steps(study: Study) -> list[Step]:
    """The steps in order, seed by seed: each after those that it needs, none twice, the table last."""
    steps: dict[str, Step] = {}
    for seed in study.seeds:
        for arm in study.rows:
            for step in [*_row(study, arm, seed), *_guards(study, arm, seed)] if seed in arm.seeds else ():
                if steps.setdefault(step.name, step) != step:
                    raise UserError(f"arm {arm.name}: another arm has the folder {step.name} already; rename one")
    return [*steps.values(), _result(study)]


def as_flag(value: Any) -> str:
    """A value of the YAML as a word of the command line."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _result(study: Study) -> Step:
    """Table 11, or of arms and seeds the page over them."""
    rows = study_rows(study)
    guards = study_guards(study)
    tables = (*(row.responses.name for row in rows.values()), *(folder.name for _, folder in guards))
    if study.arms is not None or len(study.seeds) > 1:
        where = {"output_dir": study.output_dir}
        return Step("table", "study_page.py", where, tables, study.file, derived=True)
    flags = {"output_dir": study.step_folder("table"), "title": f"Table 11: {study.model}"}
    flags |= {"paper_model": study.paper_model} if study.paper_model else {}
    arguments = ("--rows", *(f"{name}={row.responses}" for name, row in rows.items()))
    arguments += ("--guards", *(f"{name}={folder}" for name, folder in guards)) if guards else ()
    return Step("table", "table11.py", flags, tables, arguments=arguments, derived=True)


def study_rows(study: Study) -> dict[str, StudyRow]:
    """The rows of the table, each with its model and its step of responses; at a further seed it is `GRPO@1`."""
    rows = {}
    for arm, seed in ((arm, seed) for seed in study.seeds for arm in study.rows if seed in arm.seeds):
        model, _ = _model(study, arm, seed)
        responses = Path(study.step_folder(_row_step(study, arm, seed)))
        rows[study.at(arm.name, seed)] = StudyRow(None if model in OF_NOUNS else model, responses)
    return rows


def study_guards(study: Study) -> list[tuple[str, Path]]:
    """The runs by which rows are guarded: of each guard the base's and every trained row's, by the rows' names."""
    pairs = [(arm, seed) for seed in study.seeds for arm in study.rows if seed in arm.seeds and _guarded(arm)]
    return [
        (study.at(arm.name, seed), Path(study.step_folder(study.at(f"{arm.step}-{task}", seed))))
        for task in study.guards
        for arm, seed in pairs
    ]


def _guarded(arm: Arm) -> bool:
    return arm.train is not None or arm.name == "base"


def _guards(study: Study, arm: Arm, seed: int) -> Iterator[Step]:
    """Let a trained row's model, and the base, answer each guard's items; how, is the task's own affair."""
    for task in study.guards if _guarded(arm) else ():
        model, step = _model(study, arm, seed)
        name, own = study.at(f"{arm.step}-{task}", seed), {"temperature", "max_new_tokens"}
        options = {key: str(v) for key, v in study.sampling.items() if key in _MODEL_FLAGS - own and v is not None}
        flags = {"task": task, "model": model, "source": study.at(arm.name, seed)}
        flags |= {"output_dir": study.step_folder(name), **options}
        launcher = study.path(study.sampling["launcher"])
        yield Step(name, "measure.py", flags, (step,) if step else (), launcher=launcher)


def _model(study: Study, arm: Arm, seed: int) -> tuple[str, str]:
    """The model that an arm draws from, and the step that trains it (empty if none does)."""
    if arm.train:
        return study.step_folder(study.at(arm.step, seed)), study.at(arm.step, seed)
    if arm.start:
        return _model(study, arm.start, arm.start.seed(seed))
    return dict(arm.flags).get("model", study.model), ""


def _row_step(study: Study, arm: Arm, seed: int) -> str:
    return study.at(f"{arm.step}-sample" if arm.train else arm.step, seed)


def _row(study: Study, arm: Arm, seed: int) -> Iterator[Step]:
    """Train an arm and draw its row. The paper's rows are also what others train on, each with its own randomness."""
    count, number = study.num_responses, 0
    if study.arms is None:
        number = study.rows.index(arm)
        if any(arm == other.responses for other in study.rows):
            count = study.num_training_responses
    yield from _train(study, arm, seed)
    yield _sample(study, arm, _row_step(study, arm, seed), count, seed, seed + number)


def _table(study: Study, arm: Arm, count: int, seed: int) -> Iterator[Step]:
    """Draw what others train on, last of all: fresh, with other random numbers than what the arm itself learnt from."""
    if study.arms is None:
        yield from _row(study, arm, seed)
    else:
        yield from _train(study, arm, seed)
        name, drawn = study.at(f"{arm.step}-{count}", seed), seed + _APART * (1 + arm.depth)
        yield _sample(study, arm, name, count, seed, drawn)


def _sample(study: Study, arm: Arm, name: str, count: int, seed: int, drawn: int) -> Step:
    """Draw `count` responses of an arm's model with the random numbers of `drawn`."""
    model, step = _model(study, arm, seed)
    left_out = {"launcher"} | (_MODEL_FLAGS if model in OF_NOUNS else set())
    options = {key: as_flag(v) for key, v in study.sampling.items() if key not in left_out and v is not None}
    options |= {"nouns": study.random_nouns} if model in OF_NOUNS and study.random_nouns else {}
    options |= {} if arm.train else dict(arm.flags)
    flags = {
        "model": model,
        "num_responses": str(count),
        "seed": str(drawn),
        "source": study.at(arm.step, seed),
        "output_dir": study.step_folder(name),
        **{key: value for key, value in options.items() if key != "model"},
    }
    launcher = study.path(study.sampling["launcher"])
    return Step(name, "sample_dat.py", flags, (step,) if step else (), launcher=launcher)


def _train(study: Study, arm: Arm, seed: int) -> Iterator[Step]:
    """Make what an arm starts from and trains on, and train it."""
    flags, inputs, name = {"model_name_or_path": study.model}, [], study.at(arm.step, seed)
    if arm.start:
        yield from _train(study, arm.start, arm.start.seed(seed))
        flags["model_name_or_path"], step = _model(study, arm.start, arm.start.seed(seed))
        inputs += [step] if step else []
    if not arm.train:
        return
    if arm.responses:
        count = arm.num_training_responses or study.num_training_responses
        *before, table = _table(study, arm.responses, count, arm.responses.seed(seed))
        yield from [*before, table]
        flags["responses"] = study.step_folder(table.name)
        inputs.append(table.name)
    counts = {"sft": {"top_k": str(study.top_k)}, "dpo": {"num_pairs": str(study.num_pairs)}}
    form = {key: as_flag(study.sampling[key]) for key in OF_FORM if study.sampling.get(key) is not None}
    flags |= counts.get(arm.train, {}) | form | dict(arm.flags)
    flags |= {"seed": str(seed), "output_dir": study.step_folder(name), "run_name": f"{study.name}-{name}"}
    config, launcher = study.path(arm.config or study.training[arm.train]), study.path(study.training["launcher"])
    yield Step(name, f"{arm.train}_dat.py", flags, tuple(inputs), config, launcher)
