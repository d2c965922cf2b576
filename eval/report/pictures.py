"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sozo.eval.compare import Compared
from sozo.eval.frontier import NAMES, curves_beside
from sozo.eval.report.charts import radar_points, ridge_chart
from sozo.eval.report.labels import english, translate_chart, wording
from sozo.eval.report.plane import Spot, plane_chart
from sozo.eval.report.published import Published
from sozo.eval.report.svg import SERIES
from sozo.eval.seeds import Method
from sozo.scoring.statistics.seeds import over_seeds
from sozo.tasks.task import Task
from sozo.tasks.view import Radar, Ridge, Scatter


@dataclass(frozen=True, slots=True)
class ModelRadar:
    """A model's four values (label and number) beside those of its base, which has a name and points of its own."""

    name: str
    number: int
    points: str
    base: tuple[str, str] | None
    values: tuple[tuple[str, float], ...]


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


def independent_words(picture: Scatter, task: type[Task], methods: Sequence[Method]) -> dict[str, int]:
    """Method -> unique words of lists of independent words with its mean, by a frontier beside the runs."""
    if picture.lists is None:
        return {}
    curve = curves_beside(picture.points, picture.lists, picture.encoder).get(NAMES["independent"], ())
    found = {}
    for method in methods:
        means = [point.y for run in method.of_task(task.name) if (point := picture.points.get(run.folder))]
        if means and curve and curve[0][1] <= (mean := sum(means) / len(means)) <= curve[-1][1]:
            found[method.name] = round(float(np.interp(mean, *np.array(curve).T[::-1])))
    return found


def radars(
    picture: Radar,
    task: type[Task],
    compared: Compared,
    papers: Sequence[tuple[Published, tuple[float, ...]]] = (),
) -> list[ModelRadar]:
    """One for each method that has all values, means over its seeds, and for the paper's models."""
    every = {}
    for method in compared.methods:
        of_runs = [[run.estimate(measure).mean for run in method.of_task(task.name)] for measure in picture.measures]
        known = [[mean for mean in means if mean is not None] for means in of_runs]
        every[method.name] = tuple(sum(means) / len(means) for means in known if means)
    every |= {model.name: values for model, values in papers}
    complete = {name: values for name, values in every.items() if len(values) == len(picture.measures)}
    points = {name: radar_points(values, picture.least, picture.most) for name, values in complete.items()}
    shown = []
    for number, name in enumerate(every):
        if name in complete:
            base = compared.against.get(name)
            beside = (base.name, points[base.name]) if base and base.name in points else None
            named = tuple(zip((measure.short for measure in picture.measures), complete[name], strict=True))
            colour = number % SERIES if number < len(compared.methods) else 0
            shown.append(ModelRadar(name, colour, points[name], beside, named))
    return shown
