"""Shares: Wilson's interval, alone and of grouped answers, McNemar's test; Holm's correction of p-values."""

import math
from collections.abc import Sequence

from sozo.scoring.measure import FEWEST, Z95, Estimate
from sozo.scoring.statistics.means import few
from sozo.scoring.translatable import translatable


def wilson(successes: float, n: float) -> tuple[float, float]:
    """Wilson's 95% interval of a share; `n` must be above 0. Neither has to be whole.

    >>> [round(end, 3) for end in wilson(21, 39)]
    [0.386, 0.684]
    """
    share, square = successes / n, Z95**2 / n
    centre = share + square / 2
    half = Z95 * math.sqrt(share * (1 - share) / n + square / (4 * n))
    # Exactly 0 and 1 at the ends, whatever rounding makes of them.
    low = (centre - half) / (1 + square) if successes > 0 else 0.0
    return low, (centre + half) / (1 + square) if successes < n else 1.0


def grouped_share(groups: Sequence[tuple[int, int]]) -> Estimate:
    """The share of all successes, where answers of one group (of one premise) are not independent.

    `groups` are (successes, answers) with one answer or more. The interval is Wilson's for as many independent answers
    as have the variance that the groups show, never more than there are; for as many as there are groups where all
    answers are alike, which shows no variance.

    >>> share = grouped_share([(2, 2), (0, 2), (2, 2), (0, 2)])
    >>> (share.value, share.n), (share.low, share.high) == wilson(1.5, 3)
    ((0.5, 8), True)
    """
    k, n = sum(group[0] for group in groups), sum(group[1] for group in groups)
    if not n:
        return Estimate(reason=translatable("no {name}", name=translatable("answers")))
    share, independent = k / n, float(n)
    if n < FEWEST:
        return Estimate(share, n=n, reason=few(n))
    if k in (0, n):
        independent = len(groups)
    elif len(groups) > 1:
        squares = math.fsum(
            (successes - share * answers) ** 2 for successes, answers in groups
        )
        variance = len(groups) / (len(groups) - 1) * squares / n**2
        independent = (
            min(independent, share * (1 - share) / variance)
            if variance
            else independent
        )
    return Estimate(share, *wilson(share * independent, independent), n)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value of McNemar's test, from the pairs in which just one of the two holds.

    >>> mcnemar(0, 6), mcnemar(3, 3)
    (0.03125, 1.0)
    """
    n, fewer = only_first + only_second, min(only_first, only_second)
    return float(min(1, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values of a table's cells, corrected for their number (Holm, 1979); one that is not in 0..1 is a ValueError.

    In at most 5% of tables some cell with nothing behind it comes out below 0.05, even if cells depend on each other;
    Bonferroni's correction would find less. A cell with no p-value (None) was no test: it is not counted.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tests = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(tests):
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value must be in 0..1, not {p}")
        largest = max(largest, min(1.0, p * (len(tests) - rank)))
        corrected[i] = largest
    return corrected
