"""Why values say nothing: the reasons that stand where a number would mislead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def not_finite(values: np.ndarray, name: str = "values") -> str | None:
    """The reason why not even a mean can be given; None if there is a mean.

    >>> not_finite(np.array([1.0, float("nan")]))
    '1 of 2 values not finite'
    """
    if not len(values):
        return f"no {name}"
    broken = int((~np.isfinite(values)).sum())
    return f"{broken} of {len(values)} {name} not finite" if broken else None


def no_spread(values: np.ndarray, name: str = "values") -> str | None:
    """The reason why finite values have no spread to infer from; None if they have.

    Values are equal when they differ by no more than rounding errors of float64 (1e-12 of the largest).

    >>> no_spread(np.array([0.1 + 0.2, 0.3])), no_spread(np.array([2.0]))
    ('all 2 values are equal', 'only one of values')
    """
    if len(values) == 1:
        return f"only one of {name}"
    largest = np.abs(values).max()
    return f"all {len(values)} {name} are equal" if np.ptp(values) <= 1e-12 * largest else None


def as_floats(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """A float64 vector; values of another shape than (n,) are a ValueError."""
    vector = np.asarray(values, np.float64)
    if vector.ndim != 1:
        raise ValueError(f"values must be one list of numbers, not of shape {vector.shape}")
    return vector
