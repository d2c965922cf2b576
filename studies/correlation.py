"""Pearson correlations with p-value and interval: of benchmarks over models, of judge and people over answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sozo.scoring.measure import LEVEL, t_test
from sozo.scoring.statistics.means import as_floats, no_spread, not_finite

_FEW = 10
_FEWEST_FAMILIES = 5
_ON_A_LINE = 1 - 1e-12


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
    z, left = math.atanh(r), np.arctanh(without.clip(-_ON_A_LINE, _ON_A_LINE))
    errors = (
        (1 / math.sqrt(n - 3), math.inf),
        (math.sqrt((groups - 1) * left.var()), groups - 1),
    )
    lows, highs, ps = zip(
        *(t_test(z, error, freedom) for error, freedom in errors if error), strict=True
    )
    return Correlation(
        r, max(ps), math.tanh(min(lows)), math.tanh(max(highs)), n, note=few(n, unit)
    )


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


def few(n: int, unit: str) -> str | None:
    """The warning of a correlation over fewer than 10 of something."""
    if n <= 3:
        return f"{n} {unit}: too few for an interval"
    return f"{n} {unit}: the interval is wide" if n < _FEW else None
