"""Pearson correlations with p-value and interval: of benchmarks over models, of two raters over and within systems."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sozo.data.errors import UserError
from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import LEVEL, t_test
from sozo.scoring.statistics.means import as_floats, no_spread, not_finite
from sozo.tasks.run_result import RunResult

_FEW = 10
_FEWEST_FAMILIES = 5
_ON_A_LINE = 1 - 1e-12
OVER, WITHIN = "over systems", "within systems"
WAYS = {OVER: "systems", "over answers": "answers", WITHIN: "answers"}


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
    level: float = LEVEL  # coverage of the interval
    reason: str | None = None  # why there is no correlation, or no interval
    note: str | None = (
        None  # with fewer than 10 pairs, a sentence that warns the reader
    )


def pearson(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    *,
    unit: str = "pairs",
    names: tuple[str, str] = ("x", "y"),
    families: Sequence[str] | None = None,
) -> Correlation:
    """Pearson correlation (paper, sections 4.3.1 to 4.3.4) of shapes (n,), with its 95% interval and p-value.

    The interval is by Fisher's z the wider of two: with the error that normal pairs have, which is too small where
    there are tails, and with the jackknife's and Student's t, which miss what no pair shows. Pairs of one of `families`
    are left out together; there must be five. The interval needs four pairs that are not on a line, the correlation
    three. `unit` says in the note what a pair is, `names` in the reason whose values are all equal.

    >>> result = pearson([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], unit="models")
    >>> round(result.r, 3), round(result.p, 3), round(result.low, 3), round(result.high, 3)
    (0.8, 0.12, -0.28, 0.986)
    >>> result.note
    '5 models: the interval is wide'
    >>> pearson([1, 2, 3], [4, 4, 4]).reason
    'all 3 values of y are equal'
    """
    a, b, n = as_floats(x), as_floats(y), len(x)
    if len(b) != n:
        raise ValueError(f"{n} values of x but {len(b)} of y")
    own = [f"values of {name}" for name in names]
    reason = not_finite(a, own[0]) or not_finite(b, own[1])
    if not reason and n < 3:
        reason = (
            f"{n} {unit}: a line goes through any two"
            if n == 2
            else f"only one of {unit}"
        )
    if reason := reason or no_spread(a, own[0]) or no_spread(b, own[1]):
        return Correlation(None, None, None, None, n, reason=reason)
    group = np.unique(
        np.arange(n) if families is None else families, return_inverse=True
    )[1]
    groups = int(group.max()) + 1
    r, without = float(np.corrcoef(a, b)[0, 1]), _without_each(a, b, group)
    if n == 3:
        reason = f"3 {unit}: an interval needs at least 4"
    elif families is not None and groups < _FEWEST_FAMILIES:
        reason = f"{groups} families: an interval needs at least {_FEWEST_FAMILIES}"
    elif abs(r) > _ON_A_LINE:
        reason = "all points are on a line: no interval"
    elif np.isnan(without).any():
        reason = f"without one of the {unit} the others are equal"
    if reason:
        return Correlation(r, None, None, None, n, reason=reason, note=few(n, unit))
    low, high, p = _interval(r, without, 1 / math.sqrt(n - 3))
    return Correlation(r, p, low, high, n, note=few(n, unit))


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


def _without_each(a: np.ndarray, b: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Correlations without the pairs of each group, shape (groups,); NaN where the others are equal."""
    a, b = (side - side.mean() for side in (a, b))
    sums = np.stack(
        [np.bincount(group, of) for of in (np.ones(len(a)), a, b, a * a, b * b, a * b)]
    )
    n, sum_a, sum_b, squares_a, squares_b, products = sums.sum(1, keepdims=True) - sums
    spreads = [
        squares - side**2 / n
        for squares, side in ((squares_a, sum_a), (squares_b, sum_b))
    ]
    equal = np.any(
        [
            own <= 1e-12 * (side @ side)
            for own, side in zip(spreads, (a, b), strict=True)
        ],
        axis=0,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            equal,
            np.nan,
            (products - sum_a * sum_b / n) / np.sqrt(spreads[0] * spreads[1]),
        )


def check_alike(what: str, runs: Sequence[tuple[str, RunResult]], remedy: str) -> None:
    """Refuse models' runs of a benchmark of which one has its scores on another scale than the first."""
    for name, run in runs[1:]:
        first, other = runs[0]
        if reason := not_alike(other, run):
            raise UserError(
                f"{what} of {first} ({other.folder}) and of {name} ({run.folder}) do not compare: {reason}; {remedy}"
            )


def correlate_models(
    x: Mapping[str, float | None],
    y: Mapping[str, float | None],
    families: Mapping[str, str] | None = None,
) -> Correlation:
    """Correlation of two benchmarks, model -> score (None without one), over the models that have both.

    `families` are those of the models (`pearson`).

    >>> correlate_models({"a": 1, "b": 2, "c": 4, "d": None}, {"c": 5, "a": 2, "b": 3, "d": 1}).n
    3
    """
    both = {
        model: (a, b)
        for model, a in x.items()
        if a is not None and (b := y.get(model)) is not None
    }
    own = None if families is None else [families[model] for model in both]
    return pearson(
        [a for a, _ in both.values()],
        [b for _, b in both.values()],
        unit="models",
        families=own,
    )


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
    found = {}
    for name, unit in WAYS.items():
        whole = pearson(*_sides(name, x, y, system), unit=unit)
        left = [item != one for one in dict.fromkeys(items)]
        sides = (_sides(name, x[kept], y[kept], system[kept]) for kept in left)
        without = [pearson(*of).r for of in sides] if len(left) > 1 else []
        reason = whole.reason
        ends: tuple[float | None, ...] = (None, None, None)
        if whole.r is None or abs(whole.r) > _ON_A_LINE:
            pass
        elif len(left) < _FEWEST_FAMILIES:
            reason = (
                f"{len(left)} questions: an interval needs at least {_FEWEST_FAMILIES}"
            )
        elif None in without:
            reason = "without one question all scores are equal"
        elif np.ptp(np.array(without, float)) < 1e-12:
            reason = "no question moves it: no interval"
        else:
            reason, ends = None, _interval(whole.r, np.array(without), 0)
        low, high, p = ends
        found[name] = replace(whole, p=p, low=low, high=high, reason=reason)
    return found


def _sides(
    name: str, x: np.ndarray, y: np.ndarray, systems: np.ndarray
) -> Sequence[np.ndarray]:
    """What is correlated in one of `WAYS`."""
    own = np.unique(systems, return_inverse=True)[1]
    means = [np.bincount(own, side) / np.bincount(own) for side in (x, y)]
    within = x - means[0][own], y - means[1][own]
    return {OVER: means, "over answers": (x, y), WITHIN: within}[name]


def few(n: int, unit: str) -> str | None:
    """The warning of a correlation over fewer than 10 of something."""
    if n <= 3:
        return f"{n} {unit}: too few for an interval"
    return f"{n} {unit}: the interval is wide" if n < _FEW else None
