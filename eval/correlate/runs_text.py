"""Correlations over finished runs for readers: Markdown for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from data.markdown import plain, table
from data.published import CORRELATIONS, correlations
from eval.correlate.across import ENOUGH, Cell, Pair
from eval.correlate.people import PEOPLE, People, criteria, rated_task
from eval.correlate.scores import ModelRow, Scored
from eval.human import MEAN
from eval.statistics import Correlation

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
    def rated(self) -> tuple[Cell, ...] | None:
        """Judge and people; None without ratings."""
        return self.people.table8() if self.people else None

    def to_markdown(self) -> str:
        """The page: the models' scores, each table as in the paper and with its details, and what is missing."""
        parts = ["# Correlations between benchmarks\n", _ABOUT]
        parts.append("\n".join(f"- {plain(line)}" for line in self.scales) + "\n")
        if self.rows:
            tasks = list(self.rows[0].scores)
            cells = [[plain(row.model), *(_score(row.scores[task]) for task in tasks)] for row in self.rows]
            headings = ("Model", *(task.upper() for task in tasks))
            parts += ["## Scores of models with two benchmarks or more\n", table(headings, cells)]
        if self.people is not None and self.rated is not None:
            rated = self.people.task
            parts.append(f"## {_people_table()}: {rated.name.upper()}'s judge and people, over answers\n")
            parts += [*_section(self.rated, "answers", (*criteria(rated), MEAN)), *_about_people(self.people)]
        for pair in self.pairs:
            parts.append(f"## {pair.table}{': ' if pair.table else ''}{pair.both}, over models\n")
            parts += _pair(pair)
        return "\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Everything for `correlations.json`, numbers unrounded; a table that the runs do not allow is null."""
        people, ratings = self.people, None
        if people is not None:
            ratings = {"used": len(people.ratings), "raters": people.raters, "left_out": people.left_out}
        values: dict[str, Any] = {
            "models": [row.to_json() for row in self.rows],
            "scales": list(self.scales),
            "models_with_both": {pair.table or pair.both: pair.models for pair in self.pairs},
            "ratings": ratings,
            _people_key(): [cell.to_json() for cell in self.rated] if self.rated else None,
        }
        for pair in self.pairs:
            cells = None if pair.cells is None else [cell.to_json() for cell in pair.cells]
            values[pair.key] = asdict(pair.correlation) if pair.correlation else cells
        return values

    def metrics(self) -> dict[str, Any]:
        """For `metrics.json`: how many models and cells there are."""
        values: dict[str, Any] = {
            "models_with_both": {pair.table or pair.both: pair.models for pair in self.pairs},
            _people_key(): counts(self.rated),
        }
        for pair in self.pairs:
            values[pair.key] = pair.correlation.r if pair.correlation else counts(pair.cells)
        return values


def counts(cells: Sequence[Cell] | None) -> dict[str, int] | None:
    """How many cells have a correlation, and how many of them a p-value below 0.05."""
    if cells is None:
        return None
    return {
        "cells": len(cells),
        "correlations": sum(cell.correlation.r is not None for cell in cells),
        "p_below_0.05": sum(_below(cell.correlation.p) for cell in cells),
        "p_holm_below_0.05": sum(_below(cell.p_holm) for cell in cells),
    }


def _people_table() -> str:
    return CORRELATIONS[rated_task().name, PEOPLE]


def _people_key() -> str:
    return _people_table().lower().replace(" ", "_")


def _pair(pair: Pair) -> Iterator[str]:
    if pair.cells is not None:
        names = dict.fromkeys(cell.criterion for cell in pair.cells)
        yield from _section(pair.cells, "models", list(names))
    elif pair.correlation is not None:
        headings = ("r", "95% interval", "p", "Models", "Paper")
        published = correlations(pair.first, pair.second)
        paper = published[0]["pearson"] if published else "–"
        yield table(headings, [[*_numbers(pair.correlation), str(pair.correlation.n), paper]])
        yield from _notes([pair.correlation])
    else:
        yield f"{pair.models} of the models have both: a correlation needs {ENOUGH}.\n"


def _section(cells: Sequence[Cell], unit: str, order: Sequence[str]) -> Iterator[str]:
    """The table as in the paper, with the criteria in this order, and its details."""
    by_name = {(cell.task, cell.criterion): cell for cell in cells}
    tasks = dict.fromkeys(task for task, _ in by_name)
    ordered = [name for name in order if any(name == criterion for _, criterion in by_name)]
    yield table(("Task", *ordered), [[task, *(_marked(by_name[task, c]) for c in ordered)] for task in tasks])
    total = counts(cells) or {}
    yield (
        f"`*` p < 0.05: {total['p_below_0.05']} of {total['correlations']} correlations; `**` also p (Holm) < 0.05: "
        f"{total['p_holm_below_0.05']}.\n"
    )
    headings = ("Task", "Criterion", "r", "95% interval", "p", "p (Holm)", unit.capitalize(), "Paper")
    yield table(headings, [_details(cell) for cell in cells])
    yield from _notes([cell.correlation for cell in cells])


def _details(cell: Cell) -> list[str]:
    numbers = _numbers(cell.correlation)
    paper = "–" if cell.paper is None else f"{cell.paper:.3f}"
    return [cell.task, cell.criterion, *numbers, _p(cell.p_holm), f"{cell.correlation.n} of {cell.of}", paper]


def _numbers(correlation: Correlation) -> list[str]:
    r, low, high = correlation.r, correlation.low, correlation.high
    interval = "–" if low is None or high is None else f"{low:.2f} to {high:.2f}"
    return ["–" if r is None else f"{r:.3f}", interval, _p(correlation.p)]


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


def _notes(correlated: Sequence[Correlation]) -> Iterator[str]:
    """What to beware of: few models, and why cells are empty, each once with how many cells it is true of."""
    texts: dict[str, int] = {}
    for result in correlated:
        reason = result.reason if result.r is None or result.low is None else None
        for text in filter(None, (result.note, reason)):
            texts[text] = texts.get(text, 0) + 1
    lines = [f"- {text}" + (f" ({n} cells)." if len(correlated) > 1 else ".") for text, n in texts.items()]
    if lines:
        yield "\n".join(lines) + "\n"


def _about_people(people: People) -> Iterator[str]:
    used = f"- {len(people.ratings):,} ratings by {people.raters} people; people's score of an answer is the mean over"
    lines = [f"{used} raters. Of the answers that they rated, those count that have the judge's scores."]
    lines += [f"- Left out: {n:,} ratings ({plain(why)})." for why, n in people.left_out.items()]
    yield "\n".join(lines) + "\n"


def _score(scored: Scored | None) -> str:
    if scored is None:
        return "–"
    mean = "–" if scored.mean is None else f"{scored.mean:.4f}"
    return f"{mean} ({scored.n:,} of {scored.of:,})"
