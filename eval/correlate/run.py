"""What `sozo correlate` does and writes: Markdown for people, JSON for programs."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.markdown import bullets, number, plain, table
from sozo.data.published import correlations
from sozo.data.record import write_json, write_whole
from sozo.data.run_folder import RunFolder
from sozo.eval.correlate.across import ENOUGH, Pair, across_models
from sozo.eval.correlate.people import PEOPLE, Cell, People, rated_task, read_people
from sozo.eval.correlate.scores import ModelRow, check_task_alike, correlated_tasks, model_rows, scales
from sozo.eval.evaluated import find_evaluated
from sozo.eval.terminal import PageRun
from sozo.scoring.measure import Estimate
from sozo.scoring.statistics.correlation import Correlation
from sozo.tasks import task_types

_FILES = ("config.json", "metrics.json", "correlations.json", "correlations.md")
_ABOUT = """\
Pearson's r with its 95% interval (Fisher's z) and two-sided p-value; *p (Holm)* is corrected for the number of cells of
the table. The interval and the p-value take models (answers) as drawn independently from many: checkpoints of one
training are not, and where answers share models or questions there is neither. *Paper* is the paper's r, over its own
five models (Table 8: 105 answers), judge and encoders.
"""


def correlate_runs(places: Sequence[str], output: Path, *, ratings: Path | None = None) -> PageRun:
    """Correlate the tasks over the models of finished runs (Tables 9 and 10, DAT and SAT), people with the judge.

    The folder `output` gets `correlations.md`, `correlations.json` and, in `metrics.json`, how many cells there are;
    another set of scores needs another one. `places` are as in `eval.evaluated.find_evaluated`; people's `ratings` of
    answers that a judge scored (`sozo.data.ratings`) add Table 8.
    """
    models = find_evaluated(places)
    rows = model_rows(models)
    pairs = across_models(rows, correlated_tasks(models))
    if ratings is None and max(pair.models for pair in pairs) < ENOUGH:
        counted = ", ".join(f"{pair.table or pair.both} {pair.models}" for pair in pairs)
        have = f"of the {len(models)} models with finished runs there are, for {counted}"
        needed = f"a correlation needs {ENOUGH} models with both benchmarks"
        raise UserError(f"{needed}; {have}; run more: sozo run")
    people = None
    if ratings is not None:
        check_task_alike(rated_task(), models)
        people = read_people(ratings, models)
    inputs = {
        "rows": [row.to_json() for row in rows],
        "people": people and [[r.model, r.item, r.criterion, r.rater, r.score] for r in people.ratings],
        "judged": people and [[*key, score] for key, score in people.judged.items()],
    }
    settings = {"task": "correlate_runs", "models": [row.model for row in rows], "ratings": people is not None}
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    folder = RunFolder(output, {**settings, "scores_sha256": digest})
    # A folder that has lost a file is written again.
    if folder.metrics() is not None and all((output / name).is_file() for name in _FILES):
        return PageRun(output, (output / _FILES[-1]).read_text("utf-8"), _FILES, True)
    folder.start({}, {"places": list(places), "ratings_file": str(ratings) if ratings else None})
    # Judge and people are a pair too, without cells where there are no ratings.
    pairs = (Pair(rated_task().name, PEOPLE, cells=people.table8() if people else None), *pairs)
    about = list(scales(models))
    page = _to_markdown(rows, about, pairs, people)
    write_json(output / _FILES[-2], _json(rows, about, pairs, people))
    write_whole(output / _FILES[-1], page.encode())
    shown = {p.key: p.correlation.r if p.correlation else p.cells and _counts(p.cells) for p in pairs}
    folder.finish({"models_with_both": _models_with_both(pairs), **shown})
    return PageRun(output, page, _FILES, False)


def _to_markdown(rows: Sequence[ModelRow], about: Sequence[str], pairs: Sequence[Pair], people: People | None) -> str:
    """The models' scores, each table as in the paper and with its details, and what is missing."""
    parts = ["# Correlations between benchmarks\n", _ABOUT, bullets(plain(line) for line in about)]
    if rows:
        tasks = list(rows[0].scores)
        cells = [[plain(row.model), *(_score(row.scores[task]) for task in tasks)] for row in rows]
        headings = ("Model", *(task.upper() for task in tasks))
        parts += ["## Scores of models with two benchmarks or more\n", table(headings, cells)]
    if people is not None:
        parts += [*_pair(pairs[0], "answers"), *_about_people(people)]
    for pair in pairs[1:]:
        parts += _pair(pair, "models")
    return "\n".join(parts)


def _json(rows: Sequence[ModelRow], about: list[str], pairs: Sequence[Pair], people: People | None) -> dict[str, Any]:
    """Everything, numbers unrounded; a table that the runs do not allow is null."""
    used = people and {"used": len(people.ratings), "raters": people.raters, "left_out": people.left_out}
    values: dict[str, Any] = {"models": [row.to_json() for row in rows], "scales": about}
    values |= {"models_with_both": _models_with_both(pairs), "ratings": used}
    for pair in pairs:
        cells = pair.cells and [cell.to_json() for cell in pair.cells]
        values[pair.key] = asdict(pair.correlation) if pair.correlation else cells
    return values


def _models_with_both(pairs: Sequence[Pair]) -> dict[str, int]:
    return {pair.table or pair.both: pair.models for pair in pairs if pair.second != PEOPLE}


def _counts(cells: Sequence[Cell]) -> dict[str, int]:
    """How many cells have a correlation, and how many of them a p-value below 0.05."""
    return {
        "cells": len(cells),
        "correlations": sum(cell.correlation.r is not None for cell in cells),
        "p_below_0.05": sum(_below(cell.correlation.p) for cell in cells),
        "p_holm_below_0.05": sum(_below(cell.p_holm) for cell in cells),
    }


def _pair(pair: Pair, unit: str) -> Iterator[str]:
    """The table as in the paper, and its details."""
    yield f"## {pair.table}{': ' if pair.table else ''}{pair.both}, over {unit}\n"
    if pair.cells is not None:
        by_name = {(cell.task, cell.criterion): cell for cell in pair.cells}
        every = dict.fromkeys(criterion for _, criterion in task_types()[pair.first].Finished.grid)
        criteria = [name for name in every if any(name == criterion for _, criterion in by_name)]
        tasks = dict.fromkeys(task for task, _ in by_name)
        yield table(("Task", *criteria), [[task, *(_marked(by_name[task, c]) for c in criteria)] for task in tasks])
        total = _counts(pair.cells)
        below = f"`*` p < 0.05: {total['p_below_0.05']} of {total['correlations']} correlations"
        yield f"{below}; `**` also p (Holm) < 0.05: {total['p_holm_below_0.05']}.\n"
        headings = ("Task", "Criterion", "r", "95% interval", "p", "p (Holm)", unit.capitalize(), "Paper")
        yield table(headings, [_details(cell) for cell in pair.cells])
        yield from _notes([cell.correlation for cell in pair.cells])
    elif pair.correlation is not None:
        published = correlations(pair.first, pair.second)
        paper = published[0]["pearson"] if published else "–"
        row = [*_numbers(pair.correlation), str(pair.correlation.n), paper]
        yield table(("r", "95% interval", "p", unit.capitalize(), "Paper"), [row])
        yield from _notes([pair.correlation])
    else:
        yield f"{pair.models} of the models have both: a correlation needs {ENOUGH}.\n"


def _details(cell: Cell) -> list[str]:
    numbers, pairs = _numbers(cell.correlation), f"{cell.correlation.n} of {cell.of}"
    return [cell.task, cell.criterion, *numbers, _p(cell.p_holm), pairs, number(cell.paper)]


def _numbers(correlation: Correlation) -> list[str]:
    low, high = correlation.low, correlation.high
    interval = "–" if low is None or high is None else f"{low:.2f} to {high:.2f}"
    return [number(correlation.r), interval, _p(correlation.p)]


def _p(value: float | None) -> str:
    return "< 0.0001" if value is not None and value < 0.0001 else number(value, 4)


def _marked(cell: Cell) -> str:
    return number(cell.correlation.r) + "*" * (_below(cell.correlation.p) + _below(cell.p_holm))


def _below(p: float | None) -> bool:
    return p is not None and p < 0.05


def _notes(correlated: Sequence[Correlation]) -> Iterator[str]:
    """What to beware of: few models, and why cells are empty, each once with how many cells it is true of."""
    texts = Counter(text for result in correlated for text in (result.note, result.reason) if text)
    if texts:
        yield bullets(text + (f" ({n} cells)." if len(correlated) > 1 else ".") for text, n in texts.items())


def _about_people(people: People) -> Iterator[str]:
    used = f"{len(people.ratings):,} ratings by {people.raters} people; people's score of an answer is the mean over"
    lines = [f"{used} raters. Of the answers that they rated, those count that have the judge's scores."]
    lines += [f"Left out: {n:,} ratings ({plain(why)})." for why, n in people.left_out.items()]
    yield bullets(lines)


def _score(scored: Estimate | None) -> str:
    return "–" if scored is None else f"{number(scored.mean, 4)} ({scored.n:,} of {scored.of:,})"
