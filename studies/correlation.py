"""Pearson correlations with p-value and interval: of benchmarks over models, of two raters over and within systems."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sozo.data.errors import UserError
from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import t_test
from sozo.scoring.statistics.means import as_floats, no_spread, not_finite
from sozo.tasks.run_result import RunResult

_FEWEST = 5  # questions, for an interval
_ON_A_LINE = 1 - 1e-12
OVER, ANSWERS, WITHIN = "over systems", "over answers", "within systems"
WAYS = {OVER: "systems", ANSWERS: "answers", WITHIN: "answers"}


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r of n pairs."""

    r: float | None  # in [-1, 1]; None where it means nothing, and `reason` says why
    p: (
        float | None
    )  # two-sided, that there is no relation: below 0.05 exactly where the interval leaves out 0
    low: float | None  # with `high` the interval; None, as p is, where there is none
    high: float | None
    n: int  # number of pairs
    reason: str | None = None  # why there is no correlation, or no interval


def pearson(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    unit: str = "pairs",
) -> Correlation:
    """Pearson correlation (paper, sections 4.3.1 to 4.3.4) of shapes (n,), with its 95% interval and p-value.

    The interval is by Fisher's z the wider of two: with the error that normal pairs have, which is too small where
    there are tails, and with the jackknife's and Student's t, which miss what no pair shows. It needs four pairs that
    are not on a line, the correlation three. `unit` is what a pair is.

    >>> result = pearson([1, 2, 3, 4, 5], [1, 3, 2, 5, 4])
    >>> round(result.r, 3), round(result.p, 3), round(result.low, 3), round(result.high, 3)
    (0.8, 0.12, -0.28, 0.986)
    >>> pearson([1, 2, 3], [4, 4, 4]).reason
    'all 3 values of y are equal'
    """
    a, b, drawn = as_floats(x), as_floats(y), np.arange(len(x))
    error = 1 / math.sqrt(max(1, len(x) - 3))
    return _jackknifed(lambda kept: (a[kept], b[kept]), drawn, unit, unit, 4, error)


def by_systems(
    x: np.ndarray, y: np.ndarray, systems: Sequence[str], items: Sequence[str]
) -> dict[str, Correlation]:
    """Two raters' scores of the same answers, shape (n,): r over the systems' means, over answers, and within systems.

    Within systems each score is taken from its system's mean. The intervals are for other questions to these systems:
    Student's over Fisher's z without each of `items` in turn, of which there must be five.

    >>> x, systems, items = [1, 2, 3, 4, 5, 6], [*"aabbcc"], [*"121212"]
    >>> found = by_systems(np.array(x), np.array([2, 1, 4, 3, 6, 5]), systems, items)
    >>> [(name, round(one.r, 3), one.n) for name, one in found.items()]
    [('over systems', 1.0, 3), ('over answers', 0.829, 6), ('within systems', -1.0, 6)]
    """
    system, item = np.asarray(systems), np.asarray(items)
    return {
        name: _jackknifed(
            partial(_sides, name, x, y, system), item, unit, "questions", _FEWEST
        )
        for name, unit in WAYS.items()
    }


def _sides(
    name: str, x: np.ndarray, y: np.ndarray, systems: np.ndarray, kept: np.ndarray
) -> Sequence[np.ndarray]:
    """What is correlated in one of `WAYS`, of the answers that are kept."""
    own, both = np.unique(systems[kept], return_inverse=True)[1], (x[kept], y[kept])
    means = [np.bincount(own, side) / np.bincount(own) for side in both]
    within = [side - mean[own] for side, mean in zip(both, means, strict=True)]
    return {OVER: means, ANSWERS: both, WITHIN: within}[name]


def _jackknifed(
    sides: Callable[[np.ndarray], Sequence[np.ndarray]],
    drawn: np.ndarray,
    unit: str,
    draws: str,
    least: int,
    error: float = 0,
) -> Correlation:
    """r of the two `sides` of all pairs, with the interval of `least` draws or more, one of which is left out at a time.

    `drawn` names each pair's draw, shape (n,). The interval is no narrower than that with a known `error`.
    """
    a, b = sides(np.full(len(drawn), True))
    n = len(a)
    reason = not_finite(a, "values of x") or not_finite(b, "values of y")
    if not reason and n < 3:
        reason = f"{n} {unit}: a correlation needs 3"
    if reason := reason or no_spread(a, "values of x") or no_spread(b, "values of y"):
        return Correlation(None, None, None, None, n, reason=reason)
    r, different = r_of(a, b), dict.fromkeys(drawn.tolist())
    assert r is not None
    left = [r_of(*sides(drawn != one)) for one in different]
    low = high = p = None
    if len(left) < least:
        reason = f"{len(left)} {draws}: an interval needs at least {least}"
    elif abs(r) > _ON_A_LINE:
        reason = "all points are on a line: no interval"
    elif None in left:
        reason = f"without one of the {draws} the others are equal"
    elif not error and np.ptp(np.array(left, float)) < 1e-12:
        reason = f"none of the {draws} moves it: no interval"
    else:
        low, high, p = _interval(r, np.array(left, float), error)
    return Correlation(r, p, low, high, n, reason=reason)


def r_of(a: np.ndarray, b: np.ndarray) -> float | None:
    """Pearson's r of finite values, shapes (n,); None of fewer than three, or where a side is the same throughout."""
    if len(a) < 3 or no_spread(a) or no_spread(b):
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _interval(
    r: float, without: np.ndarray, error: float
) -> tuple[float, float, float]:
    """Ends and p-value by Fisher's z, from r without each draw in turn; no narrower than that with a known `error`."""
    z, left = math.atanh(r), np.arctanh(without.clip(-_ON_A_LINE, _ON_A_LINE))
    draws = len(without)
    errors = (error, math.inf), (math.sqrt((draws - 1) * left.var()), draws - 1)
    lows, highs, ps = zip(
        *(t_test(z, error, freedom) for error, freedom in errors if error), strict=True
    )
    return math.tanh(min(lows)), math.tanh(max(highs)), max(ps)


def check_alike(what: str, runs: Sequence[tuple[str, RunResult]]) -> None:
    """Refuse models' runs of a benchmark of which one has its scores on another scale than the first."""
    for name, run in runs[1:]:
        first, other = runs[0]
        if reason := not_alike(other, run):
            raise UserError(
                f"{what} of {first} ({other.folder}) and of {name} ({run.folder}) do not compare: {reason}; "
                "score one of them again as the other, or leave it out"
            )
