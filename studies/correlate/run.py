"""What `sozo correlate` does and writes: Markdown for people, JSON for programs."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.markdown import bullets, plain
from sozo.eval.evaluated import find_evaluated
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import P_VALUE, n_of, number
from sozo.scoring.table import Cell
from sozo.studies.correlate.across import (
    ENOUGH,
    ModelRow,
    Pair,
    across_models,
    check_task_alike,
    correlated_tasks,
    model_rows,
    scales,
)
from sozo.studies.correlate.people import (
    PEOPLE,
    CorrelationCell,
    People,
    rated_task,
    read_people,
)
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table
from sozo.studies.ratings import read_families

VALUES = "correlations.json"
_R = Measure("r", 3)
_ABOUT = """\
Pearson's r with its 95% interval and p-value, which is below 0.05 exactly where the interval leaves 0; *p (Holm)* is
corrected for the number of cells of the table. Where answers share models or questions there is neither interval nor p.
*Paper* is the paper's r, over its own five models (Table 8: 105 answers), judge and encoders.
"""
_DRAWN = "They are as if models (answers) were drawn one by one; models trained from one model are not (--families)."
_BY_FAMILY = "Over models they are by families of models, of which one is left out at a time; there must be five."


def correlate_runs(
    places: Sequence[str],
    output: Path,
    *,
    ratings: Path | None = None,
    families: Path | None = None,
) -> PageRun:
    """Correlate the tasks over the models of finished runs (Tables 9 and 10, DAT and SAT), people with the judge.

    The folder `output` gets `correlations.md`, `correlations.json` and, in `metrics.json`, how many cells there are;
    another set of scores needs another one. `places` are as in `eval.evaluated.find_evaluated`; people's `ratings` of
    answers that a judge scored (`sozo.studies.ratings`) add Table 8, and a file of the models' `families` is heeded.
    """
    models = find_evaluated(places)
    rows = model_rows(models)
    family_of = None if families is None else read_families(families)
    if family_of is not None and (
        unknown := [row.model for row in rows if row.model not in family_of]
    ):
        raise UserError(
            f"{families}: no line of the model {unknown[0]}; give every model's family"
        )
    pairs = across_models(rows, correlated_tasks(models), family_of)
    if ratings is None and max(pair.models for pair in pairs) < ENOUGH:
        counts = ", ".join(
            f"{pair.table or pair.title} {pair.models}" for pair in pairs
        )
        have = f"of the {len(models)} models with finished runs there are, for {counts}"
        raise UserError(
            f"a correlation needs {ENOUGH} models with both benchmarks; {have}; run more: sozo run"
        )
    people = None
    if ratings is not None:
        check_task_alike(rated_task(), models)
        people = read_people(ratings, models)
    inputs = [[row.to_json() for row in rows], people and list(people.ratings)]
    scores = json.dumps(inputs, sort_keys=True) + (
        people.judged.to_csv() if people else ""
    )
    settings = {
        "task": "correlate_runs",
        "models": [row.model for row in rows],
        "ratings": people is not None,
    }
    if family_of is not None:
        settings["families"] = {row.model: family_of[row.model] for row in rows}
    settings["scores_sha256"] = hashlib.sha256(scores.encode()).hexdigest()
    folder = PageFolder(output, settings, "correlations", [VALUES])
    if finished := folder.finished():
        return finished
    folder.start(
        {}, {"places": list(places), "ratings_file": str(ratings) if ratings else None}
    )
    # Judge and people are a pair too, without cells where there are no ratings.
    pairs = (
        Pair(rated_task().name, PEOPLE, cells=people.table8() if people else None),
        *pairs,
    )
    about = scales(models)
    used = people and {
        "used": len(people.ratings),
        "raters": people.raters,
        "left_out": people.left_out,
    }
    with_both = {
        pair.table or pair.title: pair.models for pair in pairs if pair.second != PEOPLE
    }
    values: dict[str, Any] = {
        "models": [row.to_json() for row in rows],
        "scales": about,
    }
    values |= {"models_with_both": with_both, "ratings": used}
    metrics: dict[str, Any] = {"models_with_both": with_both}
    for pair in pairs:
        values[pair.key] = metrics[pair.key] = None
        if pair.cells and pair.has_grid:
            values[pair.key] = [cell.to_json() for cell in pair.cells]
            metrics[pair.key] = _counts(pair.cells)
        elif pair.cells:
            values[pair.key] = asdict(pair.cells[0].correlation)
            metrics[pair.key] = pair.cells[0].correlation.r
    folder.add(VALUES, values)
    return folder.publish(
        _to_markdown(
            rows, [_DRAWN if family_of is None else _BY_FAMILY, *about], pairs, people
        ),
        metrics,
    )


def _to_markdown(
    rows: Sequence[ModelRow],
    about: Sequence[str],
    pairs: Sequence[Pair],
    people: People | None,
) -> str:
    """The models' scores, each table as in the paper and with its details, and what is missing."""
    parts = [
        "# Correlations between benchmarks\n",
        _ABOUT,
        bullets(plain(line) for line in about),
    ]
    if rows:
        parts += [
            "## Scores of models with two benchmarks or more\n",
            page_table([_scores(row) for row in rows]),
        ]
    if people is not None:
        parts += [*_pair(pairs[0], "answers"), *_about_people(people)]
    for pair in pairs[1:]:
        parts += _pair(pair, "models")
    return "\n".join(parts)


def _scores(row: ModelRow) -> PageRow:
    cells = {}
    for task, score in row.scores.items():
        cells[task.upper()] = score or Cell()
    return {"Model": row.model, **cells}


def _counts(cells: Sequence[CorrelationCell]) -> dict[str, int]:
    """How many cells have a correlation, and how many of them a p-value below 0.05."""
    return {
        "cells": len(cells),
        "correlations": sum(cell.correlation.r is not None for cell in cells),
        "p_below_0.05": sum(_below(cell.correlation.p) for cell in cells),
        "p_holm_below_0.05": sum(_below(cell.p_holm) for cell in cells),
    }


def _below(p: float | None) -> bool:
    return p is not None and p < 0.05


def _pair(pair: Pair, unit: str) -> Iterator[str]:
    """The table as in the paper, and its details."""
    yield f"## {pair.table}{': ' if pair.table else ''}{pair.title}, over {unit}\n"
    if pair.cells is None:
        yield f"{pair.models} of the models have both: a correlation needs {ENOUGH}.\n"
        return
    if pair.has_grid:
        by_kind: dict[str, dict[str, str]] = {}
        for cell in pair.cells:
            mark = (
                "‡"
                if _below(cell.p_holm)
                else "†"
                if _below(cell.correlation.p)
                else ""
            )
            by_kind.setdefault(cell.task, {"Task": cell.task})[cell.criterion] = (
                number(cell.correlation.r, _R) + mark
            )
        yield page_table(list(by_kind.values()))
        counts = _counts(pair.cells)
        below = f"† p < 0.05: {counts['p_below_0.05']} of {counts['correlations']} correlations"
        yield f"{below}; ‡ also p (Holm) < 0.05: {counts['p_holm_below_0.05']}.\n"
    yield page_table([_details(cell, unit, pair.has_grid) for cell in pair.cells])
    # What to beware of: few models, and why cells are empty, each once with how many cells it is true of.
    texts = Counter(
        text
        for cell in pair.cells
        for text in (cell.correlation.note, cell.correlation.reason)
        if text
    )
    if texts:
        yield bullets(
            text + (f" ({n} cells)." if pair.has_grid else ".")
            for text, n in texts.items()
        )


def _details(cell: CorrelationCell, unit: str, in_grid: bool) -> PageRow:
    correlation = cell.correlation
    names = {"Task": cell.task, "Criterion": cell.criterion} if in_grid else {}
    counts = {unit.capitalize(): n_of(correlation.n, cell.of)}
    r, p = (
        Cell(Estimate(correlation.r, correlation.low, correlation.high), _R),
        Cell(correlation.p, P_VALUE),
    )
    corrected = {"p (Holm)": Cell(cell.p_holm, P_VALUE)} if in_grid else {}
    return {
        **names,
        **counts,
        "r": r,
        "p": p,
        **corrected,
        "Paper": Cell(cell.paper, _R),
    }


def _about_people(people: People) -> Iterator[str]:
    count = f"{len(people.ratings):,} ratings by {people.raters} people; people's score of an answer is the mean over"
    lines = [
        f"{count} raters. Of the answers that they rated, those count that have the judge's scores."
    ]
    lines += [
        f"Left out: {n:,} ratings ({plain(why)})." for why, n in people.left_out.items()
    ]
    yield bullets(lines)
