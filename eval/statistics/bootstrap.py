"""Intervals of means by the bootstrap, over questions or stories, and why values may say nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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

    Under about 20 values it is somewhat too narrow. Several answers to one question are not independent: give one value
    for each question, the mean over its answers. Unscored items are left out by the caller, who knows the N.

    >>> mean_interval([1, 1, 5, 5]).mean
    3.0
    >>> mean_interval([2.5]).reason
    'only one of values'
    """
    scores, n = as_floats(values), len(values)
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
    draws = (rng.integers(0, n, (min(rows, resamples - start), n)) for start in range(0, resamples, rows))
    return np.concatenate([values[drawn].sum(axis=1) / n for drawn in draws])


def middle(statistics: np.ndarray) -> tuple[float, float]:
    """The ends of the middle 95% of some numbers."""
    low, high = np.quantile(statistics, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def not_finite(values: np.ndarray, name: str = "values") -> str | None:
    """The reason why not even a mean can be given; None if there is a mean."""
    if not len(values):
        return f"no {name}"
    broken = int((~np.isfinite(values)).sum())
    return f"{broken} of {len(values)} {name} not finite" if broken else None


def no_spread(values: np.ndarray, name: str = "values") -> str | None:
    """The reason why finite values have no spread to infer from; None if they have.

    >>> no_spread(np.array([0.1 + 0.2, 0.3])), no_spread(np.array([2.0]))
    ('all 2 values are equal', 'only one of values')
    """
    if len(values) == 1:
        return f"only one of {name}"
    # Equal: they differ by no more than rounding errors of float64.
    return f"all {len(values)} {name} are equal" if np.ptp(values) <= 1e-12 * np.abs(values).max() else None


def as_floats(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """A float64 vector; values of another shape than (n,) are a ValueError."""
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1:
        raise ValueError(f"values must be one list of numbers, not of shape {vector.shape}")
    return vector
