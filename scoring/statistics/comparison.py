"""Is one model better than another? Difference, interval, p-value and effect size, with and without common items."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sozo.scoring.measure import LEVEL, Estimate, t_test
from sozo.scoring.statistics.means import (
    as_floats,
    few,
    few_whole,
    mean_interval,
    no_spread,
    not_finite,
    welch_freedom,
)
from sozo.scoring.translatable import translatable

# Item -> score (None without one), the mean of several answers to one question
ByItem = Mapping[Any, float | None]


def compare_paired(
    base: ByItem,
    other: ByItem,
    *,
    share: bool = False,
    level: float = LEVEL,
    strata: Mapping[Any, str] | None = None,
) -> Estimate:
    """The mean difference of two models on the questions or stories that both answered; `n` counts these.

    Interval and p-value are `mean_interval`'s of the differences, `strata` the items' kinds, where these are fixed; of
    a `share` they are Student's after adding one difference of +1 and one of -1 (Bonett and Price, 2012).

    >>> result = compare_paired({"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 1.5, "b": 2, "c": 2.5, "d": None})
    >>> result.value, round(result.p, 3), result.n
    (1.0, 0.074, 3)
    """
    pairs, shared = _pairs(base, other)
    n, differences = len(pairs), pairs[:, 1] - pairs[:, 0]
    if reason := not_finite(differences, "differences" if n else "common items"):
        return Estimate(n=n, level=level, reason=reason)
    mean = float(differences.mean())
    if reason := few(n, "common items") or (None if share else _all_equal(pairs)):
        return Estimate(mean, n=n, level=level, reason=reason)
    if share:
        more = np.append(differences, [1.0, -1.0])
        low, high, p = t_test(
            float(more.mean()), float(more.std(ddof=1)) / math.sqrt(n + 2), n + 1, level
        )
        return Estimate(mean, max(low, -1.0), min(high, 1.0), n, level=level, p=p)
    kinds = [strata[item] for item in shared] if strata else None
    return mean_interval(differences, level=level, strata=kinds)


def effect_paired(base: ByItem, other: ByItem) -> float | None:
    """Cohen's d_z: the mean difference in standard deviations (ddof = 1) of the differences; None without spread.

    It is usually larger than Cohen's d of two groups: what makes items easy or hard for both models drops out.

    >>> effect_paired({"a": 1, "b": 1, "c": 1}, {"a": 1.5, "b": 2, "c": 2.5})
    2.0
    """
    pairs, _ = _pairs(base, other)
    differences = pairs[:, 1] - pairs[:, 0]
    if not_finite(differences) or _all_equal(pairs) or no_spread(differences):
        return None
    return float(differences.mean()) / float(differences.std(ddof=1))


def compare_independent(
    base: Sequence[float] | np.ndarray,
    other: Sequence[float] | np.ndarray,
    *,
    share: bool = False,
    level: float = LEVEL,
) -> Estimate:
    """The difference of two models' mean scores, shapes (base_n,) and (n,), not paired, such as DAT's usable trials.

    P-value and interval are Welch's: the papers' standard deviations over trials differ by a factor of 3.5 (ACL, Table
    6), so that neither Student's t-test nor shuffling trials between the models would be about the means alone. Of a
    `share` they are so after adding one success and one failure to each side (Agresti and Caffo, 2000).

    >>> result = compare_independent([1.5, 2.5, 3.5], [3.5, 4.5, 5.5])
    >>> result.value, round(result.p, 4)
    (2.0, 0.0705)
    """
    a, b = as_floats(base), as_floats(other)
    unknown = Estimate(n=len(b), base_n=len(a), level=level)
    if reason := not_finite(a, "scores of the base") or not_finite(
        b, "scores of the other"
    ):
        return replace(unknown, reason=reason)
    difference = float(b.mean() - a.mean())
    if share:
        reason = few(min(len(a), len(b)))
        a, b = np.append(a, [0.0, 1.0]), np.append(b, [0.0, 1.0])
    else:
        apart = (
            translatable("all scores on each side are equal")
            if no_spread(a) and no_spread(b)
            else None
        )
        reason = few(min(len(a), len(b))) or apart or few_whole(a, b)
    if reason:
        return replace(unknown, value=difference, reason=reason)
    low, high, p = welch(a, b, level)
    if share:
        low, high = max(low, -1.0), min(high, 1.0)
    return replace(unknown, value=difference, low=low, high=high, p=p)


def effect_independent(
    base: Sequence[float] | np.ndarray, other: Sequence[float] | np.ndarray
) -> float | None:
    """Cohen's d_av: the difference in the root of the mean of both sides' variances; None without spread.

    >>> effect_independent([1.5, 2.5, 3.5], [3.5, 4.5, 5.5])
    2.0
    """
    a, b = as_floats(base), as_floats(other)
    if (
        min(len(a), len(b)) < 2
        or not_finite(a)
        or not_finite(b)
        or (no_spread(a) and no_spread(b))
    ):
        return None
    return float(b.mean() - a.mean()) / float(
        np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    )


def welch(
    a: np.ndarray, b: np.ndarray, level: float = LEVEL
) -> tuple[float, float, float]:
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
    pairs: Sequence[tuple[ByItem, ByItem]],
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
        gaps = np.hstack([gaps, np.tile([1.0, -1.0], (models, 1))])
        kinds = np.append(kinds, ["", ""])
    parts = [gaps[:, kinds == kind] for kind in dict.fromkeys(kinds.tolist())]
    if min(part.shape[1] for part in parts) < 2:
        parts = [gaps]
    covariance = (
        sum(part.shape[1] * np.cov(part) for part in parts) / gaps.shape[1] ** 2
    )
    return max(
        0.0, float(covariance.sum() - covariance.trace()) / (models * (models - 1))
    ), n


def _gaps(base: ByItem, other: ByItem) -> dict[Any, float]:
    pairs, shared = _pairs(base, other)
    return dict(zip(shared, (pairs[:, 1] - pairs[:, 0]).tolist(), strict=True))


def _pairs(base: ByItem, other: ByItem) -> tuple[np.ndarray, list[Any]]:
    """Scores of the base and of the other, shape (n, 2), of the n items that both have; and these."""
    shared = [
        item
        for item, score in base.items()
        if score is not None and other.get(item) is not None
    ]
    return np.array([(base[item], other[item]) for item in shared], np.float64).reshape(
        -1, 2
    ), shared


def _all_equal(pairs: np.ndarray) -> str | None:
    # As in `no_spread`, but equal on the scale of the scores: 3.1 - 3.0 equals 2.1 - 2.0.
    n, differences = len(pairs), pairs[:, 1] - pairs[:, 0]
    if n > 1 and np.ptp(differences) <= 1e-12 * np.abs(pairs).max():
        return translatable(
            "all {n} {name} are equal", n=n, name=translatable("differences")
        )
    return None
