"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.evaluated import Evaluated
from eval.report.charts import radar_points, ridge_chart, scatter_chart
from eval.report.labels import english, translate_chart
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


def chart(picture: Ridge | Scatter, task: type[Task], models: Sequence[Evaluated]) -> str | None:
    """A picture of all models, each in its colour whether it has a run or not, as SVG; None with nothing to draw."""
    runs = {model.name: model.run(task.name) for model in models}
    if isinstance(picture, Ridge):
        values = {name: run.by_answer(picture.measure) if run else () for name, run in runs.items()}
        if not any(len(scores) for scores in values.values()):
            return None
        svg = ridge_chart(values, picture.salt, english(picture.axis))
    else:
        if not any(picture.points):
            return None
        points = dict(zip((name for name, run in runs.items() if run), picture.points, strict=True))
        every = {name: points.get(name) for name in runs}
        svg = scatter_chart(every, picture.salt, english(picture.across), english(picture.up))
    return translate_chart(svg)


def radars(
    picture: Radar, task: type[Task], models: Sequence[Evaluated], against: Mapping[str, Evaluated]
) -> list[ModelRadar]:
    """One for each model that has all values."""
    every = {}
    for model in models:
        run = model.run(task.name)
        means = [estimate_of(run, measure).mean for measure in picture.measures] if run else []
        every[model.name] = tuple(mean for mean in means if mean is not None)
    complete = {name: values for name, values in every.items() if len(values) == len(picture.measures)}
    points = {name: radar_points(values, picture.least, picture.most) for name, values in complete.items()}
    shown = []
    for number, name in enumerate(every):
        if name in complete:
            base = against.get(name)
            beside = (base.name, points[base.name]) if base and base.name in points else None
            named = tuple(zip((measure.short for measure in picture.measures), complete[name], strict=True))
            shown.append(ModelRadar(name, number % SERIES, points[name], beside, named))
    return shown
