"""The page's table of gains by the runs' own encoder, and by one that nobody trained on."""

from collections.abc import Sequence

from sozo.eval.compare import Compared
from sozo.eval.guarded import Guarded
from sozo.eval.report.tables import fold_rows
from sozo.scoring.guard import Gain, GainParts
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE
from sozo.scoring.table import Cell, Row, Table

_DEVIATIONS = Measure("deviations", 2)


def guard_tables(gains: Sequence[Guarded], compared: Compared) -> list[Table]:
    """A table for each task, with the seeds of a method in one row."""
    by_task: dict[str, list[Guarded]] = {}
    for row in gains:
        by_task.setdefault(row.task, []).append(row)
    tables = []
    for rows in by_task.values():
        shown = tuple(Row(row.model, (_cell(row.own), *_guard_cells(row.guard)), row.base) for row in rows)
        columns = ("model", "gain_own", rows[0].encoder, "gain_dealt", "gain_combination", "known_pairs")
        table = Table("guard", columns, shown, ("guard_note",))
        tables.append(fold_rows(table, compared))
    return tables


def _guard_cells(parts: GainParts | None) -> list[Cell]:
    if parts is None:
        return [Cell()] * 4
    return [*map(_cell, (parts.total, parts.dealt, parts.combination)), Cell(parts.known_pairs, SHARE)]


def _cell(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell()
    counts = (f"n = {gain.n:,}, {gain.base_n:,}",)
    more = {"n": gain.n, "base_n": gain.base_n}
    return Cell(gain.deviations, _DEVIATIONS, gain.low, gain.high, below=counts, signed=True, more=more)
