"""Intervals of means, over questions, stories or answers, and why values may say nothing."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sozo.scoring.measure import FEWEST, LEVEL, Estimate, t_test
from sozo.scoring.translatable import translatable

_FEWEST_WHOLE = 10  # of fewer scores from 1 to 5 Student's covers 92.7%, and of their differences 97.4%


def mean_interval(
    values: Sequence[float] | np.ndarray,
    *,
    share: bool = False,
    level: float = LEVEL,
    strata: Sequence[Any] | np.ndarray | None = None,
) -> Estimate:
    """Mean of scores, shape (n,), with its interval of a `level`: Student's, and of a `share` Clopper and Pearson's.

    Student's covers 93% to 97% where values are about normal, or bounded like a judge's (benchmarks/coverage.csv), as
    the bootstrap does not under 30. Whole numbers need ten; where most of them are the least one, ten cover 92%.
    Clopper and Pearson's covers at least 95% of values 0 and 1, and more of shares between, which spread less. Several
    answers to one question are not independent: give one value for each question, the mean over its answers. Unscored
    items are left out by the caller, who knows the N.

    `strata` names each value's kind, shape (n,), where kinds are fixed and not drawn, such as JCQ's seven tasks: their
    differences are no error of the mean (a stratum of one value has no spread: then they are left out of account).

    >>> interval = mean_interval([1.5, 2.5, 3.5])
    >>> interval.value, round(interval.high, 3)
    (2.5, 4.984)
    >>> mean_interval([1, 2, 5]).reason
    '3 whole scores: an interval needs 10'
    """
    scores, n = as_floats(values), len(values)
    if reason := not_finite(scores):
        return Estimate(n=n, level=level, reason=reason)
    if share and n >= FEWEST:
        from scipy.special import betaincinv

        successes, tail = float(scores.sum()), (1 - level) / 2
        least = (
            float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
        )
        most = (
            float(betaincinv(successes + 1, n - successes, 1 - tail))
            if successes < n
            else 1.0
        )
        return Estimate(float(scores.mean()), least, most, n, level=level)
    reason = few(n) or no_spread(scores) or few_whole(scores)
    if strata is None or reason:
        return student(scores, reason, level)
    kinds = [scores[np.asarray(strata) == kind] for kind in dict.fromkeys(strata)]
    parts = [
        len(own) * float(own.var(ddof=min(1, len(own) - 1))) / n**2 for own in kinds
    ]
    if min(map(len, kinds)) < 2 or not sum(parts):
        return student(scores, None, level)
    mean, freedom = float(scores.mean()), welch_freedom(parts, [*map(len, kinds)])
    low, high, p = t_test(mean, math.sqrt(sum(parts)), freedom, level)
    return Estimate(mean, low, high, n, level=level, p=p)


def student(values: np.ndarray, reason: str | None, level: float = LEVEL) -> Estimate:
    """Mean of finite values, shape (n,) with n above 0, with Student's interval unless there is a `reason` for none."""
    mean, n = float(values.mean()), len(values)
    if reason := reason or few(n):
        return Estimate(mean, n=n, level=level, reason=reason)
    low, high, p = t_test(mean, float(values.std(ddof=1)) / math.sqrt(n), n - 1, level)
    return Estimate(mean, low, high, n, level=level, p=p)


def welch_freedom(variances: Sequence[float], sizes: Sequence[int]) -> float:
    """Degrees of freedom (Welch, Satterthwaite) of a sum of squared standard errors, not all 0, of so many values."""
    # Of shares of the whole, since squares of tiny variances would be 0.
    total = math.fsum(variances)
    return 1 / math.fsum(
        (part / total) ** 2 / (n - 1) for part, n in zip(variances, sizes, strict=True)
    )


def not_finite(values: np.ndarray, name: str = "values") -> str | None:
    """The reason why not even a mean can be given; None if there is a mean."""
    if not len(values):
        return translatable("no {name}", name=translatable(name))
    broken = int((~np.isfinite(values)).sum())
    return (
        translatable(
            "{broken} of {n} {name} not finite",
            broken=broken,
            n=len(values),
            name=translatable(name),
        )
        if broken
        else None
    )


def few(n: int, name: str = "values") -> str | None:
    """The reason why so few values have no interval; None if they are not too few.

    >>> few(2), few(3)
    ('2 values: an interval needs 3', None)
    """
    if n >= FEWEST:
        return None
    if n == 1:
        return translatable("only one of {name}", name=translatable(name))
    return translatable(
        "{n} {name}: an interval needs {least}",
        n=n,
        name=translatable(name),
        least=FEWEST,
    )


def no_spread(values: np.ndarray, name: str = "values") -> str | None:
    """The reason why finite values have no spread to infer from; None if they have.

    >>> no_spread(np.array([0.1 + 0.2, 0.3])), no_spread(np.array([2.0]))
    ('all 2 values are equal', 'only one of values')
    """
    if len(values) == 1:
        return few(1, name)
    # Equal: they differ by no more than rounding errors of float64.
    equal = np.ptp(values) <= 1e-12 * np.abs(values).max()
    return (
        translatable("all {n} {name} are equal", n=len(values), name=translatable(name))
        if equal
        else None
    )


def few_whole(*sides: np.ndarray) -> str | None:
    """The reason why whole numbers, some on each side, are too few for an interval; None if they are not.

    >>> few_whole(np.array([1.0, 2.0])), few_whole(np.array([1.0, 2.5]))
    ('2 whole scores: an interval needs 10', None)
    """
    n = min(map(len, sides))
    if n >= _FEWEST_WHOLE or any((side != np.rint(side)).any() for side in sides):
        return None
    return translatable(
        "{n} whole scores: an interval needs {least}", n=n, least=_FEWEST_WHOLE
    )


def as_floats(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """A float64 vector; values of another shape than (n,) are a ValueError."""
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1:
        raise ValueError(
            f"values must be one list of numbers, not of shape {vector.shape}"
        )
    return vector
