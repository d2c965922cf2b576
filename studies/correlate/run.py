"""What `sozo correlate` does and writes: tasks over models (Tables 9 and 10), and raters of the same answers."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.markdown import bullets, plain
from sozo.data.published import CORRELATIONS
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.report.svg import series, svg
from sozo.models.judges import make_judge
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import P_VALUE, cost_line, n_of, number
from sozo.scoring.table import Cell
from sozo.studies.correlate.across import (
    ENOUGH,
    across_models,
    correlated_tasks,
    grid_of,
    model_scores,
    scales,
    task_means,
)
from sozo.studies.correlate.graded import (
    LEDGER,
    check_rubric,
    graded_by,
    scored_by,
)
from sozo.studies.correlate.people import (
    DRAWS,
    PEOPLE,
    Cells,
    compare,
    curve,
    places_of,
    printed,
    scores_of,
    verdicts,
)
from sozo.studies.correlation import OVER, WITHIN, check_alike
from sozo.studies.pages import PageFolder, PageRow, PageRun, page_table, standalone
from sozo.studies.ratings import (
    UNIT,
    about_runs,
    rated_runs,
    read_ratings,
    read_rows,
    runs_of,
)
from sozo.tasks import task_type
from sozo.tasks.run_result import RunResult

VALUES, CURVE = "correlations.json", "curve.svg"
_R, _SCORE = Measure("r", 3), Measure("mean")
_ABOUT = """\
Pearson's r with its 95% interval and p-value, which is below 0.05 exactly where the interval leaves 0; *p (Holm)* is
corrected for the number of cells of the table. *Paper* is the paper's r, over its own models, judge and encoders.
"""
_ABOUT_RATERS = """\
*Over systems* correlates the systems' means, *over answers* single answers, *within systems* answers less their system's
mean. A rater can order systems as people do and not see which of one system's answers they prefer: then only the first
is high. Intervals are for other questions to these systems (Student's over a jackknife of Fisher's z, from five questions
on); r over answers has that of independent pairs where each answer is of a model or a question of its own. People's score
is the mean over raters. The paper prints r over answers (Table 8: 105 of them) and over systems (Table 24), and no interval.
"""
_ABOUT_CURVE = f"""\
Mean r over systems of {DRAWS:,} random subsets of so many questions (of all, one), and the range of the middle 95% of
them, which narrows to nothing at all of them by construction. The paper does not say how it draws. correlations.json has
the numbers.

![The curves]({CURVE})
"""
_DRAWN = "They are as if models (answers) were drawn one by one; models trained from one model are not (--families)."
_BY_FAMILY = "Over models they are by families of models, of which one is left out at a time; there must be five."


def correlate_runs(
    runs: Sequence[str],
    output: Path,
    *,
    ratings: Sequence[Path] = (),
    key: Path | None = None,
    families: Path | None = None,
    task: str | None = None,
    embedding_models: Sequence[str] = (),
    embedding_cache: Path | None = None,
    judging: JudgeSettings | None = None,
) -> PageRun:
    """Correlate the tasks over the models of finished runs, and people with judges and encoders over one task's answers.

    The folder `output` gets `correlations.md`, `correlations.json`, a figure where there is a curve, and with `judging`
    the ledger of a judge that grades the answers now. `runs` are as in `find_evaluated`, people's `ratings` and their
    `key` as in `read_ratings`; a file of the models' `families` (columns model and family) is heeded over models.
    """
    models = find_evaluated(runs)
    # A model of one task has nothing to correlate.
    rows = [m for m in models if len({name for name, _ in m.runs}) > 1]
    tasks = correlated_tasks(models)
    means = {each.name: task_means(each, rows) for each in tasks}
    family_of = _families(families, rows) if families else None
    pairs = across_models(means, family_of)
    asked = [*ratings, *embedding_models, *([judging] if judging else ())]
    if not asked and max(pair["models"] for pair in pairs) < ENOUGH:
        have = ", ".join(f"{p['table'] or p['title']} {p['models']}" for p in pairs)
        raise UserError(
            f"a correlation needs {ENOUGH} models with both benchmarks; of the {len(models)} models with finished runs "
            f"there are, for {have}; run more: sozo run"
        )
    own = runs_of(models, task) if asked else []
    judge = make_judge(judging) if judging else None
    if judging:
        judging.price()  # a price that cannot be shows before anything is loaded
        check_rubric(own[0][1])
    rated = rated_runs(own)[0] if own else pd.DataFrame()
    if not embedding_models:
        _check_raters(own)
    people, used = pd.DataFrame(), None
    if ratings:
        people, left_out = about_runs(read_ratings(ratings, key=key), rated)
        count = int(people.rater.nunique())
        used = {"used": len(people), "raters": count, "left_out": left_out}
    scores = [model_scores(model, means) for model in rows]
    about = scales(tasks, rows or models)
    inputs = [scores, about, people.to_csv(), rated.to_csv()]
    settings = {
        "task": "correlate_runs",
        "models": [model.name for model in rows],
        "families": family_of,
        "embedding_models": [*embedding_models],
        "judge": judge and {"model": judge.name, **judge.parameters},
        "scores_sha256": hashlib.sha256(json.dumps(inputs).encode()).hexdigest(),
    }
    folder = PageFolder(output, settings, "correlations", [VALUES])
    again = judging is not None and judging.retry_unjudged
    if (finished := folder.finished()) and not again:
        return finished
    folder.start({}, {"places": list(runs), "ratings": [*map(str, ratings)]})
    kinds = _kinds(rated, own)
    by_rater = {PEOPLE: scores_of(people)} if ratings else {}
    # Encoders first: what is wrong with one shows before a judge has to be paid.
    answers = {system: run for system, run in own if run.judge == own[0][1].judge}
    if embedding_models:
        rated = scored_by(embedding_models, answers, embedding_cache)
    for name, part in rated.groupby("rater", sort=False) if own else ():
        by_rater[name] = scores_of(part)
    cost, stopped = None, None
    if judging and judge:
        graded, cost, stopped = graded_by(judge, judging, answers, output / LEDGER)
        by_rater[f"judge {judge.name}"] = scores_of(graded)
        folder.files.append(LEDGER)
    parts = ["# Correlations\n", _ABOUT]
    parts.append(bullets(map(plain, [_BY_FAMILY if family_of else _DRAWN, *about])))
    values: dict[str, Any] = {"models": scores, "scales": about, "ratings": used}
    values["models_with_both"] = {p["table"] or p["title"]: p["models"] for p in pairs}
    tables = []
    if by_rater:
        tables = _of_raters(by_rater, kinds, own[0][1].task)
        values |= {"places": places_of(by_rater), "judge": cost}
        parts += _raters(values, tables, stopped)
    if curves := {pair["second"]: pair["curve"] for pair in tables if pair["curve"]}:
        folder.add(CURVE, curve_figure(curves, next(iter(by_rater))))
        parts += ["## Figure 1: r over systems by number of questions\n", _ABOUT_CURVE]
        values["curves"] = curves
    if rows:
        parts.append("## Scores of models with two benchmarks or more\n")
        parts.append(page_table([*_scores(scores, means)]))
    for pair in pairs:
        parts += _table(pair, "models")
    metrics: dict[str, Any] = {"files": folder.files}
    for pair in [*tables, *pairs]:
        values[pair["key"]], cells = None, pair["cells"]
        if cells:
            values[pair["key"]] = cells if cells[0]["task"] else cells[0]
            metrics[pair["key"]] = _counts(cells)
    folder.add(VALUES, values)
    return folder.publish("\n".join(parts), metrics, stopped)


def _families(path: Path, models: Sequence[Evaluated]) -> dict[str, str]:
    """Model -> family: what was trained from one model."""
    families: dict[str, str] = {}
    for where, row in read_rows(path, ("model", "family")):
        name, family = str(row["model"]), str(row["family"])
        if (before := families.setdefault(name, family)) != family:
            raise UserError(
                f"{where}: the model {name!r} is of the family {before!r} and of {family!r}; give it one"
            )
    for model in models:
        if model.name not in families:
            raise UserError(
                f"{path}: no line of the model {model.name}; give every model's family"
            )
    return {model.name: families[model.name] for model in models}


def _check_raters(runs: Sequence[tuple[str, RunResult]]) -> None:
    """Refuse runs that one judge or encoder scored on different scales."""
    by_rater: dict[str, list[tuple[str, RunResult]]] = {}
    for system, run in runs:
        by_rater.setdefault(run.judge, []).append((system, run))
    for own in by_rater.values():
        remedy = "score one of them again as the other, or leave it out"
        check_alike(own[0][1].task.upper(), own, remedy)


def _kinds(
    rated: pd.DataFrame, runs: Sequence[tuple[str, RunResult]]
) -> dict[Any, str]:
    """The kind of each answer, in the order of the task's kinds; empty where the task correlates none of its kinds."""
    if not runs:
        return {}
    order = [kind for kind, _ in grid_of(task_type(runs[0][1].task))]
    kind_of = rated.groupby(UNIT, sort=False).domain.first()
    kind_of = kind_of.where(kind_of.isin(order), "")
    return kind_of.sort_values(
        key=lambda kinds: kinds.map([*order, ""].index), kind="stable"
    ).to_dict()


def _of_raters(
    by_rater: Mapping[str, pd.DataFrame], kinds: Mapping[Any, str], task: str
) -> list[dict[str, Any]]:
    """People against every other rater, and a judge that was asked now against the encoders."""
    tables: list[dict[str, Any]] = []
    references = [name for name in by_rater if name.startswith((PEOPLE, "judge "))]
    for first in references:
        others = [name for name in by_rater if name not in (first, PEOPLE)]
        for second in others:
            ours, theirs = by_rater[first], by_rater[second]
            table = CORRELATIONS.get((task, first), "") if len(others) == 1 else ""
            title = f"{first} and {second}"
            cells = compare(ours, theirs, kinds, task if first == PEOPLE else "")
            cells[-1][OVER]["paper"] = printed(second) if first == PEOPLE else None
            points = curve(ours, theirs) if first == references[0] else []
            key = table.lower().replace(" ", "_") or title
            found = {"title": title, "table": table, "key": key, "cells": cells}
            tables.append(found | {"second": second, "curve": points})
    return tables


def _raters(
    values: Mapping[str, Any],
    tables: Sequence[Mapping[str, Any]],
    stopped: str | None,
) -> Iterator[str]:
    """The part of the page about raters of the same answers."""
    used, cost = values["ratings"], values["judge"]
    yield from ("## Raters of the same answers\n", _ABOUT_RATERS)
    lines = [f"{used['used']:,} ratings by {used['raters']} people."] if used else []
    for why, n in used["left_out"].items() if used else ():
        lines.append(f"Left out: {n:,} ratings ({why}).")
    yield bullets(map(plain, [*lines, *(_bill(cost, stopped) if cost else ())]))
    yield page_table([*_places(values["places"])])
    for table in tables:
        yield from _table(table, "answers")


def _table(pair: Mapping[str, Any], unit: str) -> Iterator[str]:
    """The table as in the paper where it has cells by criterion, and its details."""
    name = f"{pair['table']}: {pair['title']}" if pair["table"] else pair["title"]
    yield f"## {plain(name)}, over {unit}\n"
    cells = pair["cells"]
    if cells is None:
        yield f"{pair['models']} of the models have both: a correlation needs {ENOUGH}.\n"
        return
    yield bullets(verdicts(cells) if OVER in cells[0] else ())
    if len(cells) > 1:
        by_kind: dict[str, dict[str, str]] = {}
        for cell in cells:
            mark = "‡" if _below(cell["p_holm"]) else "†" if _below(cell["p"]) else ""
            of_kind = by_kind.setdefault(cell["task"], {"Task": cell["task"]})
            of_kind[cell["criterion"]] = number(cell["r"], _R) + mark
        yield page_table([*by_kind.values()])
        counts = _counts(cells)
        below = f"† p < 0.05: {counts['p_below_0.05']} of {counts['correlations']} correlations"
        yield f"{below}; ‡ also p (Holm) < 0.05: {counts['p_holm_below_0.05']}.\n"
    rows = list[PageRow]()
    for cell in cells:
        row: dict[str, Any] = {"Task": cell["task"] or None}
        row["Criterion"] = cell["criterion"] or None
        row[unit.capitalize()] = n_of(cell["n"], cell["of"])
        row |= {"r": _r(cell), "p": Cell(cell["p"], P_VALUE)}
        row |= {
            "p (Holm)": Cell(cell["p_holm"], P_VALUE),
            "Paper": Cell(cell["paper"], _R),
        }
        ways = (way for way in (OVER, WITHIN) if way in cell)
        rows.append(row | {way.capitalize(): _r(cell[way]) for way in ways})
    yield page_table(rows)
    # What to beware of: few models, and why cells are empty, each once with how many cells it is true of.
    texts = Counter(
        cell[why] for cell in cells for why in ("note", "reason") if cell[why]
    )
    lines = [f"{text} ({n} of {len(cells)} cells)." for text, n in texts.items()]
    yield bullets(map(plain, lines))


def _r(way: Mapping[str, Any]) -> Cell:
    paper = way.get("paper") if "of" not in way else None
    below = (f"paper {paper}",) if paper is not None else ()
    return Cell(Estimate(way["r"], way["low"], way["high"]), _R, below=below)


def _below(p: float | None) -> bool:
    return p is not None and p < 0.05


def _counts(cells: Cells) -> dict[str, int]:
    """How many cells have a correlation, and how many of them a p-value below 0.05."""
    return {
        "cells": len(cells),
        "correlations": sum(cell["r"] is not None for cell in cells),
        "p_below_0.05": sum(_below(cell["p"]) for cell in cells),
        "p_holm_below_0.05": sum(_below(cell["p_holm"]) for cell in cells),
    }


def _scores(
    scores: Sequence[Mapping[str, Any]], tasks: Iterable[str]
) -> Iterator[PageRow]:
    for row in scores:
        cells = {}
        for task in tasks:
            one = row[task] or {"value": None, "n": 0, "of": None}
            cells[task.upper()] = Cell(
                Estimate(one["value"], n=one["n"]), _SCORE, of=one["of"]
            )
        yield {"Model": row["model"], **cells}


def _places(table: Sequence[Mapping[str, Any]]) -> Iterator[PageRow]:
    """Table 23: in a cell the mean score, the questions with one, and the place."""
    for row in table:
        cells = {}
        for rater, one in row.items():
            if rater != "system":
                mean = Estimate(one["mean"], n=one["n"])
                cells[rater] = (
                    Cell(mean, _SCORE, below=(f"place {one['place']}",))
                    if one["n"]
                    else Cell()
                )
        yield {"System": row["system"], **cells}


def _bill(cost: Mapping[str, Any], stopped: str | None) -> Iterator[str]:
    statuses, *bill = cost.values()
    counts = sum(map(Counter, statuses.values()), Counter[str]())
    ended = (f"{name} {n_of(n, counts.total())}" for name, n in counts.items())
    yield f"The judge's grades: {', '.join(ended)}."
    yield f"The judge's bill: {cost_line(*bill)}."
    if stopped:
        yield f"Not finished: {stopped}."


def curve_figure(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], reference: str
) -> bytes:
    """Raters' curves as an SVG file. The band holds 95% of the random subsets of so many questions."""

    def draw(axes: Any) -> None:
        lines = []
        for k, points in enumerate(curves.values()):
            # None becomes NaN, which is not drawn.
            drawn, colour = pd.DataFrame(points, dtype=float), series(k)
            marker = "o" if len(drawn) == 1 else None
            lines += axes.plot(
                drawn.questions, drawn["mean"], color=colour, marker=marker
            )
            band = {"color": colour, "alpha": 0.15, "linewidth": 0}
            axes.fill_between(drawn.questions, drawn.low, drawn.high, **band)
        axes.set_xlabel("Questions")
        axes.set_ylabel(f"Pearson correlation with {reference}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        # A name that begins with an underscore would be left out of the legend.
        axes.legend(lines, [f" {name}" for name in curves], frameon=False)

    title = f"Correlation with {reference} by number of questions"
    return standalone(svg(draw, (7.6, 4.2), "curve", title))
