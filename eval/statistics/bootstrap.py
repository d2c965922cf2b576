"""Intervals of means by the bootstrap: over questions or stories.

The 95% interval of a row of Table 11 stays the normal one: with a hundred trials and more the two agree, and 131,072
responses need no resampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.statistics.checks import as_floats, check_options, no_spread, not_finite

RESAMPLES = 10_000
_DRAWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and how far it may be off.

    `mean` is None without values or with one that is not finite, `low` and `high` where there is no interval; `reason`
    says why. `n` values, of which `clusters` units were resampled (as many), aim at the coverage `level`.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    level: float
    reason: str | None = None


def mean_interval(
    values: Sequence[float] | np.ndarray,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> MeanInterval:
    """Mean of scores with its percentile bootstrap interval (Efron, 1979).

    The scores are drawn anew with replacement, as many as there are, `resamples` times; the interval holds the middle
    `level` of the means. Under about 20 values it is somewhat too narrow. Several answers to one question are not
    independent: give one value for each question, the mean over its answers.

    Args:
        values: Scores, shape (n,); unscored items are left out by the caller, who knows the N.
        level: Coverage, between 0 and 1.
        resamples: Bootstrap samples.
        seed: Of the draws.

    >>> mean_interval([1, 1, 5, 5]).mean
    3.0
    >>> mean_interval([2.5]).reason
    'only one of values'
    """
    check_options(level, resamples)
    scores = as_floats(values)
    n = len(scores)
    if reason := not_finite(scores):
        return MeanInterval(None, None, None, n, n, level, reason)
    mean = float(scores.mean())
    if reason := no_spread(scores):
        return MeanInterval(mean, None, None, n, n, level, reason)
    low, high = percentiles(resampled_means(scores, resamples, np.random.default_rng(seed)), level)
    return MeanInterval(mean, low, high, n, n, level)


def resampled_means(values: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Means of `resamples` bootstrap samples of values."""
    n = len(values)
    rows = max(1, _DRAWS_AT_ONCE // n)  # some thousands at a time, so that memory stays small
    starts = range(0, resamples, rows)
    draws = (rng.integers(0, n, (min(rows, resamples - start), n)) for start in starts)
    return np.concatenate([values[drawn].sum(axis=1) / n for drawn in draws])


def percentiles(statistics: np.ndarray, level: float) -> tuple[float, float]:
    """The ends of the middle `level` of some numbers."""
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
