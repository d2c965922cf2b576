"""How far the lists of one person agree, or two raters of the same things: Cronbach's alpha, ICC(2,1)."""

from collections.abc import Sequence

import numpy as np

from sozo.scoring.measure import LEVEL, Estimate


def cronbach_alpha(scores: Sequence[Sequence[float]] | np.ndarray) -> Estimate:
    """Alpha of finite scores of shape (persons, k lists): k / (k - 1) (1 - the lists' variances / that of their sums).

    At most 1, and below 0 where the lists of one person differ more than persons do. The interval is Feldt's (1965),
    for persons drawn from a normal distribution; k and persons must be at least 2 and 3.

    >>> result = cronbach_alpha([[1, 2], [2, 3], [3, 5], [4, 4]])
    >>> round(result.value, 4), round(result.low, 4), round(result.high, 4), result.n
    (0.8889, -0.7155, 0.9928, 4)
    """
    from scipy.special import fdtri

    matrix = np.asarray(scores, np.float64)
    n, k = matrix.shape
    if k < 2 or n < 3:
        return Estimate(
            n=n,
            reason="none from one list"
            if k < 2
            else "fewer than 3 persons with all lists",
        )
    total = matrix.sum(axis=1).var(ddof=1)
    if total <= 1e-12 * np.abs(matrix).max() ** 2:
        return Estimate(n=n, reason="the sums of all persons are equal")
    alpha = k / (k - 1) * float(1 - matrix.var(axis=0, ddof=1).sum() / total)
    tail = (1 - LEVEL) / 2
    low, high = (
        1 - (1 - alpha) * float(fdtri(n - 1, (n - 1) * (k - 1), share))
        for share in (1 - tail, tail)
    )
    return Estimate(alpha, low, high, n)


def icc(scores: Sequence[Sequence[float]] | np.ndarray) -> Estimate:
    """ICC(2,1) of finite scores of shape (persons, k times): absolute agreement of single scores (Shrout & Fleiss, 1979).

    The interval is McGraw and Wong's (1996), for persons and times drawn from normal distributions; k and persons must
    be at least 2 and 3.

    >>> result = icc([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    >>> round(result.value, 4), round(result.low, 4), round(result.high, 4), result.n
    (0.2898, 0.0188, 0.7611, 6)
    >>> icc([[1, 0], [0, 1], [1, 0], [0, 1]]).reason
    'one is the other turned around'
    """
    from scipy.special import fdtri

    matrix = np.asarray(scores, np.float64)
    n, k = matrix.shape
    if k < 2 or n < 3:
        return Estimate(n=n, reason="fewer than 3 persons with all lists")
    person, time = matrix.mean(axis=1, keepdims=True), matrix.mean(axis=0)
    freedom = (n - 1) * (k - 1)
    persons, times = k * float(person.var(ddof=1)), n * float(time.var(ddof=1))
    error = float(((matrix - person - time + matrix.mean()) ** 2).sum()) / freedom
    whole = persons + (k - 1) * error + k / n * (times - error)
    if whole <= 1e-12 * np.abs(matrix).max() ** 2:
        return Estimate(n=n, reason="all values are equal")
    value = (persons - error) / whole
    if error <= 1e-12 * np.abs(matrix).max() ** 2:
        return Estimate(value, n=n, reason="all persons change by the same")
    part = k * value / (n * (1 - value))
    parts = part * times, (1 + part * (n - 1)) * error
    if sum(parts) <= 1e-12 * error:  # of two times, each the other turned around
        return Estimate(value, n=n, reason="one is the other turned around")
    by = sum(parts) ** 2 / (parts[0] ** 2 / (k - 1) + parts[1] ** 2 / freedom)
    rest = k * times + (k * n - k - n) * error
    share = (1 + LEVEL) / 2
    above, below = float(fdtri(n - 1, by, share)), float(fdtri(by, n - 1, share))
    low = n * (persons - above * error) / (above * rest + n * persons)
    high = n * (below * persons - error) / (rest + n * below * persons)
    if not np.isfinite([low, high]).all():
        return Estimate(value, n=n, reason="persons do not differ at all")
    return Estimate(value, low, high, n)
