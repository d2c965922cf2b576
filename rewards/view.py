"""How a task's results are shown: what `eval` loops over for the terminal, W&B, the model card and the report.

A view only says what to show. It draws nothing, computes no interval and compares nothing. The defaults show every
measure of any task; a task with tables of its own overrides what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewards.finished import Finished
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
    """A column of a table of models.

    Args:
        label: Label of its heading (`labels.yaml`; a key that has no label is shown as it is).
        measure: Its cells are the measure's estimates, each with its difference from the base.
        cell: Else: what a finished run shows here.
        cells: Or what all runs of the table show together (`eval` calls it once).
        change: Of `cell`: the measure whose difference stands below it.
        paper: The column in the papers' table, if not the measure's own.
    """

    label: str
    measure: str | None = None
    cell: Callable[[Any], Cell] | None = None
    cells: Callable[[Sequence[Any]], Sequence[Cell]] | None = None
    change: str | None = None
    paper: str | None = None


@dataclass(frozen=True, slots=True)
class ModelTable:
    """A table of the report with a row for each model that has a finished run.

    Args:
        name: Label of its title.
        columns: After the models' names.
        notes: Labels of what stands below it.
        kind: Takes only runs of this kind (`Finished.kind`); None takes the model's best one.
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


@dataclass(frozen=True, slots=True)
class WandbTable:
    """The table that W&B shows of a run."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class CardMetric:
    """A metric of the model card: its type, its name for people with n of N in it, its value, what it rests on."""

    kind: str
    name: str
    value: float | None
    args: Mapping[str, Any]


class View:
    """How results are shown. `measures` are the task's, `metrics` the content of a run's `metrics.json`.

    Attributes:
        files: Names under the run's folder that the terminal lists below the table.
        artifacts: What goes into W&B's artifact beside config.json and metrics.json.
    """

    files: tuple[str, ...] = ("config.json", "metrics.json", "responses")
    artifacts: tuple[str, ...] = ("responses",)

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        """The terminal's table: heading -> cell."""
        answers = metrics["num_answers"]
        cells = {"Source": str(metrics["source"])}
        for measure in measures:
            cells[measure.short.capitalize()] = estimate_text(measure, metrics["measures"][measure.name])
        reasons = {f"No score: {reason}": f"{n:,} of {answers:,}" for reason, n in metrics["reasons"].items() if n}
        return cells | reasons

    def values(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, float | None]:
        """Numbers for W&B, by their names below `eval/TASK/`."""
        values: dict[str, float | None] = {}
        for measure in measures:
            estimate = metrics["measures"][measure.name]
            name = "mean" if measure is measures[0] else measure.short
            values |= {
                name: estimate["mean"],
                f"{name}_ci95_low": estimate["low"],
                f"{name}_ci95_high": estimate["high"],
            }
            values[f"{name}_n"] = estimate["n"]
        return values | {"num_answers": metrics["num_answers"], "valid": metrics["valid"]}

    def facts(self, metrics: Mapping[str, Any]) -> dict[str, str]:
        """What is no number, for W&B's summary."""
        return {}

    def wandb_table(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> WandbTable:
        """The run's table in W&B: by default one row, all values."""
        values = self.values(measures, metrics)
        return WandbTable(("source", *values), ((metrics["source"], *values.values()),))

    def card(
        self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> tuple[dict[str, str], list[CardMetric]]:
        """Of the model card: the task and dataset (`task_name`, `dataset_name`, `dataset_type`), and the metrics."""
        name = measures[0].name
        rows = []
        for measure in measures:
            estimate = metrics["measures"][measure.name]
            ci95 = None if estimate["low"] is None else (estimate["low"], estimate["high"])
            counted = {"n": estimate["n"], "of": estimate["of"], "ci95": ci95}
            title = f"{measure.name} ({estimate['n']} of {estimate['of']})"
            rows.append(CardMetric(measure.name.replace("/", "_"), title, estimate["mean"], counted))
        return {"task_name": name, "dataset_name": name, "dataset_type": name}, rows

    def tables(self, measures: Sequence[Measure], runs: Sequence[Finished]) -> tuple[ModelTable, ...]:
        """Tables of the report over models with a finished run."""
        columns = tuple(Column(m.short, measure=m.name) for m in measures)
        return (ModelTable(measures[0].name, columns),)

    def settings_shown(self, run: Finished) -> list[tuple[str, str]]:
        """What the run's numbers rest on, for the report: labels and values."""
        return []

    def reader(self, run: Finished) -> Iterator[ReaderItem]:
        """Every item with this run's answers, for the report's reader."""
        entries: dict[str, list[Entry]] = {}
        for answer in run.answers():
            score = answer.values.get(run.main.name)
            entries.setdefault(answer.item, []).append(Entry(answer.text, score, answer.reason))
        for item, shown in entries.items():
            prompt = run.prompts[item]
            yield ReaderItem((item, prompt), "", item or run.task, prompt, shown)


def number(value: float | None, measure: Measure) -> str:
    """A measure's value as people read it; a dash for none.

    >>> number(0.5, Measure("a", share=True)), number(0.5, Measure("b", digits=2)), number(None, Measure("c"))
    ('50.00%', '0.50', '–')
    """
    if value is None:
        return DASH
    return f"{value:.2%}" if measure.share else f"{value:.{measure.digits}f}"


def percent(part: int, whole: int) -> str:
    """`part` of `whole` in percent, a dash of nothing."""
    return f"{part / whole:.2%}" if whole else DASH


def estimate_text(measure: Measure, estimate: Mapping[str, Any]) -> str:
    """A stored estimate in one line: mean, interval, n of N."""
    interval = ""
    if estimate["low"] is not None:
        interval = f" ({number(estimate['low'], measure)} – {number(estimate['high'], measure)})"
    return f"{number(estimate['mean'], measure)}{interval}, {estimate['n']:,} of {estimate['of']:,}"
