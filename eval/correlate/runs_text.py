"""Correlations over finished runs for readers: Markdown for people, JSON for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from data.markdown import bullets, number, plain, table
from data.published import correlations
from eval.correlate.across import ENOUGH, PEOPLE, Pair
from eval.correlate.cells import Cell
from eval.correlate.people import People, rated_task
from eval.correlate.scores import ModelRow
from eval.statistics.correlation import Correlation
from rewards.measure import Estimate
from rewards.tasks import task_types

_ABOUT = """\
Pearson's r with its 95% interval (Fisher's z) and two-sided p-value; *p (Holm)* is corrected for the number of cells of
the table. The interval and the p-value take models (answers) as drawn independently from many: checkpoints of one
training are not. *Paper* is the paper's r, over its own five models (Table 8: 105 answers), judge and encoders.
"""


@dataclass(frozen=True)
class Correlations:
    """All that there is to say."""

    rows: Sequence[ModelRow]  # the models with two tasks or more
    scales: Sequence[str]  # see `eval.correlate.scores.scales`
    pairs: Sequence[Pair]  # of tasks, over models
    people: People | None  # the ratings, if there are any

    @cached_property
    def rated(self) -> Pair:
        """Judge and people; without cells where there are no ratings."""
        return Pair(rated_task().name, PEOPLE, cells=self.people.table8() if self.people else None)

    def to_markdown(self) -> str:
        """The page: the models' scores, each table as in the paper and with its details, and what is missing."""
        parts = ["# Correlations between benchmarks\n", _ABOUT, bullets(plain(line) for line in self.scales)]
        if self.rows:
            tasks = list(self.rows[0].scores)
            cells = [[plain(row.model), *(_score(row.scores[task]) for task in tasks)] for row in self.rows]
            headings = ("Model", *(task.upper() for task in tasks))
            parts += ["## Scores of models with two benchmarks or more\n", table(headings, cells)]
        if self.people is not None:
            parts += [*_pair(self.rated, "answers"), *_about_people(self.people)]
        for pair in self.pairs:
            parts += _pair(pair, "models")
        return "\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Everything for `correlations.json`, numbers unrounded; a table that the runs do not allow is null."""
        ratings = None
        if self.people:
            used, left_out = len(self.people.ratings), self.people.left_out
            ratings = {"used": used, "raters": self.people.raters, "left_out": left_out}
        values: dict[str, Any] = {
            "models": [row.to_json() for row in self.rows],
            "scales": list(self.scales),
            "models_with_both": self._models_with_both(),
            "ratings": ratings,
        }
        for pair in (self.rated, *self.pairs):
            cells = pair.cells and [cell.to_json() for cell in pair.cells]
            values[pair.key] = asdict(pair.correlation) if pair.correlation else cells
        return values

    def metrics(self) -> dict[str, Any]:
        """For `metrics.json`: how many models and cells there are."""
        values: dict[str, Any] = {"models_with_both": self._models_with_both()}
        for pair in (self.rated, *self.pairs):
            values[pair.key] = pair.correlation.r if pair.correlation else pair.cells and _counts(pair.cells)
        return values

    def _models_with_both(self) -> dict[str, int]:
        return {pair.table or pair.both: pair.models for pair in self.pairs}


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
        yield (
            f"`*` p < 0.05: {total['p_below_0.05']} of {total['correlations']} correlations; `**` also p (Holm) < "
            f"0.05: {total['p_holm_below_0.05']}.\n"
        )
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
