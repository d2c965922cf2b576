"""What a study's `control_tasks` say of its rows: whether a trained model understands what its base did."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.eval.control import ControlVerdict, judge_control
from sozo.tasks import finished_run, task_type

Verdicts = Mapping[str, Mapping[str, ControlVerdict]]  # task -> row -> verdict, of rows that are not their own base


def check_control_tasks(names: Iterable[str]) -> None:
    """Refuse a task without a control measure among a YAML's `control_tasks`."""
    for name in names:
        if task_type(name).control is None:
            raise UserError(f"control_tasks: {name} has no control measure, by which a loss of understanding shows")


def judge_rows(folders: Iterable[tuple[str, Path]], bases: Mapping[str, str]) -> Verdicts:
    """Of runs' folders by row (a row may come once for each task), each row against its base."""
    runs: dict[str, dict[str, Any]] = {}
    for row, folder in folders:
        if (run := finished_run(folder)) is None:
            raise UserError(f"{folder}: holds no finished run; recipes/sample_dat.py makes one")
        runs.setdefault(run.task, {})[row] = run
    verdicts: dict[str, dict[str, ControlVerdict]] = {}
    for task, by_row in runs.items():
        if (control := task_type(task).control) is None:
            raise UserError(f"{task} has no control measure; leave it out")
        for row, run in by_row.items():
            if (base := bases.get(row)) is not None:
                if base not in by_row:
                    raise UserError(f"{task}: {row} is compared with {base}, of which there is no run")
                verdicts.setdefault(task, {})[row] = judge_control(control, by_row[base], run)
    return verdicts


def heading(task: str) -> str:
    """Of the column."""
    return f"Understanding ({task})"


def explanation(task: str) -> str:
    """What the column says."""
    control = task_type(task).control
    assert control is not None
    margin, chance = 100 * control.margin, control.chance
    grown = f" or its answers that are wrong by both readings grew by {margin:g}" if control.errors else ""
    return (
        f"{heading(task)}: the model's share of right answers to the task's controls, and the difference from the "
        f"base with its 95% interval. Kept: the whole interval is above −{margin:g} points, and the model above chance "
        f"({chance:.1%}). Lost: all of it is below −{margin:g} points{grown}. It cannot be said where the base is not "
        f"above chance, or of fewer than {control.least} controls."
    )
