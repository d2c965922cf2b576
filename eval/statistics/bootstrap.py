"""Intervals of means by the bootstrap: over questions, stories or trials, and over whole questions with many answers.

The 95% interval of a row of Table 11 stays the normal one: with a hundred trials and more the two agree, and 131,072
responses need no resampling.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eval.statistics.checks import as_floats, check_options, no_spread, not_finite

RESAMPLES = 10_000
_DRAWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and how far it may be off.

    Attributes:
        mean: Mean of all values; None without values or with one that is not finite.
        low: Lower end of the interval; None where there is none, and `reason` says why. `high` likewise.
        high: Upper end.
        n: Number of values.
        clusters: Number of units that were resampled: `n`, or the questions that the values belong to.
        level: Coverage that the interval aims at.
        reason: Why there is no interval, or no mean.
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
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> MeanInterval:
    """Mean of scores with its percentile bootstrap interval (Efron, 1979).

    The scores are drawn anew with replacement, as many as there are, `resamples` times; the interval holds the middle
    `level` of the means. Under about 20 values it is somewhat too narrow. Several answers to one question are not
    independent: with `clusters`, whole questions are drawn, with all their answers. The mean is that of all answers.

    Args:
        values: Scores, shape (n,); unscored items are left out by the caller, who knows the N.
        clusters: For each value what it belongs to (its question); None if each stands for itself.
        level: Coverage, between 0 and 1.
        resamples: Number of bootstrap samples.
        seed: Of the draws.

    Raises:
        ValueError: The lengths differ, or an option is out of range.

    Two answers to each of two questions: as answers they look like four, as questions they are two.

    >>> mean_interval([1, 1, 5, 5]).mean
    3.0
    >>> found = mean_interval([1, 1, 5, 5], ["q1", "q1", "q2", "q2"])
    >>> found.low, found.high, found.n, found.clusters
    (1.0, 5.0, 4, 2)
    >>> mean_interval([2.5]).reason
    'only one of values'
    """
    check_options(level, resamples)
    scores = as_floats(values)
    sums, counts = _by_cluster(scores, clusters)
    n, units = len(scores), len(sums)
    if reason := not_finite(scores):
        return MeanInterval(None, None, None, n, units, level, reason)
    mean = float(scores.mean())
    name = "values" if clusters is None else "clusters"
    if reason := no_spread(sums / counts, name):
        return MeanInterval(mean, None, None, n, units, level, reason)
    means = np.concatenate(list(resampled_means(sums, counts, resamples, np.random.default_rng(seed))))
    low, high = percentiles(means, level)
    return MeanInterval(mean, low, high, n, units, level)


def cluster_means(values: Sequence[float] | np.ndarray, clusters: Sequence[Hashable]) -> dict[Hashable, float]:
    """Mean of each cluster, in order of appearance: one value for each question, to compare models on.

    Raises:
        ValueError: The lengths differ.

    >>> cluster_means([1, 2, 5], ["q1", "q1", "q2"])
    {'q1': 1.5, 'q2': 5.0}
    """
    sums, counts = _by_cluster(as_floats(values), clusters)
    return dict(zip(dict.fromkeys(clusters), (sums / counts).tolist(), strict=True))


def resampled_means(
    sums: np.ndarray, counts: np.ndarray, resamples: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Means of bootstrap samples of clusters, some thousands at a time so that memory stays small."""
    units = len(sums)
    rows = max(1, _DRAWS_AT_ONCE // units)
    equal = bool((counts == counts[0]).all())
    for start in range(0, resamples, rows):
        drawn = rng.integers(0, units, (min(rows, resamples - start), units))
        yield sums[drawn].sum(axis=1) / (units * counts[0] if equal else counts[drawn].sum(axis=1))


def percentiles(statistics: np.ndarray, level: float) -> tuple[float, float]:
    """The ends of the middle `level` of some numbers."""
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _by_cluster(values: np.ndarray, clusters: Sequence[Hashable] | None) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the values of each cluster."""
    if clusters is None:
        return values, np.ones(len(values))
    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} values but {len(clusters)} clusters")
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    place = np.array([numbers[cluster] for cluster in clusters], np.int64)
    return np.bincount(place, values, len(numbers)), np.bincount(place, minlength=len(numbers)).astype(np.float64)
