"""The instruments as a reader sees them: numbers with their 95% intervals, and what a row has more than another."""

import math
from collections.abc import Mapping, Sequence

from sozo.scoring.measure import Measure, normal_interval
from sozo.scoring.table import Cell
from sozo.tasks.dat.instruments import DIVERSITY, FLEXIBILITY, LOOPHOLES, PARTS
from sozo.tasks.dat.summary import DatSummary

# How each is shown, and the mean that they are part of: decimals, or percent.
MEASURES = {
    "mean": Measure("mean"),
    **{name: Measure(name) for name in PARTS},
    **{name: Measure(name, 2) for name in FLEXIBILITY},
    **{name: Measure(name, 0) for name in DIVERSITY},
    **{name: Measure(name, share=True) for name in LOOPHOLES},
}


def measured(rows: Sequence[DatSummary]) -> list[str]:
    """Names of the instruments that any of some rows has."""
    return [name for name in MEASURES if any(name in row.instruments for row in rows)]


def cell(values: Mapping[str, float], name: str) -> Cell:
    """An instrument with its interval, if it has one; a dash where it was not measured.

    >>> cell({"pairing": 0.0074, "pairing_se": 0.0002}, "pairing").line
    '0.0074 [0.0070, 0.0078]'
    """
    if f"{name}_low" in values:
        return Cell(values.get(name), MEASURES[name], values[f"{name}_low"], values[f"{name}_high"])
    return _with_interval(values.get(name), values.get(f"{name}_se"), name)


def difference(values: Mapping[str, float], base: Mapping[str, float], name: str) -> tuple[float, float] | None:
    """How much a row has more of an instrument than another one, and its standard error; None without one.

    The lists of two rows are drawn apart, so that the jackknife's variances add up.
    """
    if not {name, f"{name}_se"} <= values.keys() & base.keys():
        return None
    return values[name] - base[name], math.hypot(values[f"{name}_se"], base[f"{name}_se"])


def difference_cell(values: Mapping[str, float], base: Mapping[str, float], name: str) -> Cell | None:
    """The same as a cell with its interval; None without one.

    >>> base, row = {"domains": 0.1, "domains_se": 0.03}, {"domains": 0.2, "domains_se": 0.04}
    >>> difference_cell(row, base, "domains").line
    '+0.10 [+0.00, +0.20]'
    """
    pair = difference(values, base, name)
    return None if pair is None else _with_interval(*pair, name, signed=True)


def _with_interval(value: float | None, error: float | None, name: str, *, signed: bool = False) -> Cell:
    low, high = normal_interval(value, error, 1) or (None, None)
    return Cell(value, MEASURES[name], low, high, signed=signed)
