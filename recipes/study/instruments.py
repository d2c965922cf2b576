"""Table 11's second half: what a row's mean is made of, how its words are chosen, and how it differs from the base."""

import math
from collections.abc import Mapping
from dataclasses import replace

from sozo.scoring.table import Row, Table
from sozo.tasks.dat.instrument_cells import cell, difference, difference_cell, measured
from sozo.tasks.dat.instruments import DIVERSITY
from sozo.tasks.dat.table11 import Table11, Table11Row
from sozo.tasks.dat.view import DatView


def instrument_table(table: Table11) -> Table:
    """Of each row its instruments: the number, and what the row has more than `base`; without rows if there are none.

    Perplexity and inverse Simpson are at equal sample size.
    """
    labels, base, names = DatView().labels(), _base(table), measured([row.summary for row in table.rows])
    columns = {}
    for name in ("mean", *names):
        size = f" in {table.equal_size:,} valid" if name in DIVERSITY else ""
        columns[name] = (labels[name][0] if name in labels else "Mean") + size
    rows = []
    for row in table.rows if names else ():
        own, cells = _values(row), []
        for name in columns:
            change = difference_cell(own, base, name) if own != base else None
            cells.append(replace(cell(own, name), change=change))
        rows.append(Row(row.summary.source, tuple(cells)))
    title = "What the mean is made of, and how the words are chosen"
    return Table(title, ("Row", *columns.values()), tuple(rows))


def explanations(table: Table11) -> list[str]:
    """A sentence on each instrument of the table."""
    labels = DatView().labels()
    texts = [labels[f"{name}_says"][0] for name in measured([row.summary for row in table.rows])]
    return [*texts, labels["instruments_says"][0]] if texts else []


def differences(row: Table11Row, table: Table11) -> dict[str, tuple[float, float]]:
    """What a row has more than the row `base`, with standard errors, by the instruments' names."""
    own, base = _values(row), _base(table)
    found = {name: difference(own, base, name) for name in ("mean", *measured([row.summary])) if own != base}
    return {name: pair for name, pair in found.items() if pair is not None}


def _base(table: Table11) -> Mapping[str, float]:
    return next((_values(row) for row in table.rows if row.summary.source == "base"), {})


def _values(row: Table11Row) -> dict[str, float]:
    summary, values = row.summary, dict(row.summary.instruments)
    if summary.mean is not None and summary.std is not None:
        values |= {"mean": summary.mean, "mean_se": summary.std / math.sqrt(summary.valid)}
    return values | ({name: getattr(row.hill, name) for name in DIVERSITY} if row.hill else {})
