"""How a task's results are shown: what `eval` loops over for the terminal, W&B, the model card and the report.

A view only says what to show: it draws and computes nothing. The defaults show every measure of any task.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from sozo.scoring.measure import Estimate, Measure, estimate_text
from sozo.tasks.finished import Finished
from sozo.tasks.page_parts import Column, Entry, ModelTable, ReaderItem, Section

Run = TypeVar("Run", bound=Finished)
Values = dict[str, float | None]
Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class CardMetric:
    """A metric of the model card."""

    kind: str
    name: str  # for people, with n of N in it
    value: float | None
    args: Mapping[str, Any]  # what it rests on


Card = tuple[dict[str, str], list[CardMetric]]


class View(Generic[Run]):
    """How results are shown. `measures` are the task's, `metrics` the content of a run's `metrics.json`."""

    files: tuple[str, ...] = ("config.json", "metrics.json", "responses")  # what the terminal lists below the table
    artifacts: tuple[str, ...] = ("responses",)  # in W&B's artifact beside config.json and metrics.json
    words: tuple[str, ...] = ()  # labels that the report's reader needs (`Entry.more`)
    sample: int | None = None  # answers to an item in the reader, None for all; a task of samples comes last in it
    row: tuple[
        str, ...
    ] = ()  # of a task with a row (`sozo.scoring.measure.Summary`): its numbers in W&B beside the mean

    def cells(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> dict[str, str]:
        """The terminal's table: heading -> cell."""
        cells, answers = {"Source": str(metrics["source"])}, metrics["num_answers"]
        for measure in measures:
            cells[measure.short.capitalize()] = estimate_text(measure, Estimate(**metrics["measures"][measure.name]))
        return cells | {f"No score: {reason}": f"{n:,} of {answers:,}" for reason, n in metrics["reasons"].items() if n}

    def notes(self, metrics: Mapping[str, Any]) -> list[str]:
        """Sentences below the terminal's table."""
        return []

    def values(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> Values:
        """Numbers for W&B, by their names below `eval/TASK/`."""
        if self.row:
            low, high = metrics["ci95"] or (None, None)
            mean = {"mean": metrics["mean"], "std": metrics["std"], "ci95_low": low, "ci95_high": high}
            return mean | {name: metrics[name] for name in self.row}
        values: Values = {}
        for measure in measures:
            name = "mean" if measure is measures[0] else measure.short
            values |= estimate_values(name, metrics["measures"][measure.name])
        return values | {"num_answers": metrics["num_answers"], "valid": metrics["valid"]}

    def facts(self, metrics: Mapping[str, Any]) -> dict[str, str]:
        """What is no number, for W&B's summary."""
        return {}

    def wandb_table(self, measures: Sequence[Measure], metrics: Mapping[str, Any]) -> tuple[tuple[str, ...], Rows]:
        """Columns and rows of the run's table in W&B: by default one row, all values."""
        values = self.values(measures, metrics)
        return ("source", *values), ((metrics["source"], *values.values()),)

    def card(self, measures: Sequence[Measure], metrics: Mapping[str, Any], settings: Mapping[str, Any]) -> Card:
        """Of the model card: the task and dataset (`task_name`, `dataset_name`, `dataset_type`), and the metrics."""
        name, rows = measures[0].task, []
        for measure in measures:
            estimate = metrics["measures"][measure.name]
            counted = {"n": estimate["n"], "of": estimate["of"], "ci95": stored_ci95(estimate)}
            title = f"{measure.name} ({estimate['n']} of {estimate['of']})"
            rows.append(CardMetric(measure.name.replace("/", "_"), title, estimate["mean"], counted))
        return {"task_name": name, "dataset_name": name, "dataset_type": name}, rows

    def labels(self) -> dict[str, tuple[str, str]]:
        """Key -> (English, Japanese): `labels.yaml` beside the view's own file, if there is one."""
        import yaml

        path = Path(inspect.getfile(type(self))).with_name("labels.yaml")
        pairs = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
        return {key: (english, japanese) for key, (english, japanese) in pairs.items()}

    def section(self, measures: Sequence[Measure], runs: Mapping[Path | None, Sequence[Run]]) -> Section:
        """Tables and pictures of the report; `runs` are the models' best ones by the study that they belong to."""
        return (ModelTable(measures[0].task, tuple(Column(measure.short, measure) for measure in measures)),), ()

    def settings_shown(self, run: Run) -> list[tuple[str, Any]]:
        """What the run's numbers rest on, for the report: labels and values; None for what is not known."""
        return []

    def scale_text(self, run: Run) -> str:
        """The same in a sentence, beside correlations; nothing for a task that has nothing to say."""
        return ", ".join(f"{name} {value}" for name, value in run.scale.items())

    def reader(self, run: Run) -> Iterator[ReaderItem]:
        """Every item with this run's answers, for the report's reader."""
        entries: dict[str, list[Entry]] = {}
        for item, entry in self.entries(run):
            entries.setdefault(item, []).append(entry)
        for item, shown in entries.items():
            yield self.reader_item(run, item, shown[: self.sample])

    def entries(self, run: Run) -> Iterator[tuple[str, Entry]]:
        """Every answer as the reader shows it, after the id of its item."""
        for answer in run.answers():
            yield answer.item, Entry(answer.text, answer.values.get(run.main.name), answer.reason)

    def reader_item(self, run: Run, item: str, entries: Sequence[Entry]) -> ReaderItem:
        """The item of this id with its answers, as the reader shows it."""
        prompt = run.prompts.get(item, "")
        return ReaderItem((item, prompt), "", item or run.task, prompt, entries)


def stored_ci95(estimate: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval of a stored estimate."""
    return None if estimate["low"] is None else (estimate["low"], estimate["high"])


def estimate_values(name: str, estimate: Mapping[str, Any]) -> Values:
    """The numbers of a stored estimate for W&B."""
    ends = {f"{name}_ci95_low": estimate["low"], f"{name}_ci95_high": estimate["high"]}
    return {name: estimate["mean"], **ends, f"{name}_n": estimate["n"]}
