"""Rows of findings, and their states."""

from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings, first_measures


def rows_of(folder, second=None, base="base", model="model"):
    """The differences of the tasks' first measures and of those beside them, by name."""
    found = findings(find_evaluated([str(folder)]), base, second)
    names = {
        one.name for task in found.tasks.values() for one in first_measures(task)
    } | {"dat/gain_pairing"}
    rows = (row for row in found.rows if (row.model, row.base) == (model, base))
    return {row.measure.name: row for row in rows if row.measure.name in names}


def states(folder, second=None, base="base", model="model"):
    return {
        name: row.state for name, row in rows_of(folder, second, base, model).items()
    }
