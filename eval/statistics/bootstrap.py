"""Intervals of means by the bootstrap: over questions or stories.

The 95% interval of a row of Table 11 stays the normal one: with a hundred trials and more the two agree, and 131,072
responses need no resampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.statistics.checks import as_floats, no_spread, not_finite

LEVEL = 0.95  # coverage of all intervals
RESAMPLES = 10_000
_DRAWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and how far it may be off; `reason` says why something is None."""

    mean: float | None  # None without values, or with one that is not finite
    low: float | None  # with `high` the interval
    high: float | None
    n: int  # number of values
    clusters: int  # units that were resampled: as many
    level: float = LEVEL  # coverage that the interval aims at
    reason: str | None = None


def mean_interval(values: Sequence[float] | np.ndarray, *, resamples: int = RESAMPLES, seed: int = 0) -> MeanInterval:
    """Mean of scores, shape (n,), with its 95% percentile bootstrap interval (Efron, 1979).

    The scores are drawn anew with replacement, as many as there are, `resamples` times; the interval holds the middle
    95% of the means. Under about 20 values it is somewhat too narrow. Several answers to one question are not
    independent: give one value for each question, the mean over its answers. Unscored items are left out by the caller,
    who knows the N.

    >>> mean_interval([1, 1, 5, 5]).mean
    3.0
    >>> mean_interval([2.5]).reason
    'only one of values'
    """
    scores = as_floats(values)
    n = len(scores)
    if reason := not_finite(scores):
        return MeanInterval(None, None, None, n, n, reason=reason)
    mean = float(scores.mean())
    if reason := no_spread(scores):
        return MeanInterval(mean, None, None, n, n, reason=reason)
    return MeanInterval(mean, *middle(resampled_means(scores, resamples, np.random.default_rng(seed))), n, n)


def resampled_means(values: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Means of `resamples` bootstrap samples of values."""
    n = len(values)
    rows = max(1, _DRAWS_AT_ONCE // n)  # some thousands at a time, so that memory stays small
    starts = range(0, resamples, rows)
    draws = (rng.integers(0, n, (min(rows, resamples - start), n)) for start in starts)
    return np.concatenate([values[drawn].sum(axis=1) / n for drawn in draws])


def middle(statistics: np.ndarray) -> tuple[float, float]:
    """The ends of the middle 95% of some numbers."""
    low, high = np.quantile(statistics, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
