"""A task: what is asked, and what an answer is worth; read by evaluation, rewards and training data alike."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.data.schema import ERROR, utf8_safe
from sozo.data.settings import deciding
from sozo.scoring.final_text import no_answer
from sozo.scoring.measure import Measure
from sozo.tasks.run_result import RunResult
from sozo.tasks.view import View

if TYPE_CHECKING:
    from sozo.scoring.endpoint.bill import Budget
    from sozo.scoring.judges.protocol import Judge, JudgeSettings, Rubric
    from sozo.scoring.judges.run import Judging


@dataclass(frozen=True, slots=True)
class Item:
    """What is asked once."""

    id: str  # unique among the task's items
    prompt: str  # the user's whole turn
    # What else scoring needs; in training, dataset columns
    columns: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""  # for readers; by default its id
    group: str = ""  # what kind of item it is
    unit: str = ""  # of items that are not independent: what is resampled and paired, with the mean over its answers
    # The prompt is a text that is read and not answered: what comes as its answer is its bits per character, a number,
    # or nothing where who answers has no likelihoods (`models.generator.read_texts`).
    read: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to an item, with what is known of how it came about (None where nothing is)."""

    id: str
    item: str
    text: str
    source: str = ""
    seed: int | None = None
    temperature: float | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What an answer is worth: a value for each measure that it has one of, or the reason why it has none."""

    values: Mapping[str, float] = field(default_factory=dict)  # by the measures' names
    reason: str | None = None  # a named value; None where there are values
    # What else a reader wants to know (JSON values)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Complete:
    """A run whose answers are complete."""

    folder: Path
    source: str  # who answered
    # If answers were drawn until so many were usable: the rows up to that one count
    num_usable: int | None = None
    # What became of the judgements, of a task that a judge scores
    judging: "Judging | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A task that asks for understanding and not for creativity: training should not cost it. Nothing is won there."""

    # A share that a model with understanding has, whatever its creativity
    measure: Measure
    chance: float  # the share of who guesses, or always says the same
    # A share of other answers, wrong however they are read
    errors: Measure | None = None
    beside: tuple[Measure, ...] = ()  # what else of it stands on the first screen

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Both, or the one."""
        return (self.measure,) if self.errors is None else (self.measure, self.errors)


class NounSource(Protocol):
    """Of a task whose answers are lists of nouns: what lists need that are drawn, and what answers show together."""

    @property
    def language(self) -> str:
        """Of the nouns (`sozo.scoring.languages`)."""

    def accepts(self, texts: Sequence[str]) -> list[bool]:
        """Of each answer whether it is usable: random lists that are not are drawn again."""

    def frontier(self, nouns: Sequence[str], encoder: str | None = None) -> Any:
        """Lists of these nouns that are as random as they can be at their mean score, by default that of the task."""

    def together(self, rows: Sequence[Row]) -> dict[str, float]:
        """What answers are worth together, by names of the form `TASK/SHORT`."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Of a task that nothing can be set about."""


def known_columns(answers: Sequence[Answer]) -> dict[str, Any]:
    """The table's columns of what is known of answers, whatever they are worth."""
    columns = {
        field.name: [getattr(answer, field.name) for answer in answers]
        for field in fields(Answer)
    }
    return columns | {"text": [utf8_safe(answer.text) for answer in answers]}


class Task:
    """Base class of all tasks. A subclass gives `name`, `measures`, `items` and `score`; CONTRIBUTING.md shows one.

    With a method `reward(self, **options)`, a function as TRL takes it, a task is paid for by more than its first
    measure (`sozo.rewards.task`); the options are keys of a GRPO run's `tasks`.
    """

    name: ClassVar[str]  # on the command line, in YAML, in every file
    title: ClassVar[str] = ""  # for people
    # Dataclass of what a user can set (`sozo.data.settings.setting`)
    Settings: ClassVar[Any] = NoSettings
    # What an answer is worth; the task is known by the first one
    measures: ClassVar[tuple[Measure, ...]]
    # Of the measures those by which an answer that is not usable counts 0
    unusable_is_0: ClassVar[tuple[Measure, ...]] = ()
    max_new_tokens: ClassVar[int] = 1024  # longest answer where nobody says otherwise
    temperature: ClassVar[float] = 1.0  # of sampling, likewise
    # In which columns files of answers have them where no tool's do: a row of `answer_columns.csv`.
    answer_columns: ClassVar[Mapping[str, str]] = {}
    # Answers in a batch, and in a part of the table, where nobody says otherwise
    batch_size: ClassVar[int] = 64
    answers_per_item: ClassVar[int] = 1  # to each item, likewise
    # `sozo run` asks it only where `--tasks` names it
    only_if_named: ClassVar[bool] = False
    # If a study may have the task among its `control_tasks`
    control: ClassVar[Control | None] = None
    # What a second encoder says of pairing, in the base's sds
    second: ClassVar[Measure | None] = None
    # Which measure a temperature trades for which, as a model's curve shows
    curve: ClassVar[tuple[Measure, Measure] | None] = None
    # How a judge may be asked about the answers
    rubrics: ClassVar["tuple[Rubric, ...]"] = ()
    result_type: ClassVar[type[RunResult]] = RunResult  # reads a finished run
    view: ClassVar[View[Any]] = View()  # how results are shown
    # Its own: settings -> lines for people
    commands: ClassVar[tuple[Callable[..., Iterable[str]], ...]] = ()
    # Who shall judge; None if nobody judges
    judge_settings: "JudgeSettings | None" = None
    judge: "Judge | None" = None  # whoever runs the task makes it of `judge_settings`
    others: "Sequence[Task]" = ()  # it by further judges, who score the same answers
    budget: "Budget | None" = None  # of a command, for what its runs pay
    again: bool = False  # whether a finished run shall be scored once more (as after judgements that failed)

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings

    def items(self) -> Sequence[Item]:
        """What is asked, in order; one item may be asked many times."""
        raise NotImplementedError

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """What each answer is worth, whatever the other answers are; `items[k]` is what `answers[k]` answers."""
        raise NotImplementedError

    def noun_source(self) -> NounSource | None:
        """What `--model random`, `--model frontier` and an evaluation while training need; None of other answers."""
        return None

    @classmethod
    def measure_named(cls, name: str | None) -> Measure:
        """The measure of this name, or the first one; UserError where there is none of this name."""
        known = {measure.name: measure for measure in cls.measures}
        if name is not None and name not in known:
            raise UserError(
                f"{cls.name} has no measure {name}; it has {', '.join(known)}"
            )
        return known[name or cls.measures[0].name]

    def score_together(
        self, item: Item, answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[Row]:
        """What each answer to one item is worth among others; `rows` say what they are worth alone.

        For tasks with measures `together`. `answers` are those to the item that are usable alone, one or more. An item's
        value is the mean over its answers, as that of any measure, and intervals are over items. So each answer gets a
        share of its own, such as how far it is from the others. A number that is the same for the whole group would do
        in an evaluation, but as a reward of GRPO it has no advantage.
        """
        raise NotImplementedError

    @classmethod
    def known_by(cls) -> Measure:
        """The measure that the first screen begins with, and by which answers are chosen."""
        return cls.result_type.headline or cls.measures[0]

    @classmethod
    def in_groups(cls) -> bool:
        """Whether answers to one item are scored together too, so that they must come at once."""
        return any(measure.together for measure in cls.measures)

    def with_others(
        self, items: Sequence[Item], answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[Row]:
        """The rows of `score`, or of a task `in_groups()` those that `score_together` makes of the usable ones.

        All answers to an item must be among these.
        """
        known = [measure.name for measure in self.measures]
        if unknown := sorted(
            {name for row in rows for name in row.values}.difference(known)
        ):
            raise UserError(
                f"{self.name}: score gives {unknown[0]}, which is none of its measures: {', '.join(known)}"
            )
        result = list(rows)
        places = defaultdict(list)
        for place, (item, row) in enumerate(zip(items, rows, strict=True)):
            if self.in_groups() and row.reason is None:
                places[item.id, item.prompt].append(place)
        for group in places.values():
            own = [answers[k] for k in group]
            alone = [rows[k] for k in group]
            for place, row in zip(
                group, self.score_together(items[group[0]], own, alone), strict=True
            ):
                result[place] = row
        return result

    @classmethod
    def beside(cls) -> tuple[Measure, ...]:
        """The measures that stand beside the first one; of any task the shares with a score, and complete."""
        per_item = cls.measures[0].per_item
        return tuple(
            Measure(f"{cls.name}/{name}", share=True, per_item=per_item)
            for name in ("scored", "complete")
        )

    # What a run of evaluation asks; the defaults do for a task whose answers are scored one by one.

    def deciding(self) -> dict[str, Any]:
        """Settings that affect a result, by their own mark (JSON values): a run's folder is not continued with others.

        A subclass adds what is not told by their values, such as the content of a file.
        """
        return deciding(self.settings)

    def describe(self) -> dict[str, Any]:
        """What scores with: known once everything is loaded, part of the run's record, and compared like a setting."""
        return {}

    def facts(self) -> dict[str, Any]:
        """What else the record shall hold."""
        return {}

    def columns(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> dict[str, Any]:
        """A part's columns that say what its answers are worth; one that never came is worth nothing and not zero."""
        rows = []
        for answer, row in zip(answers, self.score(items, answers), strict=True):
            why = no_answer(answer)
            known = Row() if why == ERROR else row
            rows.append(replace(known, reason=why) if why else row)
        return self.score_columns(self.with_others(items, answers, rows))

    def score_columns(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The columns `score` (of the first measure), `values`, `reason` and `facts`."""
        main = self.measures[0].name
        return {
            "score": [row.values.get(main) for row in rows],
            "values": [dict(row.values) or None for row in rows],
            "reason": [row.reason for row in rows],
            "facts": [json.dumps(row.facts) if row.facts else None for row in rows],
        }

    def finish(self, run: Complete) -> dict[str, Any]:
        """The content of `metrics.json`: by default the mean of every measure, and what became of the answers."""
        return self.written(run.folder).summarised(self.measures, run.source)

    def written(self, folder: Path, metrics: Mapping[str, Any] | None = None) -> Any:
        """What a run that is being finished has written so far; `metrics` as far as they are known."""
        return self.result_type(
            self.name,
            self.measures[0],
            folder,
            self.deciding(),
            {},
            dict(metrics or {}),
        )

    @classmethod
    def read(cls, folder: Path, metrics: dict[str, Any]) -> "RunResult":
        """A run of this task in a folder, with what came out."""
        config = read_json(folder / "config.json")
        return cls.result_type(
            cls.name,
            cls.measures[0],
            folder,
            config["settings"],
            config.get("loaded", {}),
            metrics,
        )

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """Refuse items that a model must never be trained on, such as a benchmark's own, whatever task asks them."""


class ChosenItems(Task):
    """Base class of tasks whose items are read or drawn as settings say: what they are decides a score."""

    only_if_named = True

    def deciding(self) -> dict[str, Any]:
        asked = repr(
            [(item.id, item.prompt, dict(item.columns)) for item in self.items()]
        )
        return {
            "items_sha256": hashlib.sha256(asked.encode()).hexdigest(),
            **super().deciding(),
        }
