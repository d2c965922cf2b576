"""The tables of a study's page: what readers see, with all digits behind it."""

from collections.abc import Sequence
from dataclasses import replace

from sozo.data.schema import Reason
from sozo.scoring.guard import Gain
from sozo.scoring.measure import DASH, Measure
from sozo.scoring.numbers import share
from sozo.scoring.table import Cell, Row, Table
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.table11 import Table11, Table11Row
from sozo.tasks.dat.view import summary_cells

HINTS = {
    "format": "not exactly ten lines “k. word”",
    "not_japanese": "a letter that is not Japanese",
    "symbol": "punctuation, emoji, control characters",
    "not_noun": "a word that is not a noun",
    "repeated_word": "a word comes twice",
    "no_vector": "a word the encoder does not know",
}
_PAPER_RESPONSES = 131_072  # in all, of each row
_DEVIATIONS = Measure("deviations", 2)


def table11_table(table: Table11) -> Table:
    """Each row beside the paper's figures, with unique words at equal sample size, gains and verdicts."""
    headings, rows = tuple[str, ...](), []
    for row in table.rows:
        cells = _cells(row, table)
        headings = ("Row", *cells)
        rows.append(Row(row.summary.source, tuple(cells.values())))
    return Table("Table 11", headings, tuple(rows))


def _cells(row: Table11Row, table: Table11) -> dict[str, Cell]:
    """The columns of a row by their headings."""
    paper = paper_figures(row)
    cells = {"Responses": Cell(row.summary.num_responses)}
    for name, cell in summary_cells(row.summary).items():
        cells[name] = replace(cell, paper=paper.get(name, ""))
    cells[f"Unique words in {table.equal_size:,} valid"] = Cell(row.equal_size_words)
    if table.guard:
        headings = ("Gain in own sd", f"Gain by {table.guard} in its sd")
        cells |= dict(zip(headings, map(_gain_cell, row.gains), strict=False))
    return cells | {heading: Cell(text) for heading, text in row.verdicts}


def _gain_cell(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell()
    return Cell(gain.deviations, _DEVIATIONS, gain.low, gain.high, n=gain.n, signed=True)


def paper_figures(row: Table11Row) -> dict[str, str]:
    """The paper's figures under the same headings; empty where it has none."""
    if (paper := row.published) is None:
        return {}
    valid = f"{paper.valid:,} ({share(paper.valid, _PAPER_RESPONSES)})"
    figures = {"Mean": f"{paper.mean:.3f}", "Std": f"{paper.std:.3f}", "Unique words": f"{paper.unique_words:,}"}
    return {"Valid": valid, **figures}


def scores_table(rows: Sequence[DatSummary]) -> Table:
    """Valid responses, mean with its interval, deviation, unique words."""
    headings = ("Source", *summary_cells(rows[0]))
    lines = [Row(row.source, tuple(summary_cells(row).values())) for row in rows]
    return Table("DAT scores", headings, tuple(lines))


def reasons_table(rows: Sequence[DatSummary]) -> Table:
    """How many responses are invalid for which reason."""
    reasons, lines = [str(reason) for reason in Reason], []
    for row in rows:
        cells = []
        for reason in reasons:
            count = row.reasons.get(reason, 0)
            # One that never came is pale, to let the others stand out.
            shown = Cell(count, below=(share(count, row.num_responses),)) if count else Cell(0, mark="zero")
            cells.append(shown)
        lines.append(Row(row.source, tuple(cells)))
    return Table("Why responses are invalid", ("Source", *reasons), tuple(lines))


def with_paper(table: Table) -> Table:
    """The table with the paper's figures in columns of their own, for Markdown."""
    columns, rows = list(table.columns), [list(row.cells) for row in table.rows]
    for k, label in enumerate(table.columns[1:]):
        if any(row.cells[k].paper for row in table.rows):
            columns.append(f"Paper: {label.lower()}")
            for cells, row in zip(rows, table.rows, strict=True):
                cells.append(Cell(row.cells[k].paper or DASH))
    shown = [replace(row, cells=tuple(cells)) for row, cells in zip(table.rows, rows, strict=True)]
    return replace(table, columns=tuple(columns), rows=tuple(shown))
