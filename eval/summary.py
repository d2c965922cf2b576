"""The result of a task that has no summary of its own: for each measure its mean, interval and n of N."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.tasks.task import Task


def summarise_measures(task: Task, folder: Path, source: str) -> dict[str, Any]:
    """The content of `metrics.json`: means over items (over answers for a measure that is not per item)."""
    run = task.Finished(task.name, task.measures[0], folder, {}, {}, {})
    answers = list(run.answers())
    reasons = Counter(answer.reason for answer in answers if answer.reason is not None)
    return {
        "source": source,
        "num_items": len(run.prompts),
        "num_answers": len(answers),
        "valid": sum(answer.reason is None for answer in answers),
        "reasons": dict(sorted(reasons.items())),
        "measures": {measure.name: asdict(run.estimate(measure)) for measure in task.measures},
    }
