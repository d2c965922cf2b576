"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sozo.eval.frontier import curves_beside
from sozo.eval.report.charts import ridge_chart
from sozo.eval.report.labels import english, translate_chart, wording
from sozo.eval.report.plane import Spot, plane_chart
from sozo.eval.report.svg import SERIES
from sozo.eval.seeds import Method
from sozo.scoring.statistics.seeds import over_seeds
from sozo.tasks.task import Task
from sozo.tasks.view import Ridge, Scatter


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with what stands around it."""

    name: str  # label of its title
    svg: str
    about: str = ""
    wide: bool = False  # whether it takes the page's whole width
    note: tuple[str, str] | None = None  # in English and in Japanese


def ridge(picture: Ridge, task: type[Task], methods: Sequence[Method]) -> Figure | None:
    """Distributions of all methods over all their seeds, each in its colour whether it has a run or not; or None."""
    runs = {method.name: method.of_task(task.name) for method in methods}
    values = {
        name: np.concatenate([[], *(run.by_answer(picture.measure) for run in own)]) for name, own in runs.items()
    }
    if not any(len(scores) for scores in values.values()):
        return None
    return Figure(picture.name, translate_chart(ridge_chart(values, picture.salt, english(picture.axis))), wide=True)


def plane(picture: Scatter, task: type[Task], methods: Sequence[Method]) -> Figure | None:
    """A named point for each method that has one, and the frontiers that lie beside the runs; None with no point.

    One of several seeds stands at their mean with its interval over the seeds, and each seed is a small point.
    """
    spots = []
    for number, method in enumerate(methods):
        points = [point for run in method.of_task(task.name) if (point := picture.points.get(run.folder))]
        if not points:
            continue
        height = over_seeds(dict(enumerate(point.y for point in points))) if method.several else points[0]
        at = (sum(point.x for point in points) / len(points), sum(point.y for point in points) / len(points))
        ends = None if height.low is None or height.high is None else (height.low, height.high)
        seeds = [(point.x, point.y) for point in points] if method.several else []
        spots.append(Spot(method.name, at, seeds, number % SERIES, ends))
    if not spots:
        return None
    curves, note = {}, None
    if picture.lists is not None:
        curves = curves_beside(picture.points, picture.lists, picture.encoder)
        note = None if curves else wording("no_frontier", lists=picture.lists, encoder=picture.encoder)
    svg = plane_chart(spots, curves, english(picture.across), english(picture.up), picture.salt)
    return Figure(picture.name, translate_chart(svg), picture.about, note=note)
