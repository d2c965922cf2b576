"""Is one model better than another on the same items? Difference, interval, effect size and p-value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from eval.statistics.bootstrap import RESAMPLES, percentiles, resampled_means
from eval.statistics.checks import check_options, no_spread, not_finite

_EXACT = 14  # up to 2 ** 14 sign patterns are counted one by one
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Two models on the same items.

    Attributes:
        difference: Mean of the other model's scores minus the base's, over the items that both have.
        low: With `high` the difference's bootstrap interval (items are resampled).
        d_z: Cohen's d_z, the mean difference in standard deviations (ddof = 1) of the differences. It is not Cohen's d
            of two groups: what makes items easy or hard for both models drops out, so it is usually larger.
        p: Two-sided sign-flip permutation test of the mean difference.
        n: Items that both models have a score for. All the above are over these.
        of: Items that one of them has at all.
        level: Coverage of the interval.
        reason: Why something of the above is None.
    """

    difference: float | None
    low: float | None
    high: float | None
    d_z: float | None
    p: float | None
    n: int
    of: int
    level: float
    reason: str | None = None


def compare_paired(
    base: Mapping[Any, float | None],
    other: Mapping[Any, float | None],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedComparison:
    """Compare two models on the questions or stories that both answered.

    The p-value is of the sign-flip permutation test and not of Wilcoxon's: it tests the very mean difference that is
    shown, and JCQ's differences are mostly ties and zeros, which ranks handle by convention. It asks how often random
    signs of the differences give a mean at least as far from 0: counted over all patterns with up to 14 differences
    that are not 0, else estimated from `resamples` patterns as (1 + as far) / (1 + resamples), which is never 0.

    Args:
        base: Item -> score, None for an item with no score. Several answers to one question: their mean, since they are
            not independent.
        other: The same for the other model. Items that one of them lacks are left out, and counted.
        level: Coverage of the interval, between 0 and 1.
        resamples: Bootstrap samples, and sign patterns.
        seed: Of the draws.

    Three differences, 1, 2 and 3. Of the 8 sign patterns two (+++ and ---) give a mean as far from 0 as 2:

    >>> result = compare_paired({"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 2, "b": 3, "c": 4, "d": None})
    >>> result.difference, result.d_z, result.p, result.n, result.of
    (2.0, 2.0, 0.25, 3, 4)
    """
    check_options(level, resamples)
    pairs = [
        (before, after)
        for item, before in base.items()
        if before is not None and (after := other.get(item)) is not None
    ]
    n, of = len(pairs), len({*base, *other})
    differences = np.array([after - before for before, after in pairs], np.float64)
    if reason := not_finite(differences, "common items" if not n else "differences"):
        return PairedComparison(None, None, None, None, None, n, of, level, reason)
    mean = float(differences.mean())
    if reason := _no_differences(differences, np.array(pairs)):
        return PairedComparison(mean, None, None, None, None, n, of, level, reason)
    rng = np.random.default_rng(seed)
    low, high = percentiles(resampled_means(differences, resamples, rng), level)
    d_z = mean / float(differences.std(ddof=1))
    return PairedComparison(mean, low, high, d_z, sign_flip_p(differences, resamples, rng), n, of, level)


def sign_flip_p(differences: np.ndarray, resamples: int, rng: np.random.Generator) -> float:
    """Two-sided p-value of the mean under random signs; see `compare_paired`."""
    moving = differences[differences != 0]  # flipping a zero changes nothing
    # Sums that are equal on paper must count as equal, whatever order they were added up in.
    far = abs(float(moving.sum())) - 1e-9 * float(np.abs(moving).sum())
    if len(moving) <= _EXACT:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(moving))))
        return float((np.abs(signs @ moving) >= far).mean())
    count = 0
    for start in range(0, resamples, _CHUNK):
        flips = rng.integers(0, 2, (min(_CHUNK, resamples - start), len(moving)), np.int8)
        count += int((np.abs((2.0 * flips - 1.0) @ moving) >= far).sum())
    return (1 + count) / (1 + resamples)


def _no_differences(differences: np.ndarray, pairs: np.ndarray) -> str | None:
    """As `no_spread`, with equality judged on the scale of the scores: 3.1 - 3.0 equals 2.1 - 2.0."""
    if len(differences) > 1 and np.ptp(differences) <= 1e-12 * np.abs(pairs).max():
        return f"all {len(differences)} differences are equal"
    return no_spread(differences, "common items")
