"""Is one model better than another where nothing pairs their scores? Difference, interval, effect size and p-value."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.statistics.bootstrap import RESAMPLES, percentiles, resampled_means
from eval.statistics.checks import as_floats, check_options, no_spread, not_finite

_LARGE = 2_000


@dataclass(frozen=True, slots=True)
class IndependentComparison:
    """Two models whose scores have no common items (DAT trials).

    Attributes:
        difference: Mean of the other model's scores minus the base's.
        low: With `high` the difference's bootstrap interval (each side is resampled by itself); of more than 2,000
            scores on both sides Welch's, which is the same by then.
        d_av: Cohen's d with the two variances averaged: the difference in units of sqrt((var_base + var_other) / 2).
        p: Two-sided Welch t-test.
        n_base: Scores of the base; `n_other` those of the other.
        level: Coverage of the interval.
        reason: Why something of the above is None.
    """

    difference: float | None
    low: float | None
    high: float | None
    d_av: float | None
    p: float | None
    n_base: int
    n_other: int
    level: float
    reason: str | None = None


def compare_independent(
    base: Sequence[float] | np.ndarray,
    other: Sequence[float] | np.ndarray,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> IndependentComparison:
    """Compare two models whose scores are not paired, such as the valid trials of DAT.

    The p-value is Welch's: the papers' standard deviations over trials differ by a factor of 3.5 (ACL, Table 6), so
    that neither Student's t-test nor shuffling trials between the models would be about the means alone.

    Args:
        base: Scores, shape (n_base,).
        other: Scores of the other model, shape (n_other,).
        level: Coverage of the interval, between 0 and 1.
        resamples: Bootstrap samples.
        seed: Of the draws.

    >>> result = compare_independent([1, 2, 3], [3, 4, 5])
    >>> result.difference, result.d_av, round(result.p, 4)
    (2.0, 2.0, 0.0705)
    """
    check_options(level, resamples)
    a, b = as_floats(base), as_floats(other)
    sizes = (len(a), len(b), level)
    if reason := not_finite(a, "scores of the base") or not_finite(b, "scores of the other"):
        return IndependentComparison(None, None, None, None, None, *sizes, reason)
    difference = float(b.mean() - a.mean())
    if len(a) == 1 or len(b) == 1:
        reason = "only one score on a side"
    elif no_spread(a) and no_spread(b):
        reason = "all scores on each side are equal"
    if reason:
        return IndependentComparison(difference, None, None, None, None, *sizes, reason)
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all scores of one side may well be equal
        welch = stats.ttest_ind(b, a, equal_var=False)
    if min(len(a), len(b)) > _LARGE:
        low, high = (float(end) for end in welch.confidence_interval(level))
    else:
        rng = np.random.default_rng(seed)
        means = [resampled_means(side, resamples, rng) for side in (a, b)]
        low, high = percentiles(means[1] - means[0], level)
    d_av = difference / float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    return IndependentComparison(difference, low, high, d_av, float(welch.pvalue), *sizes)
