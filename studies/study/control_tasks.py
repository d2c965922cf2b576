"""What a study's `control_tasks` say of its rows: what a model understands, and its difference from its base."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sozo.eval.evaluated import not_alike
from sozo.eval.findings import first_measures
from sozo.eval.report.labels import english
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.scoring.table import Cell
from sozo.tasks import finished_run, task_type
from sozo.tasks.run_result import RunResult

Controls = Mapping[
    Measure, Mapping[str, Cell]
]  # by row: its share, and below it the difference from its base

EXPLANATION = (
    "Of a control task: the mean. In brackets: its 95% interval over items. Then the difference from the model before any "
    "training, over the items that both answered, with its 95% interval. Over several seeds: the mean, with Student's "
    "interval over the seeds."
)


def control_rows(
    folders: Iterable[tuple[str, Path]], bases: Mapping[str, str]
) -> Controls:
    """Of runs' folders by row (a row may come once for each task), each row beside its base."""
    runs: dict[str, dict[str, RunResult]] = {}
    for row, folder in folders:
        if run := finished_run(folder):
            runs.setdefault(run.task, {})[row] = run
    found: dict[Measure, dict[str, Cell]] = {}
    for task, by_row in runs.items():
        for measure in first_measures(task_type(task)):
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
    change = Estimate(reason=apart) if apart else run.against(base, measure)
    if change.value is None:
        return replace(cell, below=(f"not compared: {change.reason}",))
    shown = Cell(cell.measure.inside(change, DIFFERENCE), cell.measure, DIFFERENCE)
    return replace(cell, change=shown, below=(change.reason,) if change.reason else ())


def heading(measure: Measure) -> str:
    """Of the column."""
    return f"{english(measure.short)} ({measure.task})"
