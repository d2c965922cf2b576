"""How a task's results are shown: its columns, declared once, of which every printer of `eval` shows its own.

The terminal, W&B, the page and its files are loops over these columns. A view only says what to show:
it draws nothing. The defaults show every measure of any task.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Generic, TypeVar

from sozo.data.schema import ERROR
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import COUNT, cost_line, share
from sozo.scoring.table import Cell, Content
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult

Run = TypeVar("Run", bound=RunResult)

# Where a column is shown: the terminal's table, W&B; the page's table of all columns has those of the terminal, too.
Place = Flag("Place", ["TERMINAL", "WANDB", "PAGE"])
TERMINAL, WANDB, PAGE = Place
NUMBERS = TERMINAL | WANDB


@dataclass(frozen=True, slots=True)
class RunColumn:
    """What a finished run says in one place."""

    label: str  # a key of `labels.yaml`; one that is no key is shown as it is
    # Of a run; a bare number is written as `measure` says.
    cell: Callable[[Any], Content]
    measure: Measure = COUNT
    shown: Place = NUMBERS
    key: str = ""  # its name in W&B and in the page's tables; by default the label
    # The measure whose difference from the base stands beside it.
    change: Measure | None = None

    @property
    def name(self) -> str:
        """Its name in W&B and in the page's tables."""
        return self.key or self.label

    def fill(self, run: RunResult) -> Cell:
        """The cell of a run."""
        value = self.cell(run)
        return value if isinstance(value, Cell) else Cell(value, self.measure)


def measured(
    measure: Measure, label: str = "", shown: Place = NUMBERS, key: str = ""
) -> RunColumn:
    """The column of a measure: its mean with interval and n of N."""
    return RunColumn(
        label or measure.short,
        lambda run: run.cell(measure),
        measure,
        shown,
        key,
        change=measure,
    )


def stored(
    name: str,
    label: str = "",
    shown: Place = NUMBERS,
    measure: Measure = COUNT,
    **options: Any,
) -> RunColumn:
    """The column of what stands in `metrics.json` under a name; `options` as of `RunColumn`."""
    return RunColumn(
        label or name,
        lambda run: run.metrics.get(name),
        measure,
        shown,
        name,
        **options,
    )


def setting_of(name: str, label: str = "") -> RunColumn:
    """The column of what a run was made with, as text: what was loaded, else what was asked for."""

    def text(run: RunResult) -> str | None:
        value = run.scale.get(name, run.settings.get(name))
        return None if value is None else str(value)

    return RunColumn(label or name, text, shown=PAGE, key=name)


def counted(
    runs: Sequence[RunResult],
    name: str,
    label: str,
    *,
    shown: Place = TERMINAL,
    key: str = "",
) -> list[RunColumn]:
    """A column for each kind that runs have under a name of `metrics.json` (`reasons`): how many, and their share.

    Reasons and states are those of `RunResult`. Reasons are shares of the answers, others of their own sum. `label`
    begins the headings,
    `key` the names in W&B, where a kind that no run has stands too, since a curve needs its zeros.
    """

    def counts_of(run: RunResult) -> Mapping[str, int]:
        return getattr(run, name, None) or run.metrics.get(name, {})

    kinds: Counter[str] = Counter()
    for run in runs:
        kinds.update(counts_of(run))

    def cell(kind: str, run: RunResult) -> Cell:
        counts = counts_of(run)
        total = (
            run.metrics["num_answers"] if name == "reasons" else sum(counts.values())
        )
        count = counts.get(kind, 0)
        return Cell(count, of=total, below=(share(count, total),))

    if name == "reasons":
        shown |= PAGE
    form = "{kinds}: {kind}"
    return [
        RunColumn(
            translatable("Never came")
            if (name, kind) == ("reasons", ERROR)
            else translatable(form, kinds=translatable(label), kind=translatable(kind)),
            partial(cell, kind),
            shown=shown if n else shown & WANDB,
            key=f"{key or name}_{kind}",
        )
        for kind, n in kinds.items()
    ]


def _paid(payee: str, run: RunResult) -> str | None:
    """What the payee of a run's bill was asked and took."""
    bill = run.metrics.get("bill", {}).get(payee)
    return bill and paid(bill)


def paid(bill: Mapping[str, Any]) -> str:
    """What a payee was asked and took, by the numbers of `sozo.scoring.endpoint.bill.Paid`."""
    names = ("prompt_tokens", "completion_tokens", "cost", "unknown_cost")
    return translatable(
        "{n:,} requests, {refused:,} of them refused and {lost:,} lost: {cost}",
        n=bill["requests"],
        refused=bill["refused"],
        lost=bill["lost"],
        cost=cost_line(*(bill[name] for name in names)),
    )


# What servers were paid for a run.
_BILL = [
    RunColumn(f"paid_{payee}", partial(_paid, payee), shown=PAGE)
    for payee in ("model", "judge")
]


@dataclass(frozen=True, slots=True)
class ModelTable:
    """A table of the page with a row for each model that has a finished run."""

    name: str  # label of its title
    columns: tuple[str, ...]  # names of the columns after the models' names
    notes: tuple[str, ...] = ()  # labels of what stands below it
    # The paper's table of trained models (`sozo.data.published`): then it is of its study, and in no other report.
    training: str | None = None


@dataclass(frozen=True, slots=True)
class Ridge:
    """A picture: how the first measure's values are distributed over answers, model by model."""

    name: str  # label of its title
    axis: str  # label of the values


@dataclass(frozen=True, slots=True)
class Scatter:
    """A picture: each model a spot, by the values of two columns."""

    name: str  # label of its title
    across: str  # name of the column on the x axis
    up: str  # of that on the y axis
    across_label: str  # labels of the axes
    up_label: str
    by_n: bool = False  # a picture for each n of the x axis: different words compare in equally many lists


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """One answer in the page's reader."""

    text: str
    score: float | None
    status: str | None  # why there is no score, or how its judgement ended
    # `marks` (name -> value), `note`, `facts`, `states`.
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReaderItem:
    """An item in the page's reader. Those of several models with one id and text are one."""

    id: str
    text: str  # what was asked
    title: str
    group: str = ""  # what kind of item it is


class View(Generic[Run]):
    """How results are shown. `measures` are the task's; there is at least one run."""

    # What the terminal lists below the table.
    files: tuple[str, ...] = ("config.json", "metrics.json", "answers")
    pictures: tuple[Ridge | Scatter, ...] = ()  # on the page
    # Labels that the page's reader needs (`ReaderAnswer.more`).
    words: tuple[str, ...] = ()
    asked: str = "prompt"  # the item's column that the reader shows as what was asked
    # Answers of a run in the reader, None for all; a task of samples comes last in it.
    sample: int | None = None

    def __init__(self, file: str = "") -> None:
        self._file = file  # beside which its labels are

    def columns(
        self, measures: Sequence[Measure], runs: Sequence[Run]
    ) -> list[RunColumn]:
        """All that these runs say, each in one column."""
        first, *others = measures
        columns = [
            measured(first, key="score"),
            *(measured(measure) for measure in others),
        ]
        named = {
            column.name for column in columns
        }  # a measure of the same name says it
        counts = stored("num_answers"), stored("usable")
        columns += [column for column in counts if column.name not in named]
        return [*columns, *counted(runs, "reasons", "Unusable")]

    def all_columns(
        self, measures: Sequence[Measure], runs: Sequence[Run]
    ) -> list[RunColumn]:
        """`columns`, what became of the answers, and what was paid where somebody was."""
        paid = [column for column in _BILL if any(column.cell(run) for run in runs)]
        states = counted(runs, "states", "Answers", shown=NUMBERS, key="answers")
        return [*self.columns(measures, runs), *states, *paid]

    def fill_columns(
        self, place: Place, measures: Sequence[Measure], run: Run
    ) -> list[tuple[RunColumn, Cell]]:
        """The columns that are shown in a place (`TERMINAL`, ...), each with what the run says in it."""
        return [
            (column, column.fill(run))
            for column in self.all_columns(measures, [run])
            if place in column.shown
        ]

    def notes(self, run: Run) -> list[str]:
        """Sentences below the terminal's table, about this run."""
        return []

    def labels(self) -> dict[str, tuple[str, str]]:
        """Key -> (English, Japanese): `labels.yaml` beside the view's own file, or the given one, if there is one."""
        import yaml

        path = Path(self._file or inspect.getfile(type(self))).with_name("labels.yaml")
        pairs = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
        return {key: (english, japanese) for key, (english, japanese) in pairs.items()}

    def tables(self, measures: Sequence[Measure]) -> Sequence[ModelTable]:
        """The task's own tables on the page, the main one first. Below stands the label `TASK_note`."""
        task, first, *others = (
            measures[0].task,
            "score",
            *(measure.short for measure in measures[1:]),
        )
        return (
            ModelTable(
                task, (first, *others), tuple({f"{task}_note"} & set(self.labels()))
            ),
        )

    def reader(self, run: Run) -> Iterator[tuple[ReaderItem, Sequence[ReaderAnswer]]]:
        """Every item with this run's answers, for the page's reader; of a `sample` those that are drawn."""
        by_item: dict[str, list[ReaderAnswer]] = {}
        for item, answer in self.reader_answers(run):
            by_item.setdefault(item, []).append(answer)
        for item, answers in by_item.items():
            yield self.reader_item(run, item), answers

    def reader_answers(self, run: Run) -> Iterator[tuple[str, ReaderAnswer]]:
        """Every answer as the reader shows it, after the id of its item; of a `sample` those that are drawn."""
        for answer in run.answers(self.drawn(run)):
            states = {"states": [] if answer.complete else [answer.state]}
            yield (
                answer.item,
                ReaderAnswer(
                    answer.text, answer.values.get(run.main.name), answer.reason, states
                ),
            )

    def drawn(self, run: Run) -> list[int] | None:
        """The places of a `sample` of a run's answers, always the same ones; None where the reader has them all."""
        answers = run.metrics["num_answers"]
        if self.sample is None or answers <= self.sample:
            return None
        return sorted(Random(0).sample(range(answers), self.sample))

    def reader_item(self, run: Run, item: str) -> ReaderItem:
        """The item of this id, as the reader shows it."""
        asked = run.items[item]
        return ReaderItem(
            item,
            asked[self.asked],
            asked.get("title") or item or run.task,
            asked.get("group", ""),
        )
