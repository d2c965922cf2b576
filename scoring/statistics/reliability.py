"""How far several lists of a person agree: Cronbach's alpha over lists."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sozo.scoring.measure import LEVEL


@dataclass(frozen=True, slots=True)
class Consistency:
    """Cronbach's alpha; `reason` says why there is none."""

    alpha: float | None  # at most 1; less than 0 where lists of one person differ more than persons do
    low: float | None  # with `high` the 95% interval over persons
    high: float | None
    persons: int
    lists: int  # of each person
    reason: str | None = None


def cronbach_alpha(scores: Sequence[Sequence[float]] | np.ndarray) -> Consistency:
    """Alpha of scores of shape (persons, lists), all finite, k / (k - 1) (1 - sum of the lists' variances / variance of
    the sums), with Feldt's (1965) interval, which is for persons drawn from a normal distribution.

    >>> result = cronbach_alpha([[1, 2], [2, 3], [3, 5], [4, 4]])
    >>> round(result.alpha, 4), round(result.low, 2), round(result.high, 2)
    (0.8889, -0.72, 0.99)
    >>> cronbach_alpha([[1, 2], [2, 3]]).reason
    '2 persons with a score in every list: alpha needs 3'
    """
    from scipy.special import fdtri

    matrix = np.asarray(scores, np.float64)
    n, k = matrix.shape
    if n < 3 or k < 2:
        reason = "none from one list" if k < 2 else f"{n} persons with a score in every list: alpha needs 3"
        return Consistency(None, None, None, n, k, reason)
    total = float(matrix.sum(axis=1).var(ddof=1))
    if total <= 1e-12 * float(np.abs(matrix).max()) ** 2:
        return Consistency(None, None, None, n, k, "the persons' sums are equal")
    alpha = k / (k - 1) * (1 - float(matrix.var(axis=0, ddof=1).sum()) / total)
    low, high = (
        1 - (1 - alpha) * float(fdtri(n - 1, (n - 1) * (k - 1), tail)) for tail in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)
    )
    return Consistency(alpha, low, high, n, k)
