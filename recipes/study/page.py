"""What training did: rows of Table 11, learning curves, score distributions, responses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data.record import write_whole
from data.schema import Reason, Response
from eval.report.charts import Curve, curve_chart, score_chart, unique_words_chart
from eval.report.templates import render
from rewards.measure import percent
from rewards.tasks.dat.summary import DatSummary
from rewards.tasks.dat.table11 import Table11
from rewards.tasks.dat.view import summary_cells
from study.table11_text import cells, paper_cells, patterns

_HINTS = {
    Reason.FORMAT: "not exactly ten lines “k. word”",
    Reason.NOT_JAPANESE: "a letter that is not Japanese",
    Reason.SYMBOL: "punctuation, emoji, control characters",
    Reason.NOT_NOUN: "a word that is not a noun",
    Reason.REPEATED_WORD: "a word comes twice",
    Reason.NO_VECTOR: "a word the encoder does not know",
}


def write_report(
    path: Path,
    *,
    title: str,
    rows: Sequence[DatSummary],  # of the table, in order (random nouns, before, after)
    scores: Mapping[str, Any],  # of valid responses, by name; colours follow the order: the first is grey
    samples: Mapping[str, Sequence[Response]],  # shown side by side (before, after)
    curves: Sequence[Curve],
    facts: Mapping[str, str],  # what else a reader should know (model, encoder, seed)
    table: Table11 | None = None,  # a study's, with the paper's figures and patterns and a chart of unique words
) -> None:
    """Write the page, whole or not at all. Any argument may be empty; its section is then left out."""
    words_chart = ""
    if table:
        words_chart = unique_words_chart({row.summary.source: row.curve for row in table.rows}, table.equal_size)
    page = render(
        Path(__file__).with_name("study.html"),
        title=title,
        rows=[summary_cells(row) for row in rows],
        reason_names=[str(reason) for reason in Reason],
        reason_rows=[(row.source, [_reason_cell(row, reason) for reason in Reason]) for row in rows],
        hints={str(reason): hint for reason, hint in _HINTS.items()},
        score_chart=score_chart(scores) if any(len(values) for values in scores.values()) else "",
        score_names=[(name, len(values)) for name, values in scores.items()],
        samples=samples,
        curves=[(curve, curve_chart(curve, i)) for i, curve in enumerate(curves)],
        facts=facts,
        table=table,
        table_rows=[(cells(row, table), paper_cells(row)) for row in table.rows] if table else [],
        patterns=patterns(table) if table else {},
        words_chart=words_chart,
    )
    write_whole(path, page)


def _reason_cell(row: DatSummary, reason: Reason) -> tuple[str, str]:
    """Count and share of all responses; a reason that never came is shown as nothing, to let the others stand out."""
    count = row.reasons.get(reason, 0)
    return (f"{count:,}", percent(count, row.num_responses)) if count else ("0", "")
