"""Is one model better than another? Difference, interval, effect size and p-value, with and without common items."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.scoring.measure import LEVEL, t_test
from sozo.scoring.statistics.means import as_floats, few_whole, mean_interval, no_spread, not_finite, welch_freedom
from sozo.scoring.translatable import translatable


@dataclass(frozen=True, slots=True)
class Comparison:
    """A model's scores against the base's; `reason` says why something is None."""

    n: int = 0  # items that both have a score for; without pairs, the smaller number of scores
    of: int = 0  # items that one of them has at all; without pairs, the larger number
    difference: float | None = None  # mean of the model minus mean of the base
    low: float | None = None  # with `high` the difference's interval, Student's or Welch's
    high: float | None = None
    effect: float | None = None  # Cohen's d
    p: float | None = None  # two-sided, by the test that made the interval: below 1 - level where that leaves out 0
    reason: str | None = None

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0) - int(self.high < 0)


def compare_paired(
    base: Mapping[Any, float | None],
    other: Mapping[Any, float | None],
    *,
    share: bool = False,
    level: float = LEVEL,
    strata: Mapping[Any, str] | None = None,
) -> Comparison:
    """Compare two models on the questions or stories that both answered; items that one of them lacks are left out.

    Both are item -> score (None without one), the mean of several answers to one question. Interval and p-value are
    `mean_interval`'s of the differences, `strata` the items' kinds, where these are fixed; of a `share` they are
    Student's after adding one difference of +1 and one of -1 (Bonett and Price, 2012).
    The effect is Cohen's d_z, the mean difference in standard deviations (ddof = 1) of the differences, usually larger
    than Cohen's d of two groups: what makes items easy or hard for both models drops out.

    >>> result = compare_paired({"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 1.5, "b": 2, "c": 2.5, "d": None})
    >>> result.difference, result.effect, round(result.p, 3), result.n, result.of
    (1.0, 2.0, 0.074, 3, 4)
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
        return Comparison(
            n, of, mean, reason=translatable("all {n} {name} are equal", n=n, name=translatable("differences"))
        )
    if (equal := no_spread(differences, "common items")) and (n == 1 or not share):
        return Comparison(n, of, mean, reason=equal)
    d_z = None if equal else mean / float(differences.std(ddof=1))
    if share:
        more = np.append(differences, [1.0, -1.0])
        low, high, p = t_test(float(more.mean()), float(more.std(ddof=1)) / math.sqrt(n + 2), n + 1, level)
        return Comparison(n, of, mean, max(low, -1.0), min(high, 1.0), d_z, p)
    kinds = [strata[item] for item in shared] if strata else None
    found = mean_interval(differences, level=level, strata=kinds)
    return Comparison(n, of, mean, found.low, found.high, d_z, found.p, found.reason)


def compare_independent(
    base: Sequence[float] | np.ndarray,
    other: Sequence[float] | np.ndarray,
    *,
    share: bool = False,
    level: float = LEVEL,
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
    low, high, p = welch(a, b, level)
    if share:
        low, high = max(low, -1.0), min(high, 1.0)
    return Comparison(n, of, difference, low, high, None if equal else difference / spread, p)


def welch(a: np.ndarray, b: np.ndarray, level: float = LEVEL) -> tuple[float, float, float]:
    """Welch's interval of the mean of `b` minus that of `a`, shapes (n,) and (m,), and its two-sided p-value.

    Two values on each side, and not all equal on both, are needed.
    """
    parts = [float(side.var(ddof=1)) / len(side) for side in (a, b)]
    freedom = welch_freedom(parts, (len(a), len(b)))
    return t_test(float(b.mean() - a.mean()), math.sqrt(sum(parts)), freedom, level)


def base_variance(base: Sequence[float] | np.ndarray, *, share: bool = False) -> float:
    """The squared standard error of the mean of a base's scores, shape (n,), as `compare_independent` reckons it.

    >>> round(base_variance([1.5, 2.5, 3.5]), 3), round(base_variance([1, 1, 1], share=True), 3)
    (0.333, 0.04)
    """
    values = as_floats(base)
    if share:
        values = np.append(values, [0.0, 1.0])
    return float(values.var(ddof=1)) / len(values)


def shared_by_item(
    pairs: Sequence[tuple[Mapping[Any, float | None], Mapping[Any, float | None]]],
    *,
    share: bool = False,
    strata: Mapping[Any, str] | None = None,
) -> tuple[float, int]:
    """The variance that mean differences share, each of a base and a model, and on how many items it rests.

    It is their mean covariance over items: what the only run of a base wrote to each, and which items are easier for
    all of the models than for the base. `strata` are as in `compare_paired`, and `share`, which is for one run of a
    base: it may have failed at none by chance. Items that one of them lacks are left out. 0 where fewer than two items
    or pairs show none.

    >>> base = {"a": 0, "b": 2, "c": 1}
    >>> shared_by_item([(base, {"a": 1, "b": 1, "c": 1}), (base, {"a": 3, "b": 3, "c": 3})])
    (0.3333333333333333, 3)
    """
    by_item = [_gaps(*pair) for pair in pairs]
    items = [item for item in by_item[0] if all(item in gaps for gaps in by_item)]
    n, models = len(items), len(pairs)
    if n < 2 or models < 2:
        return 0.0, n
    gaps = np.array([[own[item] for item in items] for own in by_item], np.float64)
    kinds = np.array([strata[item] if strata and not share else "" for item in items])
    if share:
        gaps, kinds = np.hstack([gaps, np.tile([1.0, -1.0], (models, 1))]), np.append(kinds, ["", ""])
    parts = [gaps[:, kinds == kind] for kind in dict.fromkeys(kinds.tolist())]
    if min(part.shape[1] for part in parts) < 2:
        parts = [gaps]
    covariance = sum(part.shape[1] * np.cov(part) for part in parts) / gaps.shape[1] ** 2
    return max(0.0, float(covariance.sum() - covariance.trace()) / (models * (models - 1))), n


def _gaps(base: Mapping[Any, float | None], other: Mapping[Any, float | None]) -> dict[Any, float]:
    both = {item: (score, other.get(item)) for item, score in base.items()}
    return {item: b - a for item, (a, b) in both.items() if a is not None and b is not None}
