"""Correlations that cannot be recomputed are not free either: they are with printed columns over the same models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from published_check.rounding import Printed


def least_explained(
    correlations: Sequence[Printed], columns: Sequence[Sequence[Printed]]
) -> float:
    """The least share of a column's variance that some printed columns explain, given its correlations with them.

    A column nobody printed, with correlations c with known columns whose own correlations are R, has c' R^-1 c of its
    variance explained by them. A share above 1 is impossible: then no column has these correlations. The share is
    minimised over the rounding of everything (L-BFGS-B from the printed values), so that a minimum above 1 speaks of a
    contradiction, and one of at most 1 proves that there is none.

    Args:
        correlations: c, one for each column.
        columns: The known columns, k of them, each of shape (n,), n > k.

    Returns:
        The least share found, at least 0.

    r = 0.8 with a column and -0.8 with one that is nearly its twin cannot be; 0.8 and 0.8 can:

    >>> twins = [[Printed(v, 0) for v in (1, 2, 3, 4)], [Printed(v, 0) for v in (1, 2, 3, 5)]]
    >>> round(least_explained([Printed(0.8, 0), Printed(-0.8, 0)], twins), 2)
    74.02
    >>> round(least_explained([Printed(0.8, 0), Printed(0.8, 0)], twins), 2)
    0.65
    """
    from scipy import optimize

    values = np.array([[cell.value for cell in column] for column in columns])
    halves = np.array([[cell.half for cell in column] for column in columns])
    c = np.array([cell.value for cell in correlations])
    c_halves = np.array([cell.half for cell in correlations])

    def share(z: np.ndarray) -> float:
        moved = values + halves * z[: values.size].reshape(values.shape)
        centred = moved - moved.mean(axis=1, keepdims=True)
        unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
        known = c + c_halves * z[values.size :]
        return float(known @ np.linalg.solve(unit @ unit.T, known))

    start = np.zeros(values.size + len(c))
    done: Any = optimize.minimize(
        share, start, method="L-BFGS-B", bounds=[(-1, 1)] * len(start)
    )
    return max(0.0, min(share(start), float(done.fun)))
