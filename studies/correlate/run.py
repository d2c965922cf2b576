"""What `sozo correlate` does and writes: tasks over models (Tables 9 and 10), and raters of the same answers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.markdown import bullets, plain
from sozo.data.published import CORRELATIONS
from sozo.eval.evaluated import find_evaluated
from sozo.eval.report.svg import series, svg
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import P_VALUE, n_of
from sozo.scoring.table import Cell
from sozo.studies.correlate.across import ALL_TASKS, ENOUGH, across_models, grid_of
from sozo.studies.correlate.people import (
    DRAWS,
    PEOPLE,
    compare,
    curve,
    places_of,
    scores_of,
    shown,
    verdicts,
    with_people,
)
from sozo.studies.correlation import OVER, WITHIN
from sozo.studies.pages import PageFolder, PageRow, page_table, standalone
from sozo.studies.ratings import UNIT, read_places, records, said_of
from sozo.tasks import task_type

VALUES, CURVE = "correlations.json", "curve.svg"
FOR_PAPER = "agreement.json"  # what `sozo report --paper` reads
_R, _SCORE = Measure("r", 3), Measure("mean")
_ABOUT = """\
Pearson's r with its 95% interval and p-value, which is below 0.05 exactly where the interval leaves 0; *p (Holm)* is
corrected for the number of cells of the table. *Paper* is the paper's r, over its own models, judge and encoders.
"""
_DRAWN = """\
Intervals are as if models were drawn one by one. Models that were trained from one model are not, and make them too narrow.
"""
_ABOUT_RATERS = """\
*Over systems* correlates the systems' means, *over answers* single answers, *within systems* answers less their system's
mean. A rater can order systems as people do and not see which of one system's answers they prefer: then only the first
is high. Cite r within systems where single answers are judged. Intervals are for other questions to these systems
(Student's over a jackknife of Fisher's z, from five questions on). Those of r over answers are of independent pairs where each
answer is of a model or a question of its own. People's score is the mean over raters. The paper prints r over answers
(Table 8: 105 of them) and over systems (Table 24), and no interval. *Place* is a system's rank by its mean score.
"""
_ABOUT_CURVE = f"""\
Mean r over systems of {DRAWS:,} random subsets of so many questions, and the range of the middle 95% of them. Of all questions
there is one subset, so the range ends there. The paper does not say how it draws. correlations.json has the numbers.

![The curves]({CURVE})
"""


def correlate_models(places: Sequence[str], output: Path) -> PageFolder:
    """Correlate the tasks over the models of finished runs, and write `correlations.md` and `correlations.json`.

    `places` are as in `find_evaluated`.
    """
    models = find_evaluated(places)
    pairs = across_models(models)
    if not any(pair["cells"] for pair in pairs):
        raise UserError(
            f"a correlation needs {ENOUGH} models with two benchmarks, and of these {len(models)} models fewer have both; "
            "run more: sozo run"
        )
    folder = PageFolder(output, {}, "correlations", repr(pairs))
    folder.start({}, {})
    return _published(folder, [_ABOUT, _DRAWN], pairs, {})


def correlate_raters(
    places: Sequence[str],
    output: Path,
    task: str | None = None,
    key: Path | None = None,
) -> PageFolder:
    """Correlate people with each judge or encoder of the same answers, and these or people among themselves.

    `places`, `task` and `key` are as in `read_places`. The folder has a figure, too, and what `sozo report --paper` reads.
    """
    table, judges = read_places(places, task, key=key)
    who = table.rater.mask(~table.rater.isin([*judges]) & bool(judges), PEOPLE)
    shared = who.groupby(table.criterion).transform("nunique") == who.nunique()
    if shared.any():  # else one criterion goes by two names
        table, who = table[shared], who[shared]
    by_rater = {name: scores_of(own) for name, own in table.groupby(who, sort=False)}
    if len(by_rater) < 2:
        raise UserError(
            f"{places[0]}: has one rater, {who.iloc[0]}; give another one's scores of the same answers"
        )
    folder = PageFolder(output, {"judges": judges}, "correlations", table.to_csv())
    folder.start({}, {})
    pairs = _of_raters(by_rater, table)
    values: dict[str, Any] = {"ratings": said_of(table, judges)}
    values["places"] = records(places_of(by_rater))
    means = [
        {k.capitalize(): Cell(v, _SCORE) if k == "mean" else v for k, v in row.items()}
        for row in values["places"]
    ]
    parts = ["## Systems\n", page_table(means)]
    if curves := {pair["second"]: pair["curve"] for pair in pairs if pair["curve"]}:
        folder.add(CURVE, curve_figure(curves, next(iter(by_rater))))
        parts += ["## Figure 1: r over systems by number of questions\n", _ABOUT_CURVE]
        values["curves"] = curves
    parts += ["## What the numbers are\n", _ABOUT, _ABOUT_RATERS]
    folder.add(FOR_PAPER, {"compared": with_people(table, judges)})
    return _published(folder, parts, pairs, values)


def _published(
    folder: PageFolder,
    parts: Sequence[str],
    pairs: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any],
) -> PageFolder:
    tables = [line for pair in pairs for line in _table(pair)]
    cells = {pair["key"]: pair["cells"] for pair in pairs}
    folder.add(VALUES, {**values, **cells})
    said = bullets(values.get("ratings", ()))
    page = "\n".join(["# Correlations\n", said, *tables, *parts])
    return folder.publish(page, {"pairs": len(pairs)})


def _of_raters(
    by_rater: Mapping[str, pd.DataFrame], table: pd.DataFrame
) -> list[dict[str, Any]]:
    """Each two raters, people first; r by the number of questions is the first one's with every other."""
    pairs, task, first_of_all = [], table.attrs.get("task", ""), next(iter(by_rater))
    kinds = table.groupby(UNIT, sort=False).domain.first()
    order = [kind for kind, _ in grid_of(task_type(task))] if task else kinds.unique()
    for first, second in combinations(by_rater, 2):
        ours, theirs = by_rater[first], by_rater[second]
        name = CORRELATIONS.get((task, first), "") if len(by_rater) == 2 else ""
        cells = compare(
            ours, theirs, kinds, dict.fromkeys(order), task if first == PEOPLE else ""
        )
        title = f"{first} and {second}"
        pair = {"title": title, "table": name, "second": second, "cells": cells}
        pair["key"] = name.lower().replace(" ", "_") or title
        pair["curve"] = curve(ours, theirs) if first == first_of_all else []
        pairs += [pair] if cells else []
    return pairs


def _table(pair: Mapping[str, Any]) -> Iterator[str]:
    """The table as in the paper where it has cells by criterion, and its details."""
    name = f"{pair['table']}: {pair['title']}" if pair["table"] else pair["title"]
    unit = "models" if "models" in pair else "answers"
    yield f"## {plain(name)}, over {unit}\n"
    cells = pair["cells"]
    if cells is None:
        yield f"{pair['models']} of the models have both: a correlation needs {ENOUGH}.\n"
        return
    yield bullets(verdicts(cells) if OVER in cells[0] else ())
    rows = list[PageRow]()
    # The sort is stable: first what counts most answers.
    for cell in sorted(cells, key=lambda cell: cell["task"] != ALL_TASKS):
        row = {"Task": cell["task"] or None, "Criterion": cell["criterion"] or None}
        row |= {
            unit.capitalize(): n_of(cell["n"], cell["of"]),
            "r": shown(cell),
        }
        row |= {
            "p": Cell(cell["p"], P_VALUE),
            "p (Holm)": Cell(cell["p_holm"], P_VALUE),
        }
        row["Paper"] = cell["paper"] and Cell(cell["paper"], _R)
        ways = (way for way in (OVER, WITHIN) if way in cell)
        row |= {way.capitalize(): shown(cell[way]) for way in ways}
        rows.append(row | {"No interval of r": cell["reason"]})
    yield page_table(rows)


def curve_figure(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], reference: str
) -> bytes:
    """Raters' curves as an SVG file. The band holds 95% of the random subsets of so many questions."""

    def draw(axes: Any) -> None:
        for k, (name, points) in enumerate(curves.items()):
            # None becomes NaN, which is not drawn. A name that begins with an underscore would have no legend.
            drawn, colour = pd.DataFrame(points, dtype=float), series(k)
            axes.plot(drawn.questions, drawn["mean"], color=colour, label=f" {name}")
            band = {"color": colour, "alpha": 0.15, "linewidth": 0}
            axes.fill_between(drawn.questions, drawn.low, drawn.high, **band)
        axes.set(xlabel="Questions", ylabel=f"Pearson correlation with {reference}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(frameon=False)

    title = f"Correlation with {reference} by number of questions"
    return standalone(svg(draw, (7.6, 4.2), "curve", title))
