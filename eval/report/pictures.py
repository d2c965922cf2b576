"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sozo.eval.curve import lines
from sozo.eval.report.charts import Spot, ridge_chart, scatter_chart
from sozo.eval.report.labels import english, translate_chart
from sozo.eval.report.tables import TaskOnPage
from sozo.eval.seeds import over_runs
from sozo.scoring.table import Cell
from sozo.tasks.view import Ridge, Scatter


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with what stands around it."""

    name: str  # label of its title
    svg: str
    about: str = ""  # what it is of
    keys: Sequence[tuple[int, str]] = ()  # of what it shows colours and names


def pictures(page: TaskOnPage) -> Iterator[Figure]:
    """What the task's view declares; only pictures that show something."""
    for number, picture in enumerate(page.task.view.pictures):
        salt = f"{page.task.name}{number}"
        if isinstance(picture, Ridge):
            yield from _ridge(page, picture, salt)
        else:
            yield from _scatters(page, picture, salt)


def _ridge(page: TaskOnPage, picture: Ridge, salt: str) -> Iterator[Figure]:
    """Distributions of all methods over all their seeds, each in its colour whether it has a run or not."""
    first, values = page.task.measures[0], {}
    for method in page.found.compared.methods:
        values[method.name] = np.concatenate(
            [[], *(run.by_answer(first) for run in method.of_task(page.task.name))]
        )
    if any(map(len, values.values())):
        chart = ridge_chart(values, salt, english(picture.axis))
        yield Figure(picture.name, translate_chart(chart))


def _scatters(page: TaskOnPage, picture: Scatter, salt: str) -> Iterator[Figure]:
    """A spot for each method that has both values; one of several seeds at their mean, with its interval over these.

    Lines join the rows of one model at several temperatures. With `by_n` there is a picture for each number of lists,
    for only of as many lists different words compare.
    """
    groups: dict[int, list[Spot]] = {}
    columns = page.columns[picture.across], page.columns[picture.up]
    for number, method in enumerate(page.found.compared.methods):
        if not (runs := method.of_task(page.task.name)):
            continue
        seeds = [tuple(column.fill(run) for column in columns) for run in runs]
        across, up = map(over_runs, zip(*seeds, strict=True))
        at, *each = (_places(*pair) for pair in ((across, up), *seeds))
        if at:
            low, high = up.estimate.low, up.estimate.high
            ends = None if low is None or high is None else (low, high)
            points = [place for place in each if place]
            spot = Spot(method.name, at, points, number, ends)
            n = seeds[0][0].estimate.n if picture.by_n else 0
            groups.setdefault(n, []).append(spot)
    joined = lines(page.found.compared.methods, page.task.name)
    for k, (n, spots) in enumerate(groups.items()):
        axes = english(picture.across_label), english(picture.up_label)
        drawn = [
            [spot for one in line for spot in spots if spot.name == one.name]
            for line in joined
        ]
        chart = scatter_chart(spots, *axes, f"{salt}-{k}", [*filter(None, drawn)])
        about = f"n = {n:,}" if picture.by_n else ""
        keys = [spot.key for spot in spots]
        yield Figure(picture.name, translate_chart(chart), about, keys=keys)


def _places(*cells: Cell) -> tuple[float, float] | None:
    """Where two values stand, shares in percent; None where one has no number."""
    known = [
        100 * cell.value if cell.measure.share else cell.value
        for cell in cells
        if isinstance(cell.value, int | float)
    ]
    return (known[0], known[1]) if len(known) == 2 else None
