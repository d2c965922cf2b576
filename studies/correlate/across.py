"""Correlations between tasks across models: Tables 9 and 10 (paper, sections 4.3.2 to 4.3.4), and all other pairs."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain, combinations
from typing import Any

import numpy as np

from sozo.data.published import CORRELATIONS, correlations
from sozo.eval.evaluated import Evaluated
from sozo.scoring.measure import Measure
from sozo.scoring.statistics import holm
from sozo.studies.correlation import check_alike, pearson
from sozo.tasks import task_types
from sozo.tasks.task import Task

ALL_TASKS = "All"
ENOUGH = 3  # models, for a correlation
Cells = list[dict[str, Any]]


def grid_of(task: type[Task]) -> dict[tuple[str, str], Measure]:
    """The cells that are correlated one by one, by kind of item and criterion: the paper's Tables 8 to 10, row by row.

    They are of a task with measures of single kinds of items; the last one is the task's score.
    """
    known = {measure.name: measure for measure in task.measures}
    kinds = list(dict.fromkeys(m.kinds[0] for m in task.measures if len(m.kinds) == 1))
    mean, *criteria = (measure.short for measure in task.measures if not measure.kinds)
    grid: dict[tuple[str, str], Measure] = {}
    for kind in (*kinds, ALL_TASKS) if kinds else ():
        parts = [task.name] if kind == ALL_TASKS else [task.name, kind]
        grid |= {(kind, name): known["/".join((*parts, name))] for name in criteria}
        grid[kind, mean] = (
            known["/".join(parts)] if kind != ALL_TASKS else task.measures[0]
        )
    return grid


def across_models(models: Sequence[Evaluated]) -> list[dict[str, Any]]:
    """Every pair of tasks that the papers correlate or that a model has both of, with what the models allow.

    Tasks with a grid stand first. A model counts where it has both, so random nouns do not. A pair of too few models has
    no cells. UserError where scores are on different scales.
    """
    wanted = {*chain(*CORRELATIONS), *(task for m in models for task, _ in m.runs)}
    tasks = [task for name, task in task_types().items() if name in wanted]
    means = dict[str, dict[str, dict[tuple[str, str], float | None]]]()
    for task in sorted(tasks, key=lambda task: not grid_of(task)):
        runs = {model.name: run for model in models if (run := model.run(task.name))}
        check_alike(task.name.upper(), [*runs.items()])
        cells = grid_of(task) or {("", ""): task.measures[0]}
        means[task.name] = {
            name: {cell: run.estimate(measure).value for cell, measure in cells.items()}
            for name, run in runs.items()
        }
    pairs = []
    for first, second in combinations(means, 2):
        ours, theirs = means[first], means[second]
        both = [model for model in ours if model in theirs]
        table = CORRELATIONS.get((first, second))
        if table is None and not both:
            continue
        found: Cells = []
        for cell in ours[both[0]] if len(both) >= ENOUGH else ():
            rows = [
                (ours[model][cell], [*theirs[model].values()][-1]) for model in both
            ]
            rows = [(x, y) for x, y in rows if y is not None]
            known = np.array([row for row in rows if row[0] is not None], float)
            (x, y), (kind, criterion) = known.reshape(-1, 2).T, cell
            r = asdict(pearson(x, y, "models"))
            found.append({"task": kind, "criterion": criterion, "of": len(rows), **r})
        title = f"{first.upper()} and {second.upper()}"
        key = (table or f"{first}_{second}").lower().replace(" ", "_")
        pair = {"title": title, "table": table, "key": key, "models": len(both)}
        pairs.append(pair | {"cells": completed(found, first, second) or None})
    return pairs


def completed(cells: Cells, first: str = "", second: str = "") -> Cells:
    """The cells with their p-values corrected together, and the paper's r of two tasks, or of a task and people."""
    paper = {
        (row.get("task", "").lower(), row.get("criterion", "")): float(row["pearson"])
        for row in correlations(first, second)
    }
    corrected = holm([cell["p"] for cell in cells])
    for cell, p_holm in zip(cells, corrected, strict=True):
        known = paper.get((cell["task"].lower(), cell["criterion"]))
        cell |= {"p_holm": p_holm, "paper": known}
    return cells
