"""The result of a task that has no summary of its own: for each measure its mean, interval and n of N."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.statistics import mean_interval
from sozo.tasks.finished import Finished
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
        "measures": {measure.name: asdict(estimate_of(run, measure)) for measure in task.measures},
    }


def estimate_of(run: Finished, measure: Measure) -> Estimate:
    """The mean of a measure: as `metrics.json` has it, else over items (over answers if it is not per item)."""
    stored = run.estimate(measure)
    if stored is not None:
        return stored
    if measure.per_item:
        values = np.array([value for value in run.by_item(measure).values() if value is not None])
    else:
        values = run.by_answer(measure)
    interval = mean_interval(values, share=measure.share)
    return Estimate(interval.mean, interval.low, interval.high, *run.counts(measure))
