"""The steps a study stands for: which command makes what, from what."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.settings import read_yaml
from sozo.data.study_folder import StudyRow
from sozo.models.settings import OF_FORM, OF_NOUNS, GeneratorSettings
from sozo.studies.study.arms import Arm
from sozo.studies.study.config import NOUNS, Study
from sozo.tasks import task_type
from sozo.training.arguments import read_beside

_MODEL_FLAGS = {
    f.name for f in fields(GeneratorSettings)
}  # of studies/study/sample.py; random nouns know none of them
PAGE = "page"  # the study's own
SAMPLE = "sample"  # by which a row answers DAT, or a control task
LIST = "list"  # of the nouns that the model spells best
_MODULES = {SAMPLE: "sozo.studies.study.sample", LIST: "sozo.studies.study.nouns"}
_APART = 1000  # between the seeds of rows and of training data


@dataclass(frozen=True)
class Step:
    """One command of the study."""

    name: str  # also the name of its folder
    script: str  # a training method, SAMPLE, LIST or PAGE
    flags: dict[str, str]  # its flags, in order
    inputs: tuple[str, ...] = ()  # steps whose output it reads
    config: Path | None = None  # the method's YAML, if it has one
    launcher: Path | None = None  # an accelerate config; None is plain Python
    of_launcher: int | None = None  # processes by --launcher, over the config's
    derived: bool = False  # soon made of other steps' results: where these have changed it is made anew

    @property
    def trains(self) -> bool:
        """Whether it trains a model; the page over a study's arms has a YAML, too, but is launched by nobody."""
        return self.config is not None and self.launcher is not None

    @property
    def processes(self) -> int:
        """On how many it is launched, of a step with a launcher."""
        assert self.launcher is not None
        return self.of_launcher or read_yaml(self.launcher)["num_processes"]

    def command(self, launch: list[str], python: str = "python") -> list[str]:
        """The words of the command; `launch` are those of `accelerate launch`."""
        if self.script == PAGE:
            return [
                python,
                "-m",
                "sozo",
                "study",
                str(self.config),
                "--page",
                "--model",
                self.flags["model"],
                "--output",
                self.flags["output_dir"],
            ]
        words = [python]
        if self.launcher:
            words = [*launch, "--config_file", str(self.launcher)]
        module = ["sozo", "train", self.script]
        if self.script in _MODULES:
            module = [_MODULES[self.script]]
        return [*words, "-m", *module, *self.settings]

    @property
    def settings(self) -> list[str]:
        """Its YAML and its flags as words of a command line."""
        words = ["--config", str(self.config)] if self.config else []
        for flag, value in self.flags.items():
            words += [f"--{flag}", value]
        return words

    @property
    def beside(self) -> dict[str, int]:
        """How many usable answers of which folders it reads, of no step."""
        settings = read_yaml(self.config) if self.trains and self.config else {}
        return read_beside(self.flags.get("beside", settings.get("beside")))


def study_steps(study: Study) -> list[Step]:
    """The steps in order, seed by seed: each after those that it needs, none twice, the table last."""
    steps = {step.name: step for step in _nouns(study)}
    for arm, seed in study.points:
        for step in (*_row(study, arm, seed), *_controls(study, arm, seed)):
            if steps.setdefault(step.name, step) != step:
                raise UserError(
                    f"arm {arm.name}: another arm has the folder {step.name} already; rename one"
                )
    inputs = [row.answers.name for row in study_rows(study).values()]
    inputs += [step.name for step in steps.values() if "task" in step.flags]
    where = {"model": study.model, "output_dir": study.output_dir}
    table = Step("table", PAGE, where, tuple(inputs), study.file, derived=True)
    return [*steps.values(), table]


def study_rows(study: Study) -> dict[str, StudyRow]:
    """The rows of the table, each with its model and its step of answers; at a further seed it is `GRPO@1`."""
    rows = {}
    for arm, seed in study.points:
        model, _ = _model(study, arm, seed)
        answers = Path(study.step_folder(_row_step(study, arm, seed)))
        rows[study.at(arm.name, seed)] = StudyRow(
            None if model in OF_NOUNS else model, answers
        )
    return rows


def control_runs(study: Study) -> list[tuple[str, Path]]:
    """The runs of control tasks, by the rows' names."""
    return [
        (step.flags["source"], Path(step.flags["output_dir"]))
        for arm, seed in study.points
        for step in _controls(study, arm, seed)
    ]


def _nouns(study: Study) -> Iterator[Step]:
    """List the nouns of random and frontier lists, where the YAML says how many."""
    if isinstance(study.random_nouns, int):
        flags = {
            "model": study.model_at(study.seeds[0]),
            "language": study.language,
            "first": str(study.random_nouns),
            "output_dir": study.step_folder(NOUNS),
        }
        yield Step(NOUNS, LIST, flags)


def _controls(study: Study, arm: Arm, seed: int) -> Iterator[Step]:
    """Let a row's model answer each control task; where it draws otherwise, those that have a curve."""
    if _model(study, arm, seed)[0] not in OF_NOUNS:
        for task, own in study.control_tasks.items():
            if task_type(task).curve or not arm.again:
                name = study.at(f"{arm.step}-{task}", seed)
                own = {key: str(value) for key, value in own.items()} | {"task": task}
                own["source"] = study.at(arm.name, seed)
                yield _sample(study, arm, seed, name, study.num_answers, seed, **own)


def _sampling_flags(study: Study, names: set[str]) -> dict[str, str]:
    """Those of the study's sampling settings that are set, as words of the command line."""
    settings = {
        key: value
        for key, value in study.sampling.items()
        if key in names and value is not None
    }
    return {
        key: json.dumps(v, ensure_ascii=False) if isinstance(v, dict) else str(v)
        for key, v in settings.items()
    }


def _model(study: Study, arm: Arm, seed: int) -> tuple[str, str]:
    """The model that an arm draws from, and the step that trains it (empty if none does)."""
    if arm.train:
        return study.step_folder(study.at(arm.step, seed)), study.at(arm.step, seed)
    if arm.start:
        return _model(study, arm.start, arm.start.seed(seed))
    return dict(arm.flags).get("model", study.model_at(seed)), ""


def _row_step(study: Study, arm: Arm, seed: int) -> str:
    return study.at(f"{arm.step}-sample" if arm.train else arm.step, seed)


def _row(study: Study, arm: Arm, seed: int) -> Iterator[Step]:
    """Train an arm and draw its row. The paper's rows are also what others train on, each with its own randomness."""
    count = study.num_answers
    number = 0
    if study.arms is None:
        number = study.rows.index(arm)
        if any(arm == other.answers for other in study.rows):
            count = study.num_training_answers
    yield from _train(study, arm, seed)
    yield _sample(study, arm, seed, _row_step(study, arm, seed), count, seed + number)


def _training_table(study: Study, arm: Arm, count: int, seed: int) -> Iterator[Step]:
    """Draw what others train on, last of all: fresh, with other random numbers than what the arm itself learnt from."""
    if study.arms is None:
        yield from _row(study, arm, seed)
    else:
        yield from _train(study, arm, seed)
        name = study.at(f"{arm.step}-{count}", seed)
        random_seed = seed + _APART * (1 + arm.depth)
        yield _sample(study, arm, seed, name, count, random_seed)


def _sample(
    study: Study,
    arm: Arm,
    seed: int,
    name: str,
    count: int,
    random_seed: int,
    **own: str,
) -> Step:
    """Draw `count` answers of an arm's model with the random numbers of `random_seed`; `own` flags go over the others.

    How many answers another task than DAT has is its own affair.
    """
    model, step = _model(study, arm, seed)
    own = ({} if arm.train else dict(arm.flags)) | own
    flags = {
        "model": model,
        "num_answers": str(count),
        "seed": str(random_seed),
    }
    flags |= {"source": study.at(arm.step, seed), "output_dir": study.step_folder(name)}
    names = study.sampling.keys() - {"launcher"}
    if "task" in own:
        names &= _MODEL_FLAGS - {"sampling", "max_new_tokens"}
    flags |= _sampling_flags(
        study, names - _MODEL_FLAGS if model in OF_NOUNS else names
    )
    if model in OF_NOUNS and study.nouns:
        flags["nouns"] = study.nouns
        step = next((own.name for own in _nouns(study)), "")
    return Step(
        name,
        SAMPLE,
        flags | {key: value for key, value in own.items() if key != "model"},
        (step,) if step else (),
        launcher=study.path(study.sampling["launcher"]),
    )


def _train(study: Study, arm: Arm, seed: int) -> Iterator[Step]:
    """Make what an arm starts from and trains on, and train it."""
    flags = {"model_name_or_path": study.model_at(seed)}
    inputs = []
    name = study.at(arm.step, seed)
    if arm.start:
        yield from _train(study, arm.start, arm.start.seed(seed))
        flags["model_name_or_path"], step = _model(
            study, arm.start, arm.start.seed(seed)
        )
        inputs += [step] if step else []
    if not arm.train:
        return
    count = arm.num_training_answers or study.num_training_answers
    own = dict(arm.flags)
    beside = read_beside(own.get("beside"))
    learned = {other: beside.pop(other.name) for other in arm.beside}
    for other, most in (
        learned | ({arm.answers: count} if arm.answers else {})
    ).items():
        *before, table = _training_table(study, other, most, other.seed(seed))
        yield from [*before, table]
        inputs.append(table.name)
        if other == arm.answers:
            flags["answers"] = study.step_folder(table.name)
        else:
            beside[study.step_folder(table.name)] = most
            own["beside"] = json.dumps(beside)
    counts = {
        "sft": {"top_k": str(study.top_k)},
        "dpo": {"num_pairs": str(study.num_pairs)},
    }
    flags |= counts.get(arm.train, {}) | _sampling_flags(study, set(OF_FORM)) | own
    flags |= {
        "seed": str(seed),
        "output_dir": study.step_folder(name),
        "run_name": f"{study.name}-{name}",
    }
    config = study.path(arm.config or getattr(study.training, arm.train))
    launcher = study.path(study.training.launcher)
    yield Step(name, arm.train, flags, tuple(inputs), config, launcher)
