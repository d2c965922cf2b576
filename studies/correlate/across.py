"""Correlations between tasks across models: Tables 9 and 10 (paper, sections 4.3.2 to 4.3.4), and all other pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from sozo.data.published import CORRELATIONS
from sozo.eval.evaluated import Evaluated
from sozo.scoring.measure import Measure
from sozo.studies.correlate.people import ALL_TASKS, completed
from sozo.studies.correlation import check_alike, correlate_models
from sozo.tasks import task_types
from sozo.tasks.task import Task

ENOUGH = 3  # models, for a correlation
Means = Mapping[str, Mapping[tuple[str, str], float | None]]  # of a task, by model


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


def correlated_tasks(models: Sequence[Evaluated]) -> list[type[Task]]:
    """The tasks of the papers' correlations and those that any model has a run of; tasks with a grid first."""
    published = {name for pair in CORRELATIONS for name in pair}
    tasks = [
        t
        for t in task_types().values()
        if t.name in published or any(model.run(t.name) for model in models)
    ]
    return sorted(tasks, key=lambda task: not grid_of(task))


def task_means(task: type[Task], models: Sequence[Evaluated]) -> Means:
    """The means of a task's cells, of models with a run of it; UserError where these are on different scales."""
    runs = {model.name: run for model in models if (run := model.run(task.name))}
    remedy = "score one of them again as the other, or leave it out"
    check_alike(task.name.upper(), [*runs.items()], remedy)
    grid = grid_of(task) or {("", ""): task.measures[0]}
    return {
        name: {cell: run.estimate(measure).value for cell, measure in grid.items()}
        for name, run in runs.items()
    }


def model_scores(model: Evaluated, means: Mapping[str, Means]) -> dict[str, Any]:
    """A model's score in each task with n of N, None without a run, and the means of the cells of tasks with a grid."""
    values: dict[str, Any] = {"model": model.name}
    for task in means:
        values[task], run = None, model.run(task)
        if run and not grid_of(task_types()[task]):
            known = run.metrics["measures"][run.main.name]
            values[task] = {name: known[name] for name in ("value", "n", "of")}
        elif run:  # its own n is of answers, and here models are compared over items
            n = sum(value is not None for value in run.by_item(run.main).values())
            value = run.estimate(run.main).value
            values[task] = {"value": value, "n": n, "of": len(run.prompts)}
    for task in means:
        if grid_of(task_types()[task]):
            values[f"{task}_cells"] = [
                {"task": kind, "criterion": name, "mean": mean}
                for (kind, name), mean in means[task].get(model.name, {}).items()
            ]
    return values


def scales(tasks: Sequence[type[Task]], models: Sequence[Evaluated]) -> list[str]:
    """What the scores of runs that are alike rest on, a sentence for each task, to stand beside them."""
    sentences = []
    for task in tasks:
        run = next((run for model in models if (run := model.run(task.name))), None)
        if run:
            scale = run.scale | run.scale.get("judge", {})
            named = [f"{k} {v}" for k, v in scale.items() if isinstance(v, str)]
            said = *run.other_items(), *(one for one in named if "sha256" not in one)
            sentences.append(f"{task.name.upper()}: {', '.join(said)}.")
    return sentences


def across_models(
    means: Mapping[str, Means], families: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Every pair of tasks that the papers correlate or that a model has both of, with what the models allow.

    `means` are of tasks in the order of `correlated_tasks`. A model counts where it has both, so random nouns do not.
    `families` are those of the models, if they are known. A pair of too few models has no cells.
    """
    pairs = []
    for first, second in combinations(means, 2):
        ours, theirs = means[first], means[second]
        both = [model for model in ours if model in theirs]
        table = CORRELATIONS.get((first, second))
        if table is None and not both:
            continue
        title = f"{first.upper()} and {second.upper()}"
        key = table.lower().replace(" ", "_") if table else f"{first}_{second}"
        pair = {"title": title, "table": table, "key": key, "models": len(both)}
        cells = []
        score = {model: [*theirs[model].values()][-1] for model in both}
        known = sum(value is not None for value in score.values())
        for kind, criterion in grid_of(task_types()[first]) or [("", "")]:
            column = {model: ours[model][kind, criterion] for model in both}
            found = correlate_models(column, score, families)
            names = {"task": kind, "criterion": criterion, "of": known}
            cells.append(names | asdict(found))
        enough = len(both) >= ENOUGH
        pairs.append(
            pair | {"cells": completed(cells, first, second) if enough else None}
        )
    return pairs
