"""How a judge's mean moves from one judging of the same answers to the next, and intervals that hold it too."""

import math
from dataclasses import replace
from typing import Any

from sozo.eval.compare import Compared
from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import Estimate
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task


def judge_noise(compared: Compared, task: type[Task]) -> tuple[float, int]:
    """By how much a mean of a judged task moves if the same answers are judged again, and how often any were.

    The root of the mean of (d² - e²) / 2 over the runs that hold one source's very answers again: d is their
    difference, e the standard error that single answers give it, which is in every interval already.
    """
    twice: dict[tuple[Any, ...], list[RunResult]] = {}
    for run in (run for model in compared.models if (run := model.run(task.name))):
        if "judge" in run.settings:
            answers = ((answer.id, answer.text) for answer in run.answers())
            twice.setdefault((run.metrics["source"], *answers), []).append(run)
    squares = []
    for first, *others in twice.values():
        for run in (run for run in others if not not_alike(first, run)):
            change = run.against(first, task.measures[0])
            if change.value is not None:
                error = _error(change) if change.low is not None else 0.0
                squares.append(max(0.0, change.value**2 - error**2) / 2)
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0, len(squares)


def _error(change: Estimate) -> float:
    """The standard error whose Student's interval a change has."""
    assert change.low is not None
    assert change.high is not None
    return (change.high - change.low) / 2 / _quantile(change, (1 + change.level) / 2)


def _quantile(change: Estimate, share: float) -> float:
    """Student's quantile for as many values as a change has."""
    from scipy.special import stdtrit

    return float(stdtrit(change.n - 1, share))


def with_noise(change: Estimate, noise: float, times: int) -> Estimate:
    """The change of two means, each of which moves by the judge's noise too, known from so many repeated judgings.

    The interval's half is the root of the sum of the squares of two: Student's of the answers, and Student's of the
    noise, with as many degrees of freedom as repetitions.
    """
    if change.low is None or change.value is None:
        return change
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    errors = (_error(change), change.n - 1), (math.sqrt(2) * noise, times)

    def half(p: float) -> float:
        return math.hypot(*(error * float(stdtrit(freedom, 1 - p / 2)) for error, freedom in errors))

    margin, gap = half(1 - change.level), abs(change.value)
    p = float(brentq(lambda p: half(p) - gap, 1e-12, 1.0)) if half(1e-12) > gap > 0 else float(not gap)
    return replace(change, low=change.value - margin, high=change.value + margin, p=p)
