"""What is evaluated while a model trains: `evaluate` in a run's YAML, read and checked before a model loads."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from sozo.data.errors import UserError
from sozo.data.settings import from_json, from_validation, settings_of
from sozo.scoring.second_encoder import SecondEncoder
from sozo.tasks import task_type
from sozo.tasks.task import Item, Row, Task

_BATCH = 64  # answers that one process draws at once


@dataclass(frozen=True)
class EvaluatedTask:
    """A task with how many answers are drawn for an evaluation; its items are asked in turn."""

    kind: type[Task]
    settings: Any
    num_responses: int
    max_new_tokens: int

    @cached_property
    def task(self) -> Task:
        """Built when first needed: a plan is also made where Juman++ is missing."""
        return self.kind(self.settings)

    def batches(self) -> list[list[Item]]:
        """The items to answer, batch by batch."""
        items = self.task.items()
        places = range(self.num_responses)
        asked = [items[k // self.kind.num_answers % len(items)] for k in places]
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

        >>> Floor(measure="dat/valid", least=0.5).broken(0.25)
        'dat/valid is 0.25, below 0.5'
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
    tasks: list[Any]  # names of tasks, or mappings: task, num_responses, its settings
    num_responses: PositiveInt = 256  # answers of each task, where it says nothing itself
    max_new_tokens: PositiveInt | None = None  # longest answer (default: the task's)
    temperature: float = Field(1.0, gt=0)
    seed: int = Field(1_000_000, ge=0)  # the default is far from those of the tables drawn of the trained model
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
            raise UserError(f"evaluate: a task is a name or a mapping with `task`, not {task!r}")
        options = dict(options)
        kind, count = task_type(options.pop("task")), options.pop("num_responses", self.num_responses)
        if kind.score is Task.score:
            raise UserError(f"evaluate: no answer to {kind.name} is worth anything without a judge; leave it out")
        if type(count) is not int or count < 1:
            raise UserError(f"evaluate: num_responses of {kind.name} must be a number of 1 or more, not {count!r}")
        return EvaluatedTask(
            kind, settings_of(kind.Settings, options), count, self.max_new_tokens or kind.max_new_tokens
        )

    @cached_property
    def second(self) -> SecondEncoder | None:
        """The encoder `second_encoder`, loaded."""
        return SecondEncoder(self.second_encoder) if self.second_encoder else None

    def values(self, task: Task, rows: Sequence[Row]) -> dict[str, float]:
        """An evaluation of one task: means of what has a value, the valid share, and what answers show together."""
        values = {f"{task.name}/valid": sum(row.reason is None for row in rows) / len(rows)}
        for measure in task.measures:
            if known := [row.values[measure.name] for row in rows if measure.name in row.values]:
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
        raise UserError(text if text.startswith("evaluate") else f"evaluate: {text}") from error
