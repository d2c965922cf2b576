"""The tables of a study's page: what readers see, with all digits behind it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sozo.data.schema import Reason
from sozo.eval.report.page_table import PageTable
from sozo.scoring.measure import Cell, count_cell, known, percent
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.table11 import Table11Row
from sozo.tasks.dat.view import summary_cells

HINTS = {
    "format": "not exactly ten lines “k. word”",
    "not_japanese": "a letter that is not Japanese",
    "symbol": "punctuation, emoji, control characters",
    "not_noun": "a word that is not a noun",
    "repeated_word": "a word comes twice",
    "no_vector": "a word the encoder does not know",
}


def table11_table(
    rows: Sequence[tuple[Table11Row, Mapping[str, str], Mapping[str, str]]], equal_size: str, gains: Sequence[str]
) -> PageTable:
    """Each row with its texts and the paper's figures by their headings, of which `equal_size` and `gains` vary."""
    lines = []
    for row, texts, paper in rows:
        exact: dict[str, Any] = _exact(row.summary) | {equal_size: known(value=row.equal_size_words)}
        for heading, gain in zip(gains, row.gains, strict=False):
            exact[heading] = known(value=gain.deviations, low=gain.low, high=gain.high, n=gain.n) if gain else {}
        _, *columns = texts  # the first is the row's name
        cells = [Cell(texts[name], paper=paper.get(name, ""), exact=exact.get(name, {})) for name in columns]
        lines.append((row.summary.source, tuple(cells)))
    return PageTable("Table 11", tuple(rows[0][1]), tuple(lines))


def scores_table(rows: Sequence[DatSummary]) -> PageTable:
    """Valid responses, mean, deviation, interval, unique words."""
    lines, columns = [], tuple(summary_cells(rows[0]))
    for row in rows:
        exact, (_, *shown) = _exact(row), summary_cells(row).items()
        lines.append((row.source, tuple(Cell(text, exact=exact.get(name, {})) for name, text in shown)))
    return PageTable("DAT scores", columns, tuple(lines))


def _exact(row: DatSummary) -> dict[str, dict[str, float | str]]:
    """The numbers of a row by the headings under which they stand."""
    low, high = row.ci95 or (None, None)
    return {
        "Responses": known(value=row.num_responses),
        "Valid": known(value=row.valid_rate, n=row.valid, of=row.num_responses),
        "Mean": known(value=row.mean, low=low, high=high, n=row.valid),
        "Std": known(value=row.std),
        "95% CI of mean": known(low=low, high=high),
        "Unique words": known(value=row.unique_words),
    }


def reasons_table(rows: Sequence[DatSummary]) -> PageTable:
    """How many responses are invalid for which reason."""
    reasons, lines = [str(reason) for reason in Reason], []
    for row in rows:
        cells = []
        for reason in reasons:
            count = row.reasons.get(reason, 0)
            # One that never came is pale, to let the others stand out.
            cells.append(count_cell(count, percent(count, row.num_responses)) if count else _NONE)
        lines.append((row.source, tuple(cells)))
    return PageTable("Why responses are invalid", ("Source", *reasons), tuple(lines))


_NONE = Cell("0", mark="zero", exact={"value": 0})
