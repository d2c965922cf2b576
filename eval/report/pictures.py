"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.evaluated import Evaluated
from eval.report.charts import SERIES, radar_points, ridge_chart, scatter_chart
from eval.report.labels import english, translate_chart
from eval.summary import estimate_of
from rewards.page_parts import Radar, Ridge, Scatter
from rewards.task import Task


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of all models: label of its title, its SVG, and whether it takes the page's whole width."""

    name: str
    svg: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class ModelRadar:
    """A model's four values (label and number) beside those of its base, which has a name and points of its own."""

    name: str
    number: int
    points: str
    base: tuple[str, str] | None
    values: tuple[tuple[str, float], ...]


def ridge(picture: Ridge, task: type[Task], models: Sequence[Evaluated]) -> list[Chart]:
    """Nothing without a value."""
    runs = {model.name: model.run(task.name) for model in models}
    values = {name: run.by_answer(picture.measure) if run else () for name, run in runs.items()}
    if not any(len(scores) for scores in values.values()):
        return []
    chart = ridge_chart(values, picture.salt, english(picture.axis))
    return [Chart(picture.name, translate_chart(chart), wide=True)]


def scatter(picture: Scatter, task: type[Task], models: Sequence[Evaluated]) -> list[Chart]:
    """Nothing without a point."""
    if not any(picture.points):
        return []
    # Every model keeps its colour, those without a run too.
    with_run = [model.name for model in models if model.run(task.name)]
    points = dict(zip(with_run, picture.points, strict=True))
    chart = scatter_chart(
        {model.name: points.get(model.name) for model in models},
        picture.salt,
        english(picture.across),
        english(picture.up),
    )
    return [Chart(picture.name, translate_chart(chart))]


def radars(
    picture: Radar, task: type[Task], models: Sequence[Evaluated], against: Mapping[str, Evaluated]
) -> list[ModelRadar]:
    """One for each model that has all values."""
    every = {model.name: _values(picture, task, model) for model in models}
    shown = []
    for number, model in enumerate(models):
        values, base = every[model.name], against.get(model.name)
        if not values:
            continue
        beside = every[base.name] if base else ()
        shown.append(
            ModelRadar(
                model.name,
                number % SERIES,
                radar_points(values, picture.least, picture.most),
                (base.name, radar_points(beside, picture.least, picture.most)) if base and beside else None,
                tuple(zip((measure.short for measure in picture.measures), values, strict=True)),
            )
        )
    return shown


def _values(picture: Radar, task: type[Task], model: Evaluated) -> tuple[float, ...]:
    run = model.run(task.name)
    means = [estimate_of(run, measure).mean for measure in picture.measures] if run else []
    values = tuple(mean for mean in means if mean is not None)
    return values if len(values) == len(picture.measures) else ()
