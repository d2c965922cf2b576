"""A finished run as W&B takes it: metrics, a table, the files that go into the artifact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.run import TaskRun


@dataclass(frozen=True, slots=True)
class Described:
    """A run as W&B takes it.

    Args:
        kind: The task's name.
        source: Whose results they are.
        values: Metrics by name, without the `eval/KIND/` before it.
        facts: What is no number, for the summary.
        columns: Of the table.
        rows: Of the table.
        files: What goes into the artifact beside `config.json` and `metrics.json`.
    """

    kind: str
    source: str
    values: dict[str, float | None]
    facts: dict[str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    files: tuple[str, ...]

    @property
    def named(self) -> dict[str, Any]:
        """Metrics that have a value, and facts, by their whole names."""
        known = {key: value for key, value in self.values.items() if value is not None}
        return {f"eval/{self.kind}/{key}": value for key, value in (known | self.facts).items()}


def describe(run: TaskRun) -> Described:
    """What W&B shows of a run: every mean beside what it rests on."""
    task, view, metrics = run.task, run.task.view, run.metrics
    table = view.wandb_table(task.measures, metrics)
    return Described(
        task.name,
        metrics["source"],
        view.values(task.measures, metrics),
        view.facts(metrics),
        table.columns,
        table.rows,
        view.artifacts,
    )
