"""flexeval: a metric with `class_path: sozo.rewards.integrations.flexeval.Creativity` (docs/integrations.md)."""

from collections.abc import Sequence
from typing import Any

from flexeval import LMOutput, Metric, MetricResult

from sozo.rewards.integrations.core import Integration


class Creativity(Metric):
    """Means of the task's measures over the outputs that have one, and how many of all have the first.

    An output's extra info says what it answers: `item`, an item's id, or the columns of one. Answers that a task judges
    together are all outputs to one item. Details hold the values of each output, or the reason why it has none.
    """

    def __init__(
        self, task: str = "dat", settings: dict[str, Any] | None = None
    ) -> None:
        self.integration = Integration(task, **(settings or {}))

    def evaluate(
        self,
        lm_outputs: Sequence[str | LMOutput],
        references_list: Sequence[Sequence[str]] = (),
        extra_info_list: Sequence[dict[str, Any]] | None = None,
    ) -> MetricResult:
        """References are not read."""
        texts = [
            output if isinstance(output, str) else output.text or ""
            for output in lm_outputs
        ]
        rows = self.integration.measure(texts, extra_info_list, together=True)
        summary: dict[str, Any] = {
            "n": len(rows),
            "scored": sum(self.integration.name in row.values for row in rows),
        }
        for measure in self.integration.task.measures:
            values = [
                row.values[measure.name] for row in rows if measure.name in row.values
            ]
            summary[measure.name] = sum(values) / len(values) if values else None
        return MetricResult(
            summary, [{**row.values, "reason": row.reason} for row in rows]
        )
