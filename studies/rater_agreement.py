"""Krippendorff's alpha: how far raters agree beyond chance, at any level of measurement and with scores missing.

Krippendorff, *Computing Krippendorff's alpha-reliability* (2011): 1 is full agreement, 0 what scores dealt at random
would have, less than 0 systematic disagreement.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sozo.scoring.measure import LEVEL

LEVELS = ("nominal", "ordinal", "interval", "ratio")
# With fewer units, or a score that makes up more of all, the interval covers less than 92%.
FEWEST_UNITS, MOST_FREQUENT = 10, 0.7
MOST_SCORES = 50  # on a scale: pairs of scores are counted unit by unit
_NO_ERROR = "next to no disagreement, or the same in all: no interval"


@dataclass(frozen=True, slots=True)
class Alpha:
    """Agreement of raters; `reason` says why something is None."""

    alpha: float | None  # at most 1
    low: float | None  # with `high` the 95% interval over units
    high: float | None
    units: int  # with two scores or more
    scores: int  # of these units: what can be paired
    raters: int  # who gave them
    reason: str | None = None


def krippendorff_alpha(
    scores: Sequence[Sequence[float]] | np.ndarray,
    level: str = "ordinal",
    least: int = 1,
) -> Alpha:
    """Alpha of scores of shape (raters, units), NaN where a rater gave none, with a 95% interval over units.

    Units are draws, raters are not: the interval is for these raters and other units. It is Student's over the
    jackknife of Fisher's z for the k scores that a unit has on average, log((1 + (k - 1) alpha) / (1 - alpha)), and
    covers 92% to 99% where it is given, from ten units on (benchmarks/coverage.csv). With fewer than
    `least` units there is no alpha.

    >>> result = krippendorff_alpha([[1, 2, 3], [2, 2, 4]])
    >>> round(result.alpha, 4), result.units, result.reason
    (0.7312, 3, '3 units: an interval needs 10')
    >>> krippendorff_alpha([[1, 1], [1, 1]]).reason
    'all 4 scores are equal'
    """
    matrix = np.asarray(scores, np.float64)
    known = ~np.isnan(matrix)
    paired = known.sum(axis=0) >= 2
    matrix, known = matrix[:, paired], known[:, paired]
    units, n = int(paired.sum()), int(known.sum())
    result = Alpha(None, None, None, units, n, raters=int(known.any(axis=1).sum()))
    if not units or units < least:
        subject = {0: "no unit has", 1: "1 unit has"}.get(units, f"{units} units have")
        needed = f": alpha needs {least}" if least > 1 else ""
        return replace(result, reason=f"{subject} two scores or more{needed}")
    values = np.unique(matrix[known])
    if len(values) == 1:
        return replace(result, reason=f"all {n} scores are equal")
    if len(values) > MOST_SCORES:
        return replace(result, reason=f"{len(values)} different scores: round them")
    by_unit = coincidences(matrix, values)
    total = by_unit.sum(axis=0)
    alpha = 1 - float(disagreement(total[None], values, level)[0])
    frequent = float(total.sum(axis=1).max() / total.sum())
    low = high = reason = None
    if units < FEWEST_UNITS:
        reason = f"{units} units: an interval needs {FEWEST_UNITS}"
    elif frequent > MOST_FREQUENT:
        reason = f"one score makes up {frequent:.0%} of all: an interval needs {MOST_FREQUENT:.0%} at most"
    else:
        low, high = jackknife_interval(
            alpha, 1 - disagreement(total - by_unit, values, level), n / units
        )
        reason = None if low is not None else _NO_ERROR
    return replace(result, alpha=alpha, low=low, high=high, reason=reason)


def coincidences(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Each unit's pairs of values, float64 of shape (units, values, values); a unit's sum is its number of scores.

    `scores` are of shape (raters, units), two or more in each unit, of the sorted `values`.
    """
    counts = (scores[:, :, None] == values).sum(axis=0).astype(np.float64)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, range(len(values)), range(len(values))] -= counts
    return pairs / (counts.sum(axis=1) - 1)[:, None, None]


def disagreement(pairs: np.ndarray, values: np.ndarray, level: str) -> np.ndarray:
    """1 - alpha of sums of coincidences, shape (sums, values, values): of each one; NaN where its values are all equal.

    For many samples of units the sums are one matrix product: numbers of draws times `coincidences`.
    """
    counts = pairs.sum(axis=2)
    n = counts.sum(axis=1)
    if level == "nominal":
        distance = np.broadcast_to(1 - np.eye(len(values)), pairs.shape)
    elif level == "ratio":
        sums = np.abs(values[:, None] + values)
        distance = (np.subtract.outer(values, values) / np.where(sums, sums, 1)) ** 2
    else:
        # Ordinal: the distance is the number of scores between two values, half of their own: that of their mid-ranks.
        places = (
            counts.cumsum(axis=1) - counts / 2
            if level == "ordinal"
            else np.broadcast_to(values, counts.shape)
        )
        distance = (places[:, :, None] - places[:, None, :]) ** 2
    observed = (pairs * distance).sum(axis=(1, 2))
    by_chance = (counts[:, :, None] * counts[:, None, :] * distance).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(by_chance > 0, (n - 1) * observed / by_chance, np.nan)


def jackknife_interval(
    alpha: float, without: np.ndarray, k: float
) -> tuple[float, float] | tuple[None, None]:
    """Ends of alpha's 95% interval from alpha without each draw in turn, shape (draws,), with `k` scores in a unit.

    A draw is a unit, or all units of an expert where experts are drawn too. (None, None) where alpha is 1, or
    nearly, or the same without any draw.
    """
    if (
        not (((1 + (k - 1) * without) > 0) & (without < 1)).all()
        or not -1 / (k - 1) < alpha < 1
        or np.ptp(without) < 1e-12
    ):
        return None, None
    from scipy.special import stdtrit

    units = len(without)
    z = np.log((1 + (k - 1) * without) / (1 - without))
    error = math.sqrt((units - 1) / units * float(((z - z.mean()) ** 2).sum()))
    margin = float(stdtrit(units - 1, (1 + LEVEL) / 2)) * error
    middle = math.log((1 + (k - 1) * alpha) / (1 - alpha))
    low, high = (
        (math.exp(end) - 1) / (math.exp(end) + k - 1)
        for end in (middle - margin, middle + margin)
    )
    return low, high
