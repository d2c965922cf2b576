"""How far the lists of one person agree, or two raters of the same things: ICC(2,1)."""

from collections.abc import Sequence

import numpy as np

from sozo.scoring.measure import LEVEL, Estimate


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
