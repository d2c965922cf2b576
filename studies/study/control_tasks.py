"""What a study's `control_tasks` say of its rows: what a model understands, and its difference from its base."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.eval.evaluated import not_alike
from sozo.eval.report.labels import english
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.numbers import SHARE, number
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell
from sozo.studies.study.claims import seeds_cell
from sozo.tasks import finished_run, task_type
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Control

Controls = Mapping[
    Measure, Mapping[str, Cell]
]  # by row: its share, and below it the difference from its base


def control_of(task: str) -> Control:
    """What a task says of understanding; UserError for a task that says nothing of it."""
    if (control := task_type(task).control) is None:
        raise UserError(
            f"control_tasks: {task} has no control measure, by which a loss of understanding shows"
        )
    return control


def control_rows(
    folders: Iterable[tuple[str, Path]], bases: Mapping[str, str]
) -> Controls:
    """Of runs' folders by row (a row may come once for each task), each row beside its base."""
    runs: dict[str, dict[str, RunResult]] = {}
    for row, folder in folders:
        if (run := finished_run(folder)) is None:
            raise UserError(
                f"{folder}: holds no finished run; a study's step, or sozo run, makes one"
            )
        runs.setdefault(run.task, {})[row] = run
    found: dict[Measure, dict[str, Cell]] = {}
    for task, by_row in runs.items():
        for row, base in bases.items():
            if row in by_row and base not in by_row:
                raise UserError(
                    f"{task}: {row} is compared with {base}, of which there is no run"
                )
        for measure in control_of(task).measures:
            asked = {row: run for row, run in by_row.items() if run.by_item(measure)}
            if asked:
                found[measure] = {
                    row: _cell(run, asked.get(bases.get(row, "")), measure)
                    for row, run in asked.items()
                }
    return found


def _cell(run: RunResult, base: RunResult | None, measure: Measure) -> Cell:
    """A run's share and, of a run that has a base, the difference over the items of both; or why there is none."""
    cell = run.cell(measure)
    if base is None:
        return cell
    apart = not_alike(base, run, measure)
    return _beside(
        cell, Estimate(reason=apart) if apart else run.against(base, measure)
    )


def _beside(cell: Cell, change: Estimate) -> Cell:
    """The cell of a share with its difference from the base's, and why that has no interval, or is not there."""
    if change.value is None:
        return replace(cell, below=(f"not compared: {change.reason}",))
    shown = Cell(cell.measure.inside(change, DIFFERENCE), cell.measure, DIFFERENCE)
    return replace(cell, change=shown, below=(change.reason,) if change.reason else ())


def over_arm(cells: Mapping[int, Cell]) -> Cell | None:
    """Of an arm's rows by seed: of one its own cell, of several the means over seeds of share and difference."""
    if len(cells) < 2:
        return next(iter(cells.values()), None)
    measure = next(iter(cells.values())).measure
    shares = {
        seed: cell.estimate.value
        for seed, cell in cells.items()
        if cell.estimate.value is not None
    }
    changes = {
        seed: cell.change.estimate.value
        for seed, cell in cells.items()
        if cell.change is not None
    }
    known = {seed: value for seed, value in changes.items() if value is not None}
    mean = seeds_cell(over_seeds(shares) if shares else None, measure)
    if known:
        return _beside(mean, over_seeds(known))
    return replace(
        mean,
        below=tuple(
            dict.fromkeys(line for cell in cells.values() for line in cell.below)
        ),
    )


def to_json(controls: Controls) -> dict[str, Any]:
    """For a JSON file: measure -> row -> its share, the difference from its base, and what else is to be said."""
    found: dict[str, Any] = {}
    for measure, by_row in controls.items():
        rows = found[measure.name] = {}
        for row, cell in by_row.items():
            change = cell.change.estimate.to_json() if cell.change else None
            rows[row] = cell.estimate.to_json() | {
                "difference": change,
                "notes": list(cell.below),
            }
    return found


def heading(measure: Measure) -> str:
    """Of the column."""
    own = measure == control_of(measure.task).measure
    return f"{'Understanding' if own else english(measure.short)} ({measure.task})"


def explanation(measure: Measure) -> str:
    """What the column says."""
    control = control_of(measure.task)
    what = "of answers that are wrong however they are read"
    if measure == control.measure:
        what = f"of right answers; who guesses, or always says the same, has {number(control.chance, SHARE)}"
    return (
        f"{heading(measure)}: the share {what}. In brackets: its 95% interval over items. Then the difference from the "
        "base, over the items that both answered, with its 95% interval. Over several seeds: the means, with Student's "
        "intervals over the seeds."
    )
