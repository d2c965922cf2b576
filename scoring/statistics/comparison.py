"""Is one model better than another? Difference, interval, effect size and p-value, with and without common items."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.scoring.measure import t_interval
from sozo.scoring.said import said
from sozo.scoring.statistics.means import LEVEL, as_floats, few_whole, mean_interval, no_spread, not_finite

_FLIPS = 10_000
_EXACT = 14  # up to 2 ** 14 sign patterns are counted one by one
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """A model's scores against the base's; `reason` says why something is None."""

    n: int = 0  # items that both have a score for; without pairs, the smaller number of scores
    of: int = 0  # items that one of them has at all; without pairs, the larger number
    difference: float | None = None  # mean of the model minus mean of the base
    low: float | None = None  # with `high` the difference's 95% interval, Student's or Welch's
    high: float | None = None
    effect: float | None = None  # Cohen's d
    p: float | None = None  # two-sided
    p_at_most: bool = False  # whether it is a bound: p is at most that
    reason: str | None = None


def compare_paired(
    base: Mapping[Any, float | None],
    other: Mapping[Any, float | None],
    *,
    share: bool = False,
    flips: int = _FLIPS,
    seed: int = 0,
) -> Comparison:
    """Compare two models on the questions or stories that both answered; items that one of them lacks are left out.

    The p-value is of the sign-flip permutation test and not of Wilcoxon's: it tests the very mean difference that is
    shown, and JCQ's differences are mostly ties and zeros, which ranks handle by convention. It asks how often random
    signs of the differences give a mean at least as far from 0: counted over all patterns with up to 14 differences
    that are not 0, else estimated from `flips` patterns as (1 + as far) / (1 + flips). Where none of these is as far, p
    is the bound of Hoeffding (1963) on such sums, 2 exp(-sum² / (2 sum of squares)), if that is less.
    The effect is Cohen's d_z, the mean difference in standard deviations (ddof = 1) of the differences, usually larger
    than Cohen's d of two groups: what makes items easy or hard for both models drops out.

    Both are item -> score (None without one), the mean of several answers to one question. The interval is Student's;
    of a `share` after adding one difference of +1 and one of -1 (Bonett and Price, 2012).

    Three differences, 1, 2 and 3: whole numbers, too few for an interval. Of the 8 sign patterns two (+++ and ---) give
    a mean as far from 0 as 2:

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
    if n > 1 and not share and np.ptp(differences) <= 1e-12 * np.abs(pairs).max():
        return Comparison(n, of, mean, reason=said("all {n} {name} are equal", n=n, name=said("differences")))
    if (equal := no_spread(differences, "common items")) and (n == 1 or not share):
        return Comparison(n, of, mean, reason=equal)
    if share:
        more = np.append(differences, [1.0, -1.0])
        low, high = t_interval(float(more.mean()), float(more.std(ddof=1)), n + 2) or (None, None)
    else:
        interval = mean_interval(differences)
        low, high, reason = interval.low, interval.high, interval.reason
    d_z = None if equal else mean / float(differences.std(ddof=1))
    p = _sign_flip_p(differences, flips, np.random.default_rng(seed))
    return Comparison(n, of, mean, low, high, d_z, *p, reason)


def _sign_flip_p(differences: np.ndarray, flips: int, rng: np.random.Generator) -> tuple[float, bool]:
    """The p-value, and whether it is a bound only."""
    moving = differences[differences != 0]  # flipping a zero changes nothing
    # Sums that are equal on paper must count as equal, whatever order they were added up in.
    far = abs(float(moving.sum())) - 1e-9 * float(np.abs(moving).sum())
    if len(moving) <= _EXACT:
        signs = 2.0 * (np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving)) & 1) - 1.0
        return float((np.abs(signs @ moving) >= far).mean()), False
    count = 0
    for start in range(0, flips, _CHUNK):
        signs = rng.integers(0, 2, (min(_CHUNK, flips - start), len(moving)), np.int8)
        count += int((np.abs((2.0 * signs - 1.0) @ moving) >= far).sum())
    bound = 2 * math.exp(-(float(moving.sum()) ** 2) / (2 * float((moving**2).sum())))
    estimate = (1 + count) / (1 + flips)
    # Never 0: a bound that no float holds is the least that one does.
    return (estimate, False) if count or bound > estimate else (max(bound, sys.float_info.min), True)


def compare_independent(
    base: Sequence[float] | np.ndarray, other: Sequence[float] | np.ndarray, *, share: bool = False
) -> Comparison:
    """Compare two models by scores of shapes (n,) and (m,) that are not paired, such as the valid trials of DAT.

    P-value and interval are Welch's: the papers' standard deviations over trials differ by a factor of 3.5 (ACL, Table
    6), so that neither Student's t-test nor shuffling trials between the models would be about the means alone. Of a
    `share` they are so after adding one success and one failure to each side (Agresti and Caffo, 2000). The effect is
    Cohen's d_av.

    >>> result = compare_independent([1.5, 2.5, 3.5], [3.5, 4.5, 5.5])
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
    equal = bool(no_spread(a) and no_spread(b))
    if equal and not share:
        return Comparison(n, of, difference, reason="all scores on each side are equal")
    spread = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    if share:
        a, b = np.append(a, [0.0, 1.0]), np.append(b, [0.0, 1.0])
    elif reason := few_whole(a, b):
        return Comparison(n, of, difference, effect=difference / spread, reason=reason)
    low, high, p = welch(a, b)
    return Comparison(n, of, difference, low, high, None if equal else difference / spread, p)


def welch(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Welch's 95% interval of the mean of `b` minus that of `a`, shapes (n,) and (m,), and its two-sided p-value.

    Two values on each side, and not all equal on both, are needed.
    """
    from scipy.special import stdtr, stdtrit

    parts = [float(side.var(ddof=1)) / len(side) for side in (a, b)]
    error = math.sqrt(sum(parts))
    # Welch and Satterthwaite; of shares of the whole, since squares of tiny variances would be 0.
    freedom = 1 / sum((part / sum(parts)) ** 2 / (len(side) - 1) for part, side in zip(parts, (a, b), strict=True))
    mean = float(b.mean() - a.mean())
    margin = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean - margin, mean + margin, 2 * float(stdtr(freedom, -abs(mean) / error))
