"""The list that a study stands for: plain `sozo` commands, each with the ones whose folders it reads."""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import read_yaml
from sozo.data.study_folder import StudyRow
from sozo.models.settings import OF_FORM, OF_NOUNS, GeneratorSettings
from sozo.studies.study.arms import Arm
from sozo.studies.study.config import NOUNS, Study
from sozo.tasks import task_type

GATE = "gate"
_OF_MODEL = {
    f.name for f in fields(GeneratorSettings)
}  # random nouns know none of them
_COUNTS = {"sft": "top_k", "dpo": "num_pairs"}
_APART = 1000  # between the seeds of rows and of training data


@dataclass(frozen=True)
class Step:
    """One command of the list. It is finished when its folder has a metrics.json."""

    folder: Path
    command: tuple[str, ...]  # what stands behind `sozo` before the flags
    flags: dict[str, Any]  # in order, as YAML has their values
    after: tuple[str, ...] = ()  # the steps that it reads
    launcher: Path | None = None  # an accelerate config; None is plain Python
    processes: int = 1

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.name

    @property
    def log(self) -> Path:
        """What its command says."""
        return self.folder.parent / "logs" / f"{self.name}.log"

    @property
    def reads(self) -> list[Path]:
        """The results of other steps that it is made from."""
        return [self.folder.parent / name / "metrics.json" for name in self.after]

    @property
    def trains(self) -> bool:
        """Whether it trains a model."""
        return self.command[0] == "train"

    @property
    def settings(self) -> dict[str, Any]:
        """Its flags over the lines of its YAML, if it has one."""
        file = self.flags.get("config")
        return (read_yaml(Path(file)) if file else {}) | self.flags

    def words(self, launch: list[str]) -> list[str]:
        """The whole command; `launch` are the words of a launcher."""
        words = ["sozo", *self.command]
        if self.launcher:
            words = [*launch, "--config_file", str(self.launcher), "-m", *words]
        for flag, value in self.flags.items():
            text = (
                value
                if isinstance(value, str)
                else json.dumps(value, ensure_ascii=False)
            )
            if self.trains or not isinstance(value, bool):
                words += [f"--{flag}", text]
            elif value:
                words.append(f"--{flag}")
        return words


class StudyList:
    """A study's list as it is written: what several arms are made of comes once, before the first of them.

    `processes` are a launcher's own, over those of its accelerate config. UserError for arms that cannot be.
    """

    def __init__(self, study: Study, processes: int | None = None) -> None:
        self.study = study
        self.arms = study.every_arm
        self.processes = processes
        self.steps: dict[str, Step] = {}
        self.rows: dict[
            str, StudyRow
        ] = {}  # of the table; at a further seed it is `GRPO@1`
        self.controls: list[
            tuple[str, Path]
        ] = []  # runs of control tasks, by rows' names
        if isinstance(study.random_nouns, int):
            flags = {
                "model": study.model_at(study.seeds[0]),
                "first": study.random_nouns,
            }
            self._add(
                NOUNS, ("nouns",), flags | {"language": study.sampling.get("language")}
            )
        for arm, seed in study.points:
            row = study.at(arm.name, seed)
            count, number = study.num_answers, seed
            if (
                study.arms is None
            ):  # what others train on too, each with its own randomness
                number += study.rows.index(arm)
                if any(arm.name == other.answers for other in study.rows):
                    count = study.num_training_answers or count
            drawn = self._draw(arm, seed, arm.row_step, number, num_answers=count)
            model, _ = self._model(arm, seed)
            of_nouns = model in OF_NOUNS
            self.rows[row] = StudyRow(
                None if of_nouns else model, self.steps[drawn].folder
            )
            for task, own in study.control_tasks.items():
                # Where a model draws otherwise it answers the tasks that have a curve.
                if not of_nouns and (task_type(task).curve or not arm.again):
                    name = f"{arm.step}-{task}"
                    asked = self._draw(arm, seed, name, seed, task=task, **own)
                    self.controls.append((row, self.steps[asked].folder))
            if study.paper_model and study.arms is None and row == "base":
                named = [f"{name}={of.answers}" for name, of in self.rows.items()]
                flags = {"gate": True, "paper_model": study.paper_model}
                self._add(GATE, ("table11", *named), flags, tuple(self.rows))

    def _add(
        self,
        name: str,
        command: tuple[str, ...],
        flags: dict[str, Any],
        after: tuple[str, ...] = (),
        launcher: str | None = None,
    ) -> str:
        """Write a command down once, by its name, which is returned."""
        output = "output_dir" if command[0] == "train" else "output"
        flags = {key: value for key, value in flags.items() if value is not None}
        flags[output] = self.study.step_folder(name)
        step = Step(Path(flags[output]), command, flags, after)
        if launcher:
            file = self.study.path(launcher)
            processes = self.processes or read_yaml(file)["num_processes"]
            step = replace(step, launcher=file, processes=processes)
        if self.steps.setdefault(name, step) != step:
            raise UserError(f"two steps have the folder {name}; rename one of the arms")
        return name

    def _model(self, arm: Arm, seed: int) -> tuple[str, tuple[str, ...]]:
        """What an arm draws from, and the step that trains it, if one does."""
        if arm.train:
            name = self._train(arm, seed)
            return self.study.step_folder(name), (name,)
        if arm.start:
            start = self.arms[arm.start]
            return self._model(start, start.seed(seed))
        return arm.flags.get("model", self.study.model_at(seed)), ()

    def _table(self, arm: Arm, seed: int, count: int) -> str:
        """What others train on: fresh, with other random numbers than what the arm itself learnt from."""
        if self.study.arms is None:
            return self.study.at(arm.row_step, seed)
        number = seed + _APART * (1 + self._depth(arm))
        return self._draw(arm, seed, f"{arm.step}-{count}", number, num_answers=count)

    def _depth(self, arm: Arm) -> int:
        """How many trained models were drawn from to train it."""
        made_of = filter(None, (arm.start, arm.answers))
        before = [self._depth(self.arms[name]) for name in made_of]
        return max(before, default=0) + (arm.train is not None)

    def _draw(self, arm: Arm, seed: int, name: str, number: int, **own: Any) -> str:
        """Let an arm's model answer with the random numbers of `number`; `own` flags go over the arm's.

        How many answers another task than DAT has is its own affair.
        """
        study = self.study
        model, after = self._model(arm, seed)
        own = ({} if arm.train else arm.flags) | own
        names = study.sampling.keys() - {"launcher"}
        source = study.at(arm.step, seed)
        command = "dat"
        flags: dict[str, Any] = {"model": model, "source": source}
        if task := own.pop("task", None):
            command, flags = (
                "run",
                {"model": f"{source}={model}", "tasks": task, "flat": True},
            )
            own.pop("num_answers", None)
            names &= _OF_MODEL - {"sampling", "max_new_tokens"}
        if model in OF_NOUNS:
            names -= _OF_MODEL
            flags["nouns"] = study.nouns
            after = (NOUNS,) if NOUNS in self.steps else ()
        given = {key: value for key, value in study.sampling.items() if key in names}
        # A row of which no list is usable is a row.
        flags = given | own | flags | {"seed": number}
        launcher = study.sampling.get("launcher", study.training.launcher)
        return self._add(study.at(name, seed), (command,), flags, after, launcher)

    def _train(self, arm: Arm, seed: int) -> str:
        """Train an arm on what it learns from."""
        study = self.study
        assert arm.train
        # It starts from what it would be without its training.
        model, after = self._model(arm.model_copy(update={"train": None}), seed)
        flags = {key: study.sampling.get(key) for key in OF_FORM}
        if count_key := _COUNTS.get(arm.train):
            flags[count_key] = getattr(study, count_key)
        flags |= {"model_name_or_path": model} | arm.flags
        learned = dict(arm.beside)
        if arm.answers:
            count = arm.num_training_answers or study.num_training_answers
            learned[arm.answers] = count or study.num_answers
        beside = {}
        for name, most in learned.items():
            if other := self.arms.get(name):
                name = self._table(other, other.seed(seed), most)
                after += (name,)
                name = study.step_folder(name)
            if other and other.name == arm.answers:
                flags["answers"] = name
            else:
                beside[name] = most
        name = study.at(arm.step, seed)
        config = study.path(arm.config or getattr(study.training, arm.train))
        flags = {"config": str(config)} | flags | {"beside": beside or None}
        flags |= {"seed": seed, "run_name": f"{study.name}-{name}"}
        command = ("train", arm.train)
        return self._add(name, command, flags, after, study.training.launcher)


def study_steps(study: Study, processes: int | None = None) -> list[Step]:
    """The list, seed by seed: each step after those that it needs, none twice."""
    return list(StudyList(study, processes).steps.values())
