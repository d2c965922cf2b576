"""Evaluation while a model trains: it answers tasks every n steps, its values are logged, and floors may end the run.

The training does not notice: nothing of its random numbers, its mode or its metrics is touched. What is evaluated is
`evaluate` in a run's YAML, read and checked before a model loads.
"""

import logging
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)
from tqdm import tqdm
from transformers import Trainer, TrainerCallback

from sozo.data.errors import UserError
from sozo.data.evaluations import read_evaluations, write_evaluations
from sozo.data.processes import Processes, gather, rank, world_size
from sozo.data.prompts.form import PLAIN, PromptForm
from sozo.data.settings import from_json, from_validation, settings_of
from sozo.models.generator import answer_items
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Item, Row, Task

logger = logging.getLogger(__name__)
_LOGGED = (
    "eval_"  # from which transformers' loggers make a section of its own: `eval/dat`
)
_BATCH = 64  # answers that one process draws at once


@dataclass(frozen=True)
class EvaluatedTask:
    """A task with how many answers are drawn for an evaluation; its items are asked in turn."""

    kind: type[Task]
    settings: Any
    num_answers: int
    max_new_tokens: int

    @cached_property
    def task(self) -> Task:
        """Built when first needed: a plan is also made where Juman++ is missing."""
        return self.kind(self.settings)

    def batches(self) -> list[list[Item]]:
        """The items to answer, batch by batch."""
        items = self.task.items()
        places = range(self.num_answers)
        asked = [items[k // self.kind.answers_per_item % len(items)] for k in places]
        return [asked[first : first + _BATCH] for first in places[::_BATCH]]


class Floor(BaseModel):
    """What must hold of one measure, whoever logs it: the evaluation, the trainer, or a reward."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    measure: str = Field(min_length=1)
    least: float | None = None
    most: float | None = None
    action: Literal["warn", "stop"] = "warn"

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.least is None and self.most is None:
            raise ValueError(f"{self.measure} needs a number as least or as most")
        return self

    def broken(self, value: float) -> str | None:
        """What is wrong with a value; None if nothing is.

        >>> Floor(measure="dat/usable", least=0.5).broken(0.25)
        'dat/usable is 0.25, below 0.5'
        """
        if self.least is not None and not value >= self.least:
            return f"{self.measure} is {value:.4g}, below {self.least:g}"
        if self.most is not None and not value <= self.most:
            return f"{self.measure} is {value:.4g}, above {self.most:g}"
        return None


class EvaluateSettings(BaseModel):
    """The mapping `evaluate`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    every: PositiveInt  # steps between two evaluations; the first is before training, the last behind the last step
    tasks: list[Any]  # names of tasks, or mappings: task, num_answers, its settings
    num_answers: PositiveInt = 256  # answers of each task, where it says nothing itself
    max_new_tokens: PositiveInt | None = None  # longest answer (default: the task's)
    temperature: float = Field(1.0, gt=0)
    seed: int = Field(
        1_000_000, ge=0
    )  # the default is far from those of the tables drawn of the trained model
    second_encoder: str | None = None  # an encoder that nobody trains on
    floors: list[Floor] = []

    @model_validator(mode="after")
    def _check_tasks(self) -> Self:
        names = [evaluated.kind.name for evaluated in self.evaluated]
        if not names or len(set(names)) < len(names):
            raise ValueError("tasks must name different tasks, such as [dat]")
        return self

    @cached_property
    def evaluated(self) -> list[EvaluatedTask]:
        """The tasks with their settings."""
        return [self._task(task) for task in self.tasks]

    def _task(self, task: Any) -> EvaluatedTask:
        options = {"task": task} if isinstance(task, str) else task
        if not isinstance(options, dict) or not isinstance(options.get("task"), str):
            raise UserError(
                f"evaluate: a task is a name or a mapping with `task`, not {task!r}"
            )
        options = dict(options)
        kind = task_type(options.pop("task"))
        count = options.pop("num_answers", self.num_answers)
        if kind.score is Task.score:
            raise UserError(
                f"evaluate: no answer to {kind.name} is worth anything without a judge; leave it out"
            )
        if type(count) is not int or count < 1:
            raise UserError(
                f"evaluate: num_answers of {kind.name} must be a number of 1 or more, not {count!r}"
            )
        return EvaluatedTask(
            kind,
            settings_of(kind.Settings, options),
            count,
            self.max_new_tokens or kind.max_new_tokens,
        )

    @cached_property
    def second(self) -> SecondEncoder | None:
        """The encoder `second_encoder`, loaded."""
        return SecondEncoder.if_named(self.second_encoder)

    def values(self, task: Task, rows: Sequence[Row]) -> dict[str, float]:
        """An evaluation of one task: means of what has a value, the usable share, and what answers show together."""
        values = {
            f"{task.name}/usable": sum(row.reason is None for row in rows) / len(rows)
        }
        for measure in task.measures:
            if known := [
                row.values[measure.name] for row in rows if measure.name in row.values
            ]:
                values[measure.name] = sum(known) / len(known)
        if source := task.noun_source():
            values |= source.together(rows, self.second)
        return {name: float(value) for name, value in values.items()}


def read_evaluate(settings: Any) -> EvaluateSettings | None:
    """The settings of a run, from YAML's mapping or JSON; None where nothing is to be evaluated."""
    settings = from_json(settings, "evaluate")
    if settings is None:
        return None
    try:
        return EvaluateSettings.model_validate(settings)
    except ValidationError as error:
        known = [*EvaluateSettings.model_fields, *Floor.model_fields]
        raise from_validation(error, "evaluate", known) from error
    except UserError as error:  # of a task's own settings
        text = str(error)
        raise UserError(
            text if text.startswith("evaluate") else f"evaluate: {text}"
        ) from error


class Evaluation(TrainerCallback):
    """Answers the tasks before the first step, every `settings.every` steps and behind the last one.

    Values go to the trainer's loggers as `eval_NAME` and into `evaluations.jsonl`; a run that continues takes those
    from there that it finds. Floors look at all that is logged. `trainer` must be set before training starts.
    """

    trainer: Any = None

    def __init__(
        self,
        settings: EvaluateSettings,
        output: Path,
        form: PromptForm = PLAIN,
        *,
        first: bool,
    ) -> None:
        self._settings = settings
        self._output = output
        self._form = form
        self._first = first
        self._watch = FloorWatch(settings.floors, say=first)
        self._by_step: dict[int, dict[str, float]] = {}
        self._writers: dict[str, Any] = {}  # by task: each says what it has to say once
        self.stopped: str | None = None  # which floor ended the run
        if first:  # what is wrong with these shows before a model is loaded
            _ = settings.second, [evaluated.task for evaluated in settings.evaluated]

    def on_train_begin(
        self, args: Any, state: Any, control: Any, **kwargs: Any
    ) -> None:
        """Read what an earlier part of the run found, and evaluate the model that comes in."""
        self._by_step = gather(read_evaluations(self._output))[0]
        if state.global_step == 0:
            self._evaluate(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Evaluate, before a checkpoint of this step is written."""
        if (
            state.global_step % self._settings.every == 0
            or state.global_step == state.max_steps
        ):
            self._evaluate(state, control)

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Hold what is logged against the floors; every process does as the first one says."""
        if not self._settings.floors:
            return
        values = {
            name.removeprefix(_LOGGED): value for name, value in (logs or {}).items()
        }
        if reason := gather(self._watch.stop(values, state.global_step))[0]:
            self.stopped = reason
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say what nobody could look at."""
        self._watch.finish()

    def _evaluate(self, state: Any, control: Any) -> None:
        step = state.global_step
        if step not in self._by_step:
            self._by_step[step] = self._values()
            if self._first:
                write_evaluations(self._output, self._by_step)
        values = self._by_step[step]
        if self._first:
            shown = "  ".join(f"{name} {value:.4g}" for name, value in values.items())
            tqdm.write(f"step {step:>5}/{state.max_steps}  evaluation  {shown}")
        # A trainer of TRL's would add its running means and forget them; and this step's own log may be still to come.
        should_log = control.should_log
        Trainer.log(
            self.trainer, {f"{_LOGGED}{name}": value for name, value in values.items()}
        )
        control.should_log = should_log

    def _values(self) -> dict[str, float]:
        """What the model's answers are worth now; each process draws its batches."""
        from trl.models import unwrap_model_for_generation

        from sozo.models.transformers_model import TransformersGenerator

        settings = self._settings
        trainer = self.trainer
        values: dict[str, float] = {}
        processes = Processes(rank(), world_size())
        with unwrap_model_for_generation(
            trainer.model_wrapped, trainer.accelerator
        ) as model:
            for evaluated in settings.evaluated:
                writer = self._writers.get(evaluated.kind.name)
                if writer is None:
                    writer = TransformersGenerator(
                        model,
                        trainer.processing_class,
                        form=self._form,
                        max_new_tokens=evaluated.max_new_tokens,
                        temperature=settings.temperature,
                    )
                    self._writers[evaluated.kind.name] = writer
                scored: dict[int, list[tuple[Item, Answer, Row]]] = {}
                for number, items in enumerate(evaluated.batches()):
                    if processes.mine(number):
                        answers = answer_items(writer, items, settings.seed, number)
                        rows = evaluated.task.score(items, answers)
                        scored[number] = list(zip(items, answers, rows, strict=True))
                scored = dict(ChainMap(*gather(scored)))
                if processes.first:
                    every = zip(
                        *(one for number in sorted(scored) for one in scored[number]),
                        strict=True,
                    )
                    values |= settings.values(
                        evaluated.task, evaluated.task.with_others(*every)
                    )
        return gather(values)[0]


class FloorWatch:
    """Looks at what is logged; says once that a floor is broken, and again only after it held in between."""

    def __init__(self, floors: Sequence[Floor], *, say: bool) -> None:
        self._floors = floors
        self._say = say
        self._broken: dict[Floor, bool] = {}  # of floors whose measure was logged

    def stop(self, values: Mapping[str, Any], step: int) -> str | None:
        """Why the run must stop; None if it need not."""
        reasons = []
        for floor in self._floors:
            if not isinstance(value := values.get(floor.measure), int | float):
                continue
            wrong = floor.broken(value)
            stops = wrong and floor.action == "stop"
            if wrong and self._say and not self._broken.get(floor):
                logger.warning(
                    "step %d: %s%s", step, wrong, "; training stops" if stops else ""
                )
            self._broken[floor] = wrong is not None
            if stops:
                reasons.append(f"step {step}: {wrong}")
        return "; ".join(reasons) or None

    def finish(self) -> None:
        """Say which floors nobody could look at."""
        for floor in self._floors:
            if self._say and floor not in self._broken:
                logger.warning(
                    "floor of %s: nothing of this name was logged", floor.measure
                )
