"""What printed numbers leave open: each may be off by half a unit of its last digit, and so what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

_MOST = 12  # 2 ** 12 corners for each of the two lists
_STARTS = 4


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it stands in a table.

    Attributes:
        value: The number.
        half: How far the number behind it may be off, on either side. At least 0; 0 for a number that is exact.
    """

    value: float
    half: float

    @classmethod
    def from_text(cls, text: str) -> Printed:
        """The number and half a unit of its last digit. Numbers without a decimal point are exact: counts.

        Raises:
            ValueError: The text is no plain decimal number.

        >>> Printed.from_text("0.530")
        Printed(value=0.53, half=0.0005)
        """
        _, point, decimals = text.partition(".")
        if point and not (decimals.isascii() and decimals.isdigit()):
            raise ValueError(f"{text!r} is no plain decimal number")
        return cls(float(text), float(f"0.5e-{len(decimals)}") if point else 0.0)

    @property
    def low(self) -> float:
        """The smallest number that prints so."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The largest number that prints so."""
        return self.value + self.half


def mean_of(cells: Sequence[Printed]) -> Printed:
    """Mean of some numbers, and how far it may be off: the mean of how far they may be, when all are off the same way.

    Raises:
        ValueError: There are none.

    >>> mean_of([Printed(4.10, 0.005), Printed(4.28, 0.005), Printed(2.73, 0.005), Printed(3.47, 0.005)])
    Printed(value=3.645, half=0.005)
    """
    if not cells:
        raise ValueError("there are no numbers to take the mean of")
    return Printed(
        sum(cell.value for cell in cells) / len(cells),
        sum(cell.half for cell in cells) / len(cells),
    )


def pearson_range(x: Sequence[Printed], y: Sequence[Printed]) -> tuple[float, float]:
    """The lowest and highest Pearson correlation of numbers that would be printed as these are.

    Every number moves within its rounding by itself. For fixed y, r is quasi-concave in x wherever it is positive (its
    upper level sets are cones), so where it stays positive its minimum is at a corner of the box; likewise the maximum
    where it stays negative. All corners are tried: that end is exact. The other end can lie inside; it is searched for
    by L-BFGS-B with the exact gradient, from the printed values and from the best corners. What is returned was
    attained, so a range can be too narrow by what the search missed, never too wide.

    Args:
        x: Shape (n,), 3 to 12 numbers.
        y: Shape (n,).

    Returns:
        Low and high, in [-1, 1]; (-1, 1) where rounding allows all numbers of x, or of y, to be equal.

    Raises:
        ValueError: The lengths differ, or n is not in 3..12.

    1, 2, 4 are exact; 1, 2, 3 may be off by 0.5. They can be 0.75, 1.5, 3, on a line; r is lowest at 1.5, 2.5, 2.5:

    >>> low, high = pearson_range([Printed(v, 0) for v in (1, 2, 4)], [Printed(v, 0.5) for v in (1, 2, 3)])
    >>> round(low, 4), round(high, 4)
    (0.7559, 1.0)
    """
    n = len(x)
    if len(y) != n or not 3 <= n <= _MOST:
        raise ValueError(
            f"two lists of 3 to {_MOST} numbers are needed, not of {n} and {len(y)}"
        )
    for cells in (x, y):
        if max(cell.low for cell in cells) <= min(cell.high for cell in cells):
            return -1.0, 1.0
    corners = np.array(list(product((-1.0, 1.0), repeat=n)))
    center, half = _columns(x, y, "value"), _columns(x, y, "half")
    at_corners = (
        _unit(center[0] + half[0] * corners) @ _unit(center[1] + half[1] * corners).T
    )
    ends = []
    for sign in (-1, 1):
        best = np.argpartition(-sign * at_corners, _STARTS, axis=None)[:_STARTS]
        starts = [
            np.concatenate([corners[i // len(corners)], corners[i % len(corners)]])
            for i in best.tolist()
        ]
        found = [
            _search(center, half, start, sign) for start in [np.zeros(2 * n), *starts]
        ]
        ends.append(
            sign
            * max([sign * float(value) for value in (*found, *at_corners.flat[best])])
        )
    return max(-1.0, ends[0]), min(1.0, ends[1])


def _search(
    center: np.ndarray, half: np.ndarray, start: np.ndarray, sign: int
) -> float:
    """The largest (sign 1) or smallest correlation near a start, which is in units of the halves."""
    from scipy import optimize

    n = center.shape[1]

    def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
        values = center + half * z.reshape(2, n)
        centred = values - values.mean(axis=1, keepdims=True)
        norms = np.sqrt((centred**2).sum(axis=1, keepdims=True))
        a, b = centred / norms
        r = float(a @ b)
        gradient = half * np.stack([b - r * a, a - r * b]) / norms
        return -sign * r, -sign * gradient.ravel()

    done: Any = optimize.minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-1, 1)] * (2 * n),
        options={"ftol": 1e-13, "gtol": 1e-9},
    )
    return -sign * float(done.fun)


def _columns(x: Sequence[Printed], y: Sequence[Printed], name: str) -> np.ndarray:
    return np.array(
        [[getattr(cell, name) for cell in cells] for cells in (x, y)], np.float64
    )


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows with mean 0 and length 1: their products are correlations."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)
