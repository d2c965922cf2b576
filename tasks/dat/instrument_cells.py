"""The instruments as a reader sees them: numbers with their 95% intervals, and what a row has more than another."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sozo.scoring.measure import Cell, Ends, Measure, count_cell, mean_cell, normal_interval
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

    >>> cell({"combination": 0.0074, "combination_se": 0.0002}, "combination").small
    ('0.0070 – 0.0078',)
    """
    value, digits = values.get(name), MEASURES[name].digits
    if value is not None and name in DIVERSITY:
        return count_cell(value)
    exact = normal_interval(value, values.get(f"{name}_se"), 1)
    shown = mean_cell(value if value is None else round(value, digits) + 0.0, MEASURES[name], _rounded(exact, digits))
    return replace(shown, exact=mean_cell(value, MEASURES[name], exact).exact)


def instrument_text(values: Mapping[str, float], name: str) -> str:
    """The same in one line."""
    shown = cell(values, name)
    return shown.value + "".join(f" ({ends})" for ends in shown.small)


def difference(values: Mapping[str, float], base: Mapping[str, float], name: str) -> tuple[float, float] | None:
    """How much a row has more of an instrument than another one, and its standard error; None without one.

    The lists of two rows are drawn apart, so that the jackknife's variances add up.
    """
    if not {name, f"{name}_se"} <= values.keys() & base.keys():
        return None
    return values[name] - base[name], math.hypot(values[f"{name}_se"], base[f"{name}_se"])


def difference_text(values: Mapping[str, float], base: Mapping[str, float], name: str) -> str:
    """The same with its interval, for people; nothing without one.

    >>> base, row = {"domains": 0.1, "domains_se": 0.03}, {"domains": 0.2, "domains_se": 0.04}
    >>> difference_text(row, base, "domains")
    '+0.10 (0.00 – 0.20)'
    """
    if (found := difference(values, base, name)) is None:
        return ""
    digits = MEASURES[name].digits
    low, high = _rounded(normal_interval(*found, 1), digits) or (0.0, 0.0)
    return f"{round(found[0], digits) + 0.0:+.{digits}f} ({low:.{digits}f} – {high:.{digits}f})"


def _rounded(ends: tuple[float, float] | None, digits: int) -> Ends | None:
    # Adding 0 makes 0 of -0.
    return ends and (round(ends[0], digits) + 0.0, round(ends[1], digits) + 0.0)
