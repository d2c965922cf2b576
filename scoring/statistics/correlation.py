"""Pearson correlations with p-value and interval: of benchmarks over models, of judge and people over answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sozo.scoring.measure import LEVEL
from sozo.scoring.statistics.means import as_floats, no_spread, not_finite

_FEW = 10


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r of n pairs."""

    r: float | None  # in [-1, 1]; None where it means nothing, and `reason` says why
    p: float | None  # two-sided, of no linear relation between normal variables; None where `r` is
    low: float | None  # with `high` the interval by Fisher's z; None where there is none
    high: float | None
    n: int  # number of pairs
    level: float = LEVEL  # coverage of the interval
    reason: str | None = None  # why there is no correlation, or no interval
    note: str | None = None  # with fewer than 10 pairs, a sentence that warns the reader


def pearson(
    x: Sequence[float] | np.ndarray,
    y: Sequence[float] | np.ndarray,
    *,
    unit: str = "pairs",
    names: tuple[str, str] = ("x", "y"),
) -> Correlation:
    """Pearson correlation (paper, sections 4.3.1 to 4.3.4) of shapes (n,), exact p-value, 95% interval by Fisher's z.

    The interval needs four pairs that are not on a line, the correlation three. `unit` says in the note what a pair is,
    `names` in the reason whose values are all equal.

    >>> result = pearson([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], unit="models")
    >>> round(result.r, 3), round(result.p, 3), round(result.low, 3), round(result.high, 3)
    (0.8, 0.104, -0.28, 0.986)
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
        reason = f"{n} {unit}: a line goes through any two" if n == 2 else f"only one of {unit}"
    if reason := reason or no_spread(a, own[0]) or no_spread(b, own[1]):
        return Correlation(None, None, None, None, n, reason=reason)
    from scipy.stats import pearsonr

    result = pearsonr(a, b)
    r, p = float(result.statistic), float(result.pvalue)
    if n == 3:
        return Correlation(r, p, None, None, n, reason=f"3 {unit}: an interval needs at least 4", note=few(n, unit))
    if abs(r) > 1 - 1e-12:
        return Correlation(r, p, None, None, n, reason="all points are on a line: no interval", note=few(n, unit))
    low, high = result.confidence_interval(LEVEL)
    return Correlation(r, p, float(low), float(high), n, note=few(n, unit))


def correlate_models(x: Mapping[str, float | None], y: Mapping[str, float | None]) -> Correlation:
    """Correlation of two benchmarks, model -> score (None without one), over the models that have both.

    >>> correlate_models({"a": 1, "b": 2, "c": 4, "d": None}, {"c": 5, "a": 2, "b": 3, "d": 1}).n
    3
    """
    pairs = [(a, b) for model, a in x.items() if a is not None and (b := y.get(model)) is not None]
    return pearson([a for a, _ in pairs], [b for _, b in pairs], unit="models")


def few(n: int, unit: str) -> str | None:
    """The warning of a correlation over fewer than 10 of something."""
    if n <= 3:
        return f"{n} {unit}: too few for an interval"
    return f"{n} {unit}: the interval is wide" if n < _FEW else None
