"""A finished run as W&B takes it: metrics, a table, the files that go into the artifact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.run import TaskRun


@dataclass(frozen=True, slots=True)
class Described:
    """A run as W&B takes it."""

    kind: str  # the task's name
    source: str  # whose results they are
    values: dict[str, float | None]  # metrics by name, without the `eval/KIND/` before it
    facts: dict[str, str]  # what is no number, for the summary
    columns: tuple[str, ...]  # of the table
    rows: tuple[tuple[Any, ...], ...]  # of the table
    files: tuple[str, ...]  # what goes into the artifact beside `config.json` and `metrics.json`

    @property
    def named(self) -> dict[str, Any]:
        """Metrics that have a value, and facts, by their whole names."""
        known = {key: value for key, value in self.values.items() if value is not None}
        return {f"eval/{self.kind}/{key}": value for key, value in (known | self.facts).items()}


def describe(run: TaskRun) -> Described:
    """What W&B shows of a run: every mean beside what it rests on."""
    task, view, metrics = run.task, run.task.view, run.metrics
    columns, rows = view.wandb_table(task.measures, metrics)
    return Described(
        task.name,
        metrics["source"],
        view.values(task.measures, metrics),
        view.facts(metrics),
        columns,
        rows,
        view.artifacts,
    )
