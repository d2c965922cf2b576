"""How far the lists of one person agree, or two raters of the same things: Cronbach's alpha, and the ICC of one."""

from collections.abc import Iterable, Sequence

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


def intraclass(one: Iterable[float | None], other: Iterable[float | None]) -> Estimate:
    """ICC(C,1) of two raters' scores of the same things, where both gave one, by alpha and with its interval.

    1 if they differ by a constant at most.

    >>> round(intraclass([1, 2, 3, None, 4], [2, 3, 5, 1, 4]).value, 4)
    0.8
    """
    both = [pair for pair in zip(one, other, strict=True) if None not in pair]
    alpha = cronbach_alpha(np.array(both, np.float64).reshape(-1, 2))
    value, low, high = (
        None if end is None else end / (2 - end)
        for end in (alpha.value, alpha.low, alpha.high)
    )
    return Estimate(value, low, high, alpha.n)
