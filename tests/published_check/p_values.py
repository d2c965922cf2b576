"""The p-value of a printed correlation."""

import math


def p_value(r, n):
    """Two-sided p-value of a correlation of n pairs, from r alone: t = r sqrt((n - 2) / (1 - r^2)) with n - 2 degrees.

    Raises:
        ValueError: r is not in -1..1, or there are fewer than 3 pairs.

    >>> round(p_value(0.933, 5), 3)
    0.021
    """
    if not -1 <= r <= 1 or n < 3:
        raise ValueError(f"r must be in -1..1 and n at least 3, not {r} and {n}")
    from scipy import stats

    if abs(r) == 1:
        return 0.0
    return float(2 * stats.t.sf(abs(r) * math.sqrt((n - 2) / (1 - r * r)), n - 2))
