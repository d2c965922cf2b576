"""What training did, for readers: Table 11 in cells, Markdown and JSON, the paper's patterns, and the page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.published import METHODS
from sozo.data.record import write_whole
from sozo.data.schema import Response
from sozo.eval.report.charts import Curve, curve_chart, score_chart, unique_words_chart
from sozo.eval.report.exports import write_tables
from sozo.eval.report.page_table import PageTable
from sozo.eval.report.render import render
from sozo.scoring.guard import Gain
from sozo.scoring.measure import percent
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.table11 import Table11, Table11Row
from sozo.tasks.dat.view import summary_cells
from study.curves import EvaluationChart
from study.guards import NOBODY, Verdicts, explanation
from study.instruments import differences, explanations, instrument_markdown, instrument_table
from study.page_tables import HINTS, reasons_table, scores_table, table11_table

_PAPER_RESPONSES = 131_072  # in all, of each row


def cells(row: Table11Row, table: Table11) -> dict[str, str]:
    """The columns of a row by their headings."""
    summary, shown = row.summary, summary_cells(row.summary)
    words = "–" if row.equal_size_words is None else f"{row.equal_size_words:,.0f}"
    return {
        "Row": summary.source,
        "Responses": f"{summary.num_responses:,}",
        "Valid": f"{summary.valid:,} ({percent(summary.valid, summary.num_responses)})",
        **{name: shown[name] for name in ("Mean", "Std", "Unique words")},
        _equal_size(table): words,
        **dict(zip(_gain_headings(table), map(_gain, row.gains), strict=False)),
        **dict(row.verdicts),
    }


def _equal_size(table: Table11) -> str:
    return f"Unique words in {table.equal_size:,} valid"


def _gain_headings(table: Table11) -> tuple[str, ...]:
    return ("Gain in own sd", f"Gain by {table.guard} in its sd") if table.guard else ()


def _gain(gain: Gain | None) -> str:
    return "–" if gain is None else f"{gain.deviations:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]"


def paper_cells(row: Table11Row) -> dict[str, str]:
    """The paper's figures under the same headings; empty where it has none."""
    if (paper := row.published) is None:
        return {}
    valid = f"{paper.valid:,} ({percent(paper.valid, _PAPER_RESPONSES)})"
    figures = {"Mean": f"{paper.mean:.3f}", "Std": f"{paper.std:.3f}", "Unique words": f"{paper.unique_words:,}"}
    return {"Valid": valid, **figures}


def to_markdown(table: Table11, verdicts: Verdicts = NOBODY) -> str:
    """The table, the paper's columns last, and the patterns; a `|` in a row's name is escaped."""
    lines: list[str] = []
    headings = list(next(filter(None, map(paper_cells, table.rows)), {}))
    for row in table.rows:
        own = cells(row, table)
        if not lines:
            titles = [*own, *(f"Paper: {heading.lower()}" for heading in headings)]
            lines = [f"| {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) - 1)}"]
        values = [*own.values(), *(paper_cells(row).get(heading, "–") for heading in headings)]
        lines.append(f"| {' | '.join(value.replace('|', chr(92) + '|') for value in values)} |")
    if shown := patterns(table):
        lines += ["", *(f"- {name}: {text}" for name, text in shown.items())]
    if verdicts:
        lines += ["", *(f"- {explanation(task)}" for task in verdicts)]
    if shown_instruments := instrument_markdown(table):
        lines += ["", *shown_instruments]
    return "\n".join(lines) + "\n"


def to_json(table: Table11, verdicts: Verdicts = NOBODY) -> dict[str, Any]:
    """The table for `table11.json`."""
    rows = [
        {
            **row.summary.to_json(),
            "unique_words_at_equal_size": row.equal_size_words,
            "hill_at_equal_size": asdict(row.hill) if row.hill else None,
            "from_base": differences(row, table),
            "rarefaction": [list(point) for point in row.curve],
            "paper": asdict(row.published) if row.published else None,
            **(dict(zip(("gain", "guard_gain"), (gain and asdict(gain) for gain in row.gains), strict=True))),
        }
        for row in table.rows
    ]
    facts = {"equal_size": table.equal_size, "paper_model": table.paper_model, "guard": table.guard}
    facts |= {"guard_revision": table.guard_revision}
    said = {task: {row: verdict.to_json() for row, verdict in of_row.items()} for task, of_row in verdicts.items()}
    return {**facts, "rows": rows, "patterns": patterns(table), "guards": said}


def patterns(table: Table11) -> dict[str, str]:
    """What the paper says of its table (section 5.2) -> whether this one shows it: yes or NO, with figures.

    Numbers are compared as they are: a difference within the noise of few responses says yes or NO too.
    """
    rows = {row.summary.source: row for row in table.rows}
    base = rows.get("base")
    if base is None:
        return {}
    result, before = {}, base.equal_size_words
    for method, word, sign in (("SFT", "up", 1), ("DPO 1", "down", -1), ("DPO 2", "down", -1)):
        after = rows[method].equal_size_words if method in rows else None
        if after is not None and before is not None:
            figures = f"{before:,.0f} to {after:,.0f}"
            result[f"{method}: unique words (equal size) {word}"] = _answer(sign * (after - before) > 0, figures)
    for method in ("DPO 1", "DPO 2", "GRPO"):
        if row := rows.get(method):
            old, new = base.summary.valid_rate or 0.0, row.summary.valid_rate or 0.0
            result[f"{method}: valid responses up"] = _answer(new > old, f"{old:.2%} to {new:.2%}")
    trained = {m: r.summary.mean for m, r in rows.items() if m in METHODS[1:] and r.summary.mean is not None}
    if "DPO 2" in trained:
        best = max(trained, key=lambda method: trained[method])
        result["DPO 2: highest mean"] = _answer(best == "DPO 2", f"{best} {trained[best]:.4f}")
    return result


def _answer(holds: bool, figures: str) -> str:
    return f"{'yes' if holds else 'NO'} ({figures})"


def write_report(
    path: Path,
    *,
    title: str,
    rows: Sequence[DatSummary],  # of the table, in order (random nouns, before, after)
    scores: Mapping[str, Any],  # of valid responses, by name; colours follow the order: the first is grey
    samples: Mapping[str, Sequence[Response]],  # shown side by side (before, after)
    curves: Sequence[Curve],
    facts: Mapping[str, str],  # what else a reader should know (model, encoder, seed)
    verdicts: Verdicts = NOBODY,  # of the guards of a study
    table: Table11 | None = None,  # a study's, with the paper's figures and patterns and a chart of unique words
    evaluated: Sequence[EvaluationChart] = (),  # what its trainings measured as they went
) -> None:
    """Write the page, whole or not at all. Any argument may be empty; its section is then left out."""
    growing = {row.summary.source: row.curve for row in table.rows} if table else {}
    own = [_table11(table), instrument_table(table)] if table and table.rows else []
    scored = [scores_table(rows), reasons_table(rows)] if rows else []
    write_tables(path.with_name(f"{path.stem}-tables"), [*own, *scored])
    page = render(
        Path(__file__).with_name("study.html"),
        title=title,
        own_tables=own,
        scored_tables=scored,
        hints=HINTS,
        score_chart=score_chart(scores) if any(len(values) for values in scores.values()) else "",
        score_names=[(name, len(values)) for name, values in scores.items()],
        samples=samples,
        curves=[(curve, curve_chart(curve, i)) for i, curve in enumerate(curves)],
        facts=facts,
        evaluated=evaluated,
        table=table,
        patterns=patterns(table) if table else {},
        explanations=explanations(table) if table else [],
        guards=[explanation(task) for task in verdicts],
        words_chart=unique_words_chart(growing, table.equal_size) if table else "",
    )
    write_whole(path, page)


def _table11(table: Table11) -> PageTable:
    rows = [(row, cells(row, table), paper_cells(row)) for row in table.rows]
    return table11_table(rows, _equal_size(table), _gain_headings(table))
