"""P-values of many cells, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values of a table's cells, corrected for their number (Holm, 1979).

    In at most 5% of tables some cell with nothing behind it comes out below 0.05. The smallest is multiplied by the
    number of tests m, the next by m - 1, and so on; none may fall below one before it, nor exceed 1. Bonferroni's finds
    less; both hold for cells that depend on each other. A cell with no p-value (None) was
    no test: it stays None and is not counted.

    Raises:
        ValueError: A p-value is not in 0..1.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tests = [(p, i) for i, p in enumerate(p_values) if p is not None]
    for p, _ in tests:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value must be in 0..1, not {p}")
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, i) in enumerate(sorted(tests)):
        largest = max(largest, min(1.0, p * (len(tests) - rank)))
        corrected[i] = largest
    return corrected
