"""What is evaluated while a model trains: `evaluate` in a run's YAML, read and checked before a model loads."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of
from sozo.models.generator import Generator
from sozo.models.nouns import read_nouns
from sozo.scoring.guard import Guard
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Item, Row, Task
from sozo.training.floors import Floor, read_floors

_NUM, _BATCH = 256, 64  # answers of a task, and of a batch, which one process draws


@dataclass(frozen=True)
class Asked:
    """A task with how many answers are drawn for an evaluation; its items are asked in turn."""

    task: Task
    num_responses: int
    max_new_tokens: int

    @cached_property
    def items(self) -> Sequence[Item]:
        """What is asked."""
        return self.task.items()

    def batches(self) -> list[list[Item]]:
        """The items to answer, batch by batch."""
        asked = [self.items[k % len(self.items)] for k in range(self.num_responses)]
        return [asked[start : start + _BATCH] for start in range(0, len(asked), _BATCH)]

    def score(self, items: Sequence[Item], writer: Generator, seed: int, batch: int) -> list[Row]:
        """What the answers to one batch are worth."""
        completions = writer.answer([item.prompt for item in items], seed, batch)
        pairs = zip(items, completions, strict=True)
        return self.task.score(items, [Answer(f"{k}", item.id, c.text) for k, (item, c) in enumerate(pairs)])


@dataclass
class EvaluateSettings:
    """The mapping `evaluate`."""

    every: int = 0  # steps between two evaluations; the first is before training, the last behind the last step
    tasks: list[Any] = field(default_factory=list)  # names of tasks, or mappings: task, num_responses, its settings
    num_responses: int = _NUM  # answers of each task, where it says nothing itself
    max_new_tokens: int | None = None  # longest answer (default: the task's)
    temperature: float = 1.0
    seed: int = 1_000_000  # far from those of the tables that are drawn of the trained model
    guard: str | None = None  # an encoder that nobody trains on
    frontier: str | None = None  # nouns of the frontier: `jumandic`, `tiny` or a file
    keep_best: str | None = None  # the measure whose best model is kept in `best`
    floors: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("every", "num_responses"):
            if type(value := getattr(self, name)) is not int or value < 1:
                raise UserError(f"evaluate: {name} must be a number of 1 or more, not {value!r}")
        self.asked = [self._asked(given) for given in self._list("tasks")]
        names = [asked.task.name for asked in self.asked]
        if not names or len(set(names)) < len(names):
            raise UserError(f"evaluate: tasks must name different tasks, such as [dat], not {self.tasks!r}")
        if self.keep_best is not None and str(self.keep_best).partition("/")[0] not in names:
            raise UserError(f"evaluate: keep_best must be a measure of {', '.join(names)}, not {self.keep_best}")
        self.limits: tuple[Floor, ...] = read_floors(self.floors)

    def _list(self, name: str) -> list[Any]:
        given = getattr(self, name)
        if not isinstance(given, list):
            raise UserError(f"evaluate: {name} must be a list, not {given!r}")
        return given

    def _asked(self, given: Any) -> Asked:
        entry = {"task": given} if isinstance(given, str) else given
        if not isinstance(entry, Mapping) or not isinstance(entry.get("task"), str):
            raise UserError(f"evaluate: a task is a name or a mapping with `task`, not {given!r}")
        options = {key: value for key, value in entry.items() if key not in ("task", "num_responses")}
        kind, count = task_type(entry["task"]), entry.get("num_responses", self.num_responses)
        if kind.score is Task.score:
            raise UserError(f"evaluate: no answer to {kind.name} is worth anything without a judge; leave it out")
        if type(count) is not int or count < 1:
            raise UserError(f"evaluate: num_responses of {kind.name} must be a number of 1 or more, not {count!r}")
        return Asked(kind(settings_of(kind.Settings, options)), count, self.max_new_tokens or kind.max_new_tokens)

    @cached_property
    def second(self) -> Guard | None:
        """The guard, loaded."""
        return Guard(self.guard) if self.guard else None

    @cached_property
    def frontiers(self) -> dict[str, Any]:
        """By their names the frontiers of those tasks that have one."""
        if self.frontier is None:
            return {}
        nouns = read_nouns(None if self.frontier == "jumandic" else self.frontier)
        found = {asked.task.name: asked.task.frontier(nouns, None) for asked in self.asked}
        return {name: frontier for name, frontier in found.items() if frontier is not None}

    def better(self, value: float, than: float) -> bool:
        """Whether a value of `keep_best` is better than another: more is, unless its measure says less."""
        measures = {measure.name: measure for asked in self.asked for measure in asked.task.measures}
        known = measures.get(str(self.keep_best))
        return value < than if known and known.better < 0 else value > than

    def values(self, asked: Asked, rows: Sequence[Row]) -> dict[str, float]:
        """An evaluation of one task: means of what has a value, the valid share, and what answers show together."""
        values = {f"{asked.task.name}/valid": sum(row.reason is None for row in rows) / len(rows)}
        for measure in asked.task.measures:
            if given := [row.values[measure.name] for row in rows if measure.name in row.values]:
                values[measure.name] = sum(given) / len(given)
        together = asked.task.together(rows, self.second, self.frontiers.get(asked.task.name))
        return {name: float(value) for name, value in (values | together).items()}


def read_evaluate(given: Any) -> EvaluateSettings | None:
    """The settings of a run, from YAML's mapping or JSON; None where nothing is to be evaluated."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError as error:
            raise UserError(f"evaluate is not JSON ({error}): {given}") from error
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise UserError(f"evaluate must be a mapping such as {{every: 20, tasks: [dat]}}, not {given!r}")
    try:
        return settings_of(EvaluateSettings, given)
    except UserError as error:
        text = str(error)
        raise UserError(text if text.startswith("evaluate") else f"evaluate: {text}") from error
