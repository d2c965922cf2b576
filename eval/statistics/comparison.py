"""Is one model better than another? Difference, interval, effect size and p-value, with and without common items."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from eval.statistics.bootstrap import LEVEL, RESAMPLES, as_floats, middle, no_spread, not_finite, resampled_means

_LARGE = 2_000
_EXACT = 14  # up to 2 ** 14 sign patterns are counted one by one
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """A model's scores against the base's; `reason` says why something is None."""

    n: int  # items that both have a score for; without pairs, the smaller number of scores
    of: int  # items that one of them has at all; without pairs, the larger number
    difference: float | None = None  # mean of the model minus mean of the base
    low: float | None = None  # with `high` the difference's 95% bootstrap interval
    high: float | None = None
    effect: float | None = None  # Cohen's d
    p: float | None = None  # two-sided
    reason: str | None = None


def compare_paired(
    base: Mapping[Any, float | None], other: Mapping[Any, float | None], *, resamples: int = RESAMPLES, seed: int = 0
) -> Comparison:
    """Compare two models on the questions or stories that both answered; items that one of them lacks are left out.

    The p-value is of the sign-flip permutation test and not of Wilcoxon's: it tests the very mean difference that is
    shown, and JCQ's differences are mostly ties and zeros, which ranks handle by convention. It asks how often random
    signs of the differences give a mean at least as far from 0: counted over all patterns with up to 14 differences
    that are not 0, else estimated from `resamples` patterns as (1 + as far) / (1 + resamples), which is never 0.
    The effect is Cohen's d_z, the mean difference in standard deviations (ddof = 1) of the differences, usually larger
    than Cohen's d of two groups: what makes items easy or hard for both models drops out.

    Both are item -> score (None without one), the mean of several answers to one question.

    Three differences, 1, 2 and 3. Of the 8 sign patterns two (+++ and ---) give a mean as far from 0 as 2:

    >>> result = compare_paired({"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 2, "b": 3, "c": 4, "d": None})
    >>> result.difference, result.effect, result.p, result.n, result.of
    (2.0, 2.0, 0.25, 3, 4)
    """
    shared = [item for item, score in base.items() if score is not None and other.get(item) is not None]
    pairs = np.array([(base[item], other[item]) for item in shared], np.float64).reshape(-1, 2)
    n, of = len(shared), len({*base, *other})
    differences = pairs[:, 1] - pairs[:, 0]
    if reason := not_finite(differences, "differences" if n else "common items"):
        return Comparison(n, of, reason=reason)
    mean = float(differences.mean())
    # As in `no_spread`, but equal on the scale of the scores: 3.1 - 3.0 equals 2.1 - 2.0.
    if n > 1 and np.ptp(differences) <= 1e-12 * np.abs(pairs).max():
        return Comparison(n, of, mean, reason=f"all {n} differences are equal")
    if reason := no_spread(differences, "common items"):
        return Comparison(n, of, mean, reason=reason)
    rng = np.random.default_rng(seed)
    interval = middle(resampled_means(differences, resamples, rng))
    d_z = mean / float(differences.std(ddof=1))
    return Comparison(n, of, mean, *interval, d_z, _sign_flip_p(differences, resamples, rng))


def _sign_flip_p(differences: np.ndarray, resamples: int, rng: np.random.Generator) -> float:
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


def compare_independent(
    base: Sequence[float] | np.ndarray, other: Sequence[float] | np.ndarray, *, seed: int = 0
) -> Comparison:
    """Compare two models by scores of shapes (n,) and (m,) that are not paired, such as the valid trials of DAT.

    The p-value is Welch's: the papers' standard deviations over trials differ by a factor of 3.5 (ACL, Table 6), so
    that neither Student's t-test nor shuffling trials between the models would be about the means alone. The effect is
    Cohen's d_av. Of more than 2,000 scores on both sides the interval is Welch's, which is the bootstrap's by then.

    >>> result = compare_independent([1, 2, 3], [3, 4, 5])
    >>> result.difference, result.effect, round(result.p, 4)
    (2.0, 2.0, 0.0705)
    """
    a, b = as_floats(base), as_floats(other)
    n, of = sorted((len(a), len(b)))
    if reason := not_finite(a, "scores of the base") or not_finite(b, "scores of the other"):
        return Comparison(n, of, reason=reason)
    difference = float(b.mean() - a.mean())
    if n == 1:
        return Comparison(n, of, difference, reason="only one score on a side")
    if no_spread(a) and no_spread(b):
        return Comparison(n, of, difference, reason="all scores on each side are equal")
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all scores of one side may well be equal
        welch = stats.ttest_ind(b, a, equal_var=False)
    if n > _LARGE:
        low, high = (float(end) for end in welch.confidence_interval(LEVEL))
    else:
        rng = np.random.default_rng(seed)
        means = [resampled_means(side, RESAMPLES, rng) for side in (a, b)]
        low, high = middle(means[1] - means[0])
    d_av = difference / float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    return Comparison(n, of, difference, low, high, d_av, float(welch.pvalue))
