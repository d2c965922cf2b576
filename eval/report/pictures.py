"""The evaluation page's pictures: what the tasks' views declare, drawn for all models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sozo.data.record import read_json
from sozo.eval.curve import MIN_P, TEMPERATURE, lines
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.charts import Spot, ridge_chart, scatter_chart, steps_chart
from sozo.eval.report.labels import english, translate_chart
from sozo.eval.report.tables import TaskOnPage
from sozo.eval.seeds import over_runs
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.view import Ridge, Scatter

# What trainings log of a step's answers, after the task's name -> its label.
_CURVES = {
    "reward": "curve_reward",
    "score": "curve_score",
    "usable": "curve_usable",
}
_CURVES |= {"different_words": "curve_words", "loss": "curve_loss"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with what stands around it."""

    name: str  # label of its title
    svg: str
    spots: bool = False  # whether models are spots in it
    about: str = ""  # what it is of
    wide: bool = False  # whether it takes the page's whole width
    keys: Sequence[tuple[int, str]] = ()  # of what it shows colours and names


def pictures(page: TaskOnPage) -> Iterator[Figure]:
    """What the task's view declares; only pictures that show something."""
    for number, picture in enumerate(page.task.view.pictures):
        salt = f"{page.task.name}{number}"
        yield from (
            _ridge(page, picture, salt)
            if isinstance(picture, Ridge)
            else _scatters(page, picture, salt)
        )


def training_curves(models: Sequence[Evaluated]) -> Iterator[Figure]:
    """What the models' trainings logged, where their folders are at hand: a picture a value, a line a model."""
    logged: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for model in models:
        folders = dict.fromkeys(
            Path(run.settings.get("model") or "") for run in model.runs.values()
        )
        states = [
            state
            for folder in folders
            if (state := folder / "trainer_state.json").is_file()
        ]
        for entry in (
            entry
            for state in states
            for entry in read_json(state, nan=True)["log_history"]
        ):
            for task, _, name in (key.rpartition("/") for key in entry):
                # A loss says something where nothing is paid.
                if name in _CURVES and not (name == "loss" and "reward" in entry):
                    value = entry[f"{task}/{name}" if task else name]
                    logged.setdefault((task, name), {}).setdefault(model.name, {})[
                        entry["step"]
                    ] = value
    for number, (task, name) in enumerate(
        sorted(logged, key=lambda key: (key[0], list(_CURVES).index(key[1])))
    ):
        lines = logged[task, name]
        chart = steps_chart(english(_CURVES[name]), lines, number)
        yield Figure(
            _CURVES[name],
            translate_chart(chart),
            about=task,
            keys=tuple(enumerate(lines)),
        )


def _ridge(page: TaskOnPage, picture: Ridge, salt: str) -> Iterator[Figure]:
    """Distributions of all methods over all their seeds, each in its colour whether it has a run or not."""
    first, values = page.task.measures[0], {}
    for method in page.found.compared.methods:
        values[method.name] = np.concatenate(
            [[], *(run.by_answer(first) for run in method.of_task(page.task.name))]
        )
    if any(map(len, values.values())):
        chart = ridge_chart(values, salt, english(picture.axis))
        yield Figure(picture.name, translate_chart(chart), wide=True)


def _scatters(page: TaskOnPage, picture: Scatter, salt: str) -> Iterator[Figure]:
    """A spot for each method that has both values; one of several seeds at their mean, with its interval over these.

    Lines join the rows of one model at several temperatures, and broken ones those at several `min_p`.

    With `by_n` a picture for each study and number of lists, for only of as many lists different words compare.
    """
    groups: dict[tuple[Path | None, int], list[Spot]] = {}
    columns = page.columns[picture.across], page.columns[picture.up]
    for number, method in enumerate(page.found.compared.methods):
        if not (runs := method.of_task(page.task.name)):
            continue
        seeds = [tuple(column.fill(run) for column in columns) for run in runs]
        across, up = map(over_runs, zip(*seeds, strict=True))
        if (x := _place(across)) is None or (y := _place(up)) is None:
            continue
        low, high = up.estimate.low, up.estimate.high
        ends = None if low is None or high is None else (low, high)
        each = (
            [(_place(across), _place(up)) for across, up in seeds]
            if method.several
            else []
        )
        points = [(x, y) for x, y in each if x is not None and y is not None]
        share = _share(page, picture, runs)
        spot = Spot(method.name, (x, y), points, number, ends, share)
        group = (runs[0].study, seeds[0][0].estimate.n) if picture.by_n else (None, 0)
        groups.setdefault(group, []).append(spot)
    joined = [
        (style, [method.name for method in line])
        for style, varied in (("-", TEMPERATURE), ("--", MIN_P))
        for line in lines(page.found.compared.methods, page.task.name, varied)
    ]
    for k, ((study, lists), spots) in enumerate(groups.items()):
        about = ""
        if picture.by_n:
            about = f"{study.name}, n = {lists:,}" if study else f"n = {lists:,}"
            if picture.size:
                size = translatable(page.columns[picture.size].label)
                about = translatable("{about}, size: {size}", about=about, size=size)
        labels = english(picture.across_label), english(picture.up_label)
        by_name = {spot.name: spot for spot in spots}
        drawn = [
            (style, [by_name[name] for name in names if name in by_name])
            for style, names in joined
        ]
        drawn = [(style, line) for style, line in drawn if len(line) > 1]
        chart = scatter_chart(spots, *labels, f"{salt}-{k}", drawn)
        svg = translate_chart(chart)
        keys = [spot.key for spot in spots]
        yield Figure(picture.name, svg, spots=True, about=about, keys=keys)


def _share(page: TaskOnPage, picture: Scatter, runs: Sequence[RunResult]) -> float:
    """How large a spot is beside the largest that there can be."""
    if not picture.size:
        return 1.0
    column = page.columns[picture.size]
    return over_runs([column.fill(run) for run in runs]).estimate.value or 0.0


def _place(cell: Cell) -> float | None:
    """Where a value stands: shares in percent."""
    if not isinstance(cell.value, int | float):
        return None
    return 100 * cell.value if cell.measure.share else cell.value
