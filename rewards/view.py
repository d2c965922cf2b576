"""How a task's results are shown: what `eval` loops over for the terminal, W&B, the model card and the report.

A view only says what to show. It draws nothing, computes no interval and compares nothing. The defaults show every
measure of any task; a task with tables of its own overrides what it needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from rewards.finished import Finished
from rewards.measure import Measure
from rewards.page_parts import Column, Entry, ModelTable, ReaderItem, Section, number

Run = TypeVar("Run", bound=Finished)


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


class View(Generic[Run]):
    """How results are shown. `measures` are the task's, `metrics` the content of a run's `metrics.json`.

    Attributes:
        files: Names under the run's folder that the terminal lists below the table.
        artifacts: What goes into W&B's artifact beside config.json and metrics.json.
        words: Labels that the report's reader needs (`Entry.more`).
        sample: How many answers to an item the reader shows; None shows all. A task of samples comes last in it.
    """

    files: tuple[str, ...] = ("config.json", "metrics.json", "responses")
    artifacts: tuple[str, ...] = ("responses",)
    words: tuple[str, ...] = ()
    sample: int | None = None

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
        name = measures[0].task
        rows = []
        for measure in measures:
            estimate = metrics["measures"][measure.name]
            ci95 = None if estimate["low"] is None else (estimate["low"], estimate["high"])
            counted = {"n": estimate["n"], "of": estimate["of"], "ci95": ci95}
            title = f"{measure.name} ({estimate['n']} of {estimate['of']})"
            rows.append(CardMetric(measure.name.replace("/", "_"), title, estimate["mean"], counted))
        return {"task_name": name, "dataset_name": name, "dataset_type": name}, rows

    def labels(self) -> dict[str, tuple[str, str]]:
        """Key -> (English, Japanese): `labels.yaml` beside the view's own file, if there is one."""
        import yaml

        path = Path(inspect.getfile(type(self))).with_name("labels.yaml")
        pairs = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
        return {key: (english, japanese) for key, (english, japanese) in pairs.items()}

    def section(self, measures: Sequence[Measure], runs: Sequence[Run]) -> Section:
        """Tables and pictures of the report; `runs` are the best ones of the models that have any."""
        columns = tuple(Column(measure.short, measure) for measure in measures)
        return Section((ModelTable(measures[0].task, columns),))

    def settings_shown(self, run: Run) -> list[tuple[str, Any]]:
        """What the run's numbers rest on, for the report: labels and values; None for what is not known."""
        return []

    def scale_text(self, run: Run) -> str:
        """The same in a sentence, beside correlations; nothing for a task that has nothing to say."""
        return ", ".join(f"{name} {value}" for name, value in run.scale.items())

    def reader(self, run: Run) -> Iterator[ReaderItem]:
        """Every item with this run's answers, for the report's reader."""
        entries: dict[str, list[Entry]] = {}
        for answer in run.answers():
            score = answer.values.get(run.main.name)
            entries.setdefault(answer.item, []).append(Entry(answer.text, score, answer.reason))
        for item, shown in entries.items():
            prompt = run.prompts.get(item, "")
            yield ReaderItem((item, prompt), "", item or run.task, prompt, shown[: self.sample])


def estimate_text(measure: Measure, estimate: Mapping[str, Any]) -> str:
    """A stored estimate in one line: mean, interval, n of N."""
    interval = ""
    if estimate["low"] is not None:
        interval = f" ({number(estimate['low'], measure)} – {number(estimate['high'], measure)})"
    return f"{number(estimate['mean'], measure)}{interval}, {estimate['n']:,} of {estimate['of']:,}"


def stored_numbers(metrics: Mapping[str, Any], *names: str) -> dict[str, float | None]:
    """Numbers of `metrics.json` by their names; the interval `ci95` as its two ends.

    >>> stored_numbers({"mean": 0.5, "ci95": [0.4, 0.6]}, "mean", "ci95")
    {'mean': 0.5, 'ci95_low': 0.4, 'ci95_high': 0.6}
    """
    values: dict[str, float | None] = {}
    for name in names:
        stored = metrics[name]
        if name == "ci95":
            low, high = stored or (None, None)
            values |= {"ci95_low": low, "ci95_high": high}
        else:
            values[name] = stored
    return values
