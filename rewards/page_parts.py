"""What the report and the terminal are made of: cells, tables, pictures, and answers to read. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewards.measure import Measure

DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a reader sees in one place of a table.

    Args:
        value: The number, or a dash.
        small: Lines below it: its 95% interval, what it rests on (n of N).
        paper: The paper's figure.
        change: The difference from the base model with its interval.
        mark: `up` or `down` where that difference is significant.
        heat: The number, where the table is a heat map.
    """

    value: str
    small: tuple[str, ...] = ()
    paper: str = ""
    change: str = ""
    mark: str = ""
    heat: float | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of models: the estimates of a measure, or what a finished run says itself.

    Args:
        label: Label of its heading (`labels.yaml`; a key that has no label is shown as it is).
        measure: Its cells are the measure's estimates, each with its difference from the base.
        cell: Else: what a run shows here.
        change: Of `cell`: the measure whose difference stands below it.
        paper: The column in the papers' table, if not the measure's own.
        figure: How the paper's figure is written here.
    """

    label: str
    measure: Measure | None = None
    cell: Callable[[Any], Cell] | None = None
    change: Measure | None = None
    paper: str | None = None
    figure: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class ModelTable:
    """A table of the report with a row for each model that has a finished run.

    Args:
        name: Label of its title.
        columns: After the models' names.
        notes: Labels of what stands below it.
        kind: Only runs of this kind (`Finished.kind`), shown where they stand beside a model's better one.
        heat: Whether it is a heat map.
        paper: The papers' table of other models (`data.published`), shown below.
        training: The papers' table of trained models, whose figures stand in the cells of a study's rows.
    """

    name: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    kind: str | None = None
    heat: bool = False
    paper: str | None = None
    training: str | None = None


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of the report with rows of its own, over all models together.

    Args:
        name: Label of its title.
        columns: Labels; the first is that of the rows' names.
        rows: Label of each row, and its cells.
        paper: As in `ModelTable`.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    paper: str | None = None


@dataclass(frozen=True, slots=True)
class Ridge:
    """A picture: how a measure's values are distributed over answers, model by model.

    Args:
        name: Label of its title.
        salt: Tells the pictures of a page apart.
        axis: Label of the values.
        measure: Whose values.
    """

    name: str
    salt: str
    axis: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Point:
    """A model in a scatter plot: where it stands, and the interval of its height if it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Scatter:
    """A picture: a point for each model.

    Args:
        name: Label of its title.
        salt: Tells the pictures of a page apart.
        across: Label of the x axis.
        up: Label of the y axis.
        points: One for each run, in order; None draws nothing.
    """

    name: str
    salt: str
    across: str
    up: str
    points: Sequence[Point | None]


@dataclass(frozen=True, slots=True)
class Radar:
    """A picture for each model: the means of four measures beside those of its base.

    Args:
        name: Label of the title.
        measures: Four.
        least: The value in the centre.
        most: The value at the rim.
    """

    name: str
    measures: tuple[Measure, ...]
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Section:
    """What the report shows of a task."""

    tables: tuple[ModelTable | RowTable, ...]
    pictures: tuple[Ridge | Scatter | Radar, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer in the report's reader.

    Args:
        text: What the model wrote.
        score: Its value; None where it has none.
        status: Why not, or how its judgement ended.
        more: What else the reader shows: `marks` (name -> value), `note` (a text), `facts` (name -> value).
    """

    text: str
    score: float | None
    status: str | None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReaderItem:
    """An item in the report's reader with one model's answers. Items of several models with equal keys are one.

    Args:
        key: What makes it the same item: its id and its text.
        group: What kind of item it is.
        title: Its name.
        text: What was asked.
        entries: The model's answers.
    """

    key: tuple[str, str]
    group: str
    title: str
    text: str
    entries: Sequence[Entry]


def number(value: float | None, measure: Measure) -> str:
    """A measure's value as people read it; a dash for none.

    >>> number(0.5, Measure("a", share=True)), number(0.5, Measure("b", digits=2)), number(None, Measure("c"))
    ('50.00%', '0.50', '–')
    """
    if value is None:
        return DASH
    return f"{value:.2%}" if measure.share else f"{value:.{measure.digits}f}"


def mean_cell(value: float | None, measure: Measure, ends: tuple[Any, Any] | None = None, *small: str) -> Cell:
    """A measure's value with its interval (no interval if an end is None); a dash for none.

    >>> mean_cell(0.5, Measure("a", 2), (0.4, 0.6), "3 / 4").small
    ('0.40 – 0.60', '3 / 4')
    """
    known = ends is not None and None not in ends
    between = (f"{number(ends[0], measure)} – {number(ends[1], measure)}",) if ends and known else ()
    return Cell(number(value, measure), (*between, *small))


def n_of(part: int, total: int) -> str:
    """n of N, in a cell."""
    return f"{part:,} / {total:,}"


def percent(part: int, whole: int) -> str:
    """`part` of `whole` in percent, a dash of nothing."""
    return f"{part / whole:.2%}" if whole else DASH
