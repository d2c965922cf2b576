"""What training did, for readers: Table 11 in cells, Markdown and JSON, the paper's patterns, and the page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.markdown import bullets
from sozo.data.published import METHODS
from sozo.data.record import write_whole
from sozo.data.schema import Response
from sozo.eval.report.charts import Curve, curve_chart, score_chart, unique_words_chart
from sozo.eval.report.exports import write_tables
from sozo.eval.report.render import render
from sozo.scoring.table import markdown
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.table11 import Table11
from study.curves import EvaluationChart
from study.guards import NOBODY, Verdicts, explanation
from study.instruments import differences, explanations, instrument_table
from study.page_tables import HINTS, reasons_table, scores_table, table11_table, with_paper


def to_markdown(table: Table11, verdicts: Verdicts = NOBODY) -> str:
    """The table, the paper's columns last, and the patterns."""
    parts = [markdown(with_paper(table11_table(table)))] if table.rows else []
    if shown := patterns(table):
        parts.append(bullets(f"{name}: {text}" for name, text in shown.items()))
    if verdicts:
        parts.append(bullets(map(explanation, verdicts)))
    instruments = instrument_table(table)
    if instruments.rows:
        parts += [markdown(instruments), bullets(explanations(table))]
    return "\n".join(parts)


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
    own = [table11_table(table), instrument_table(table)] if table and table.rows else []
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
