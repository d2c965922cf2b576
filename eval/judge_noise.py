"""How a judge's mean moves from one judging of the same answers to the next, and intervals that hold it too."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sozo.eval.compare import Compared
from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import Estimate, Measure, t_test_of_both
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task
from sozo.tasks.view import RunColumn


def judged_twice(
    compared: Compared, task: type[Task]
) -> list[tuple[RunResult, RunResult]]:
    """The runs of a judged task in which one judge scored a source's very answers again, each after the first."""
    same: dict[tuple[Any, ...], list[RunResult]] = {}
    for run in (run for model in compared.models if (run := model.run(task.name))):
        if run.judge:
            answers = ((answer.id, answer.text) for answer in run.answers())
            same.setdefault((run.metrics["source"], *answers), []).append(run)
    pairs = [(first, run) for first, *others in same.values() for run in others]
    return [pair for pair in pairs if not not_alike(*pair)]


def column_by(task: type[Task], judge: str) -> RunColumn:
    """The column of what a further judge says of a task's answers, which of another judge's run is empty."""
    main = task.known_by()
    change = main.by(judge)
    return RunColumn(
        change.short,
        lambda run: run.cell(main) if run.judge == judge else None,
        main,
        key=change.short,
        change=change,
    )


def judge_noise(
    twice: Sequence[tuple[RunResult, RunResult]], measure: Measure
) -> tuple[float, int]:
    """By how much a mean moves if the same answers are judged again (`noise_of`), and how often any were."""
    changes = [again.against(first, measure) for first, again in twice]
    gaps = [(one.value, _error(one)) for one in changes if one.value is not None]
    return noise_of(gaps), len(gaps)


def noise_of(gaps: Sequence[tuple[float, float]]) -> float:
    """The root of the mean of (d² - e²) / 2: d are differences of the same answers judged twice; 0 without any.

    e is the standard error that single answers give d, which is in every interval already. It is not taken from a
    single d: by chance that is often less than e beside a judge whose noise is large.

    >>> round(noise_of([(0.5, 0.3)]), 3), round(noise_of([(0.5, 0.3), (0.1, 0.3)]), 3)
    (0.354, 0.2)
    """
    squares = [max(0.0, gap**2 - error**2 * (len(gaps) > 1)) / 2 for gap, error in gaps]
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0


def _error(change: Estimate) -> float:
    """The standard error whose Student's interval a change has; 0 without an interval."""
    from scipy.special import stdtrit

    if change.low is None or change.high is None:
        return 0.0
    half = (change.high - change.low) / 2
    return half / float(stdtrit(change.n - 1, (1 + change.level) / 2))


def with_noise(change: Estimate, noise: float, times: int, sides: int = 2) -> Estimate:
    """The change of two means, of which so many `sides` move by the judge's noise too, known from repeated judgings.

    The noise has as many degrees of freedom as repetitions.
    """
    if change.low is None or change.value is None:
        return change
    errors = (_error(change), change.n - 1), (math.sqrt(sides) * noise, times)
    low, high, p = t_test_of_both(change.value, errors, change.level)
    return replace(change, low=low, high=high, p=p)
