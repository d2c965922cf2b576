"""What the report is made of: tables, pictures, and answers to read. Nothing here draws."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sozo.scoring.measure import Cell, Measure


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of models: the estimates of a measure, or what a finished run says itself."""

    label: str  # of its heading, a key of `labels.yaml`; one that has no label is shown as it is
    measure: Measure | None = None  # its estimates, each with its difference from the base
    cell: Callable[[Any], Cell] | None = None  # else: what a run shows here,
    change: Measure | None = None  # and the measure whose difference stands below it
    paper: str | None = None  # the column in the papers' table, if not the measure's own
    figure: Callable[[str], str] = str  # how the paper's figure is written here


@dataclass(frozen=True, slots=True)
class ModelTable:
    """A table of the report with a row for each model that has a finished run."""

    name: str  # label of its title
    columns: tuple[Column, ...]  # after the models' names
    notes: tuple[str, ...] = ()  # labels of what stands below it
    kind: str | None = None  # only runs of this `Finished.kind`, shown where they stand beside a model's better one
    heat: bool = False  # whether it is a heat map
    paper: str | None = None  # the papers' table of other models (`sozo.data.published`), shown below
    training: str | None = None  # that of trained models, whose figures stand in the cells of a study's rows


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table of the report with rows of its own, over all models together; `paper` as in `ModelTable`."""

    name: str
    columns: tuple[str, ...]  # labels; the first is that of the rows' names
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # label of each row, and its cells
    paper: str | None = None


@dataclass(frozen=True, slots=True)
class Ridge:
    """A picture: how a measure's values are distributed over answers, model by model."""

    name: str  # label of its title
    salt: str  # tells the pictures of a page apart
    axis: str  # label of the values
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
    """A picture beside the task's answer: a named point for each run; `name` and `salt` as in `Ridge`."""

    name: str
    salt: str
    across: str  # label of the x axis
    up: str  # label of the y axis
    points: Mapping[Path, Point]  # by the runs' folders; a run without one is not in it
    about: str = ""  # what is true of this picture alone, beside its title
    lists: int | None = None  # if x is unique words: in so many lists, and a frontier of as many belongs into it
    encoder: str | None = None  # that y is of, and the frontier too


@dataclass(frozen=True, slots=True)
class Radar:
    """A picture for each model: the means of four measures beside those of its base."""

    name: str
    measures: tuple[Measure, ...]
    least: float  # the value in the centre
    most: float  # the value at the rim


# What the report shows of a task: tables, and pictures.
Section = tuple[Sequence[ModelTable | RowTable], Sequence[Ridge | Scatter | Radar]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer in the report's reader."""

    text: str
    score: float | None
    status: str | None  # why there is no score, or how its judgement ended
    more: Mapping[str, Any] = field(default_factory=dict)  # `marks` (name -> value), `note`, `facts`, `states`


@dataclass(frozen=True, slots=True)
class ReaderItem:
    """An item in the report's reader with one model's answers. Items of several models with equal keys are one."""

    key: tuple[str, str]  # its id and its text
    group: str  # what kind of item it is
    title: str
    text: str  # what was asked
    entries: Sequence[Entry]
