"""Correlations over finished runs for readers: Markdown for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from data.jcq import CRITERIA
from data.markdown import plain, table
from data.published import load_text
from eval.correlate.across import Across, Cell
from eval.correlate.people import People
from eval.correlate.scores import ModelRow, Scored
from eval.human import MEAN
from eval.statistics import Correlation

_TITLES = {
    "Table 8": "JCQ's judge and people, over answers",
    "Table 9": "JCQ and DAT, over models",
    "Table 10": "JCQ and SAT, over models",
}
_ABOUT = """\
Pearson's r with its 95% interval (Fisher's z) and two-sided p-value; *p (Holm)* is corrected for the number of cells of
the table. The interval and the p-value take models (answers) as drawn independently from many: checkpoints of one
training are not. *Paper* is the paper's r, over its own five models (Table 8: 105 answers), judge and encoders.
"""


def to_markdown(
    rows: Sequence[ModelRow], scales: Sequence[str], across: Across, people: People | None, table8: Sequence[Cell]
) -> str:
    """The page: the models' scores, each table as in the paper and with its details, and what is missing.

    Args:
        rows: The models with two benchmarks or more.
        scales: See `eval.correlate.scores.scales`.
        across: Tables 9 and 10, DAT and SAT.
        people: The ratings, if there are any.
        table8: Their table; empty without them.
    """
    parts = ["# Correlations between benchmarks\n", _ABOUT, "\n".join(f"- {plain(line)}" for line in scales) + "\n"]
    if rows:
        cells = [[plain(row.model), *(_score(s) for s in (row.jcq, row.dat, row.sat))] for row in rows]
        parts += ["## Scores of models with two benchmarks or more\n", table(("Model", "JCQ", "DAT", "SAT"), cells)]
    if people is not None:
        parts += [*_section("Table 8", table8, "answers"), *_about_people(people)]
    for name, found in (("Table 9", across.jcq_dat), ("Table 10", across.jcq_sat)):
        parts += _section(name, found, "models", across.models[name])
    parts.append("## DAT and SAT, over models\n")
    if across.dat_sat is None:
        parts.append(_too_few(across.models["DAT and SAT"]))
    else:
        headings = ("r", "95% interval", "p", "Models", "Paper")
        paper = load_text("dat_sat_correlation")[0]["pearson"]
        parts.append(table(headings, [[*_numbers(across.dat_sat), str(across.dat_sat.n), paper]]))
        parts += _notes([across.dat_sat])
    return "\n".join(parts)


def to_json(
    rows: Sequence[ModelRow], scales: Sequence[str], across: Across, people: People | None, table8: Sequence[Cell]
) -> dict[str, Any]:
    """Everything for `correlations.json`, numbers unrounded; a table that the runs do not allow is null."""
    tables = {"table_8": table8 or None, "table_9": across.jcq_dat, "table_10": across.jcq_sat}
    return {
        "models": [row.to_json() for row in rows],
        "scales": list(scales),
        "models_with_both": across.models,
        "ratings": None
        if people is None
        else {"used": len(people.ratings), "raters": people.raters, "left_out": people.left_out},
        **{name: None if cells is None else [cell.to_json() for cell in cells] for name, cells in tables.items()},
        "dat_sat": None if across.dat_sat is None else asdict(across.dat_sat),
    }


def counts(cells: Sequence[Cell] | None) -> dict[str, int] | None:
    """For `metrics.json`: how many cells have a correlation, and how many of them a p-value below 0.05."""
    if cells is None:
        return None
    return {
        "cells": len(cells),
        "correlations": sum(cell.correlation.r is not None for cell in cells),
        "p_below_0.05": sum(_below(cell.correlation.p) for cell in cells),
        "p_holm_below_0.05": sum(_below(cell.p_holm) for cell in cells),
    }


def _section(name: str, cells: Sequence[Cell] | None, unit: str, models: int = 0) -> Iterator[str]:
    yield f"## {name}: {_TITLES[name]}\n"
    if cells is None:
        yield _too_few(models)
        return
    by_name = {(cell.task, cell.criterion): cell for cell in cells}
    tasks, criteria = (list(dict.fromkeys(names)) for names in zip(*by_name, strict=True))
    ordered = [name for name in (*CRITERIA, MEAN) if name in criteria]
    yield table(("Task", *ordered), [[task, *(_marked(by_name[task, c]) for c in ordered)] for task in tasks])
    found = counts(cells) or {}
    yield (
        f"`*` p < 0.05: {found['p_below_0.05']} of {found['correlations']} correlations; `**` also p (Holm) < 0.05: "
        f"{found['p_holm_below_0.05']}.\n"
    )
    headings = ("Task", "Criterion", "r", "95% interval", "p", "p (Holm)", unit.capitalize(), "Paper")
    yield table(headings, [_details(cell) for cell in cells])
    yield from _notes([cell.correlation for cell in cells])


def _details(cell: Cell) -> list[str]:
    numbers = _numbers(cell.correlation)
    paper = "–" if cell.paper is None else f"{cell.paper:.3f}"
    return [cell.task, cell.criterion, *numbers, _p(cell.p_holm), f"{cell.correlation.n} of {cell.of}", paper]


def _numbers(found: Correlation) -> list[str]:
    r = "–" if found.r is None else f"{found.r:.3f}"
    interval = "–" if found.low is None or found.high is None else f"{found.low:.2f} to {found.high:.2f}"
    return [r, interval, _p(found.p)]


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _marked(cell: Cell) -> str:
    if cell.correlation.r is None:
        return "–"
    return f"{cell.correlation.r:.3f}" + "*" * (_below(cell.correlation.p) + _below(cell.p_holm))


def _below(p: float | None) -> bool:
    return p is not None and p < 0.05


def _notes(found: Sequence[Correlation]) -> Iterator[str]:
    """What to beware of: few models, and why cells are empty, each once with how many cells it is true of."""
    said: dict[str, int] = {}
    for one in found:
        for text in filter(None, (one.note, one.reason if one.r is None or one.low is None else None)):
            said[text] = said.get(text, 0) + 1
    lines = [f"- {text}" + (f" ({n} cells)." if len(found) > 1 else ".") for text, n in said.items()]
    if lines:
        yield "\n".join(lines) + "\n"


def _about_people(people: People) -> Iterator[str]:
    used = f"- {len(people.ratings):,} ratings by {people.raters} people; people's score of an answer is the mean over"
    lines = [f"{used} raters. Of the answers that they rated, those count that have the judge's scores."]
    lines += [f"- Left out: {n:,} ratings ({plain(why)})." for why, n in people.left_out.items()]
    yield "\n".join(lines) + "\n"


def _too_few(models: int) -> str:
    return f"{models} of the models have both: a correlation needs 3.\n"


def _score(scored: Scored | None) -> str:
    if scored is None:
        return "–"
    mean = "–" if scored.mean is None else f"{scored.mean:.4f}"
    return f"{mean} ({scored.n:,} of {scored.of:,})"
