"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.evaluated import Evaluated
from eval.frontier import curves_beside
from eval.report.charts import radar_points, ridge_chart
from eval.report.labels import english, translate_chart
from eval.report.plane import Spot, plane_chart
from eval.report.published import Published
from eval.report.svg import SERIES
from eval.summary import estimate_of
from rewards.page_parts import Radar, Ridge, Scatter
from rewards.task import Task


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
    """A picture with what stands around it; `note` is a label and what stands in its places."""

    name: str  # label of its title
    svg: str
    about: str = ""
    wide: bool = False  # whether it takes the page's whole width
    note: tuple[str, Mapping[str, Any]] | None = None


def ridge(picture: Ridge, task: type[Task], models: Sequence[Evaluated]) -> Figure | None:
    """Distributions of all models, each in its colour whether it has a run or not; None with nothing to draw."""
    runs = {model.name: model.run(task.name) for model in models}
    values = {name: run.by_answer(picture.measure) if run else () for name, run in runs.items()}
    if not any(len(scores) for scores in values.values()):
        return None
    return Figure(picture.name, translate_chart(ridge_chart(values, picture.salt, english(picture.axis))), wide=True)


def plane(picture: Scatter, task: type[Task], models: Sequence[Evaluated]) -> Figure | None:
    """A named point for each model that has one, and the frontiers that lie beside the runs; None with no point."""
    spots = []
    for number, model in enumerate(models):
        run = model.run(task.name)
        if run and (point := picture.points.get(run.folder)):
            ends = None if point.low is None or point.high is None else (point.low, point.high)
            spots.append(Spot(model.name, (point.x, point.y), (), number % SERIES, ends))
    if not spots:
        return None
    curves, note = {}, None
    if picture.lists is not None:
        curves = curves_beside(picture.points, picture.lists, picture.encoder)
        note = None if curves else ("no_frontier", {"lists": picture.lists})
    svg = plane_chart(spots, curves, english(picture.across), english(picture.up), picture.salt)
    return Figure(picture.name, translate_chart(svg), picture.about, note=note)


def radars(
    picture: Radar,
    task: type[Task],
    models: Sequence[Evaluated],
    against: Mapping[str, Evaluated],
    papers: Sequence[tuple[Published, tuple[float, ...]]] = (),
) -> list[ModelRadar]:
    """One for each model that has all values, and for the paper's."""
    every = {}
    for model in models:
        run = model.run(task.name)
        means = [estimate_of(run, measure).mean for measure in picture.measures] if run else []
        every[model.name] = tuple(mean for mean in means if mean is not None)
    every |= {model.name: values for model, values in papers}
    complete = {name: values for name, values in every.items() if len(values) == len(picture.measures)}
    points = {name: radar_points(values, picture.least, picture.most) for name, values in complete.items()}
    shown = []
    for number, name in enumerate(every):
        if name in complete:
            base = against.get(name)
            beside = (base.name, points[base.name]) if base and base.name in points else None
            named = tuple(zip((measure.short for measure in picture.measures), complete[name], strict=True))
            colour = number % SERIES if number < len(models) else 0
            shown.append(ModelRadar(name, colour, points[name], beside, named))
    return shown
