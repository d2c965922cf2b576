"""What the tasks among a study's `guards` say of its rows: whether a trained model understands what its base did."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sozo.data.errors import UserError
from sozo.eval.control import ControlVerdict, judge_control
from sozo.tasks import finished_run, task_type
from sozo.tasks.dat.table11 import Table11

Verdicts = Mapping[str, Mapping[str, ControlVerdict]]  # task -> row -> verdict, of rows that are not their own base
NOBODY: Verdicts = MappingProxyType({})  # of a study without guards


def check_guards(given: Any) -> tuple[str, ...]:
    """The names of a YAML's `guards`: tasks with a control measure."""
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise UserError("guards must be a list of tasks such as [sipen]")
    for name in given:
        if task_type(name).control is None:
            raise UserError(f"guards: {name} has no control measure, by which a loss of understanding shows")
    return tuple(dict.fromkeys(given))


def judge_rows(folders: Iterable[tuple[str, Path]], bases: Mapping[str, str]) -> Verdicts:
    """Of runs' folders by row (a row may come once for each task), each row against its base."""
    runs: dict[str, dict[str, Any]] = {}
    for row, folder in folders:
        if (run := finished_run(folder)) is None:
            raise UserError(f"{folder}: holds no finished run; recipes/measure.py makes one")
        runs.setdefault(run.task, {})[row] = run
    verdicts: dict[str, dict[str, ControlVerdict]] = {}
    for task, own in runs.items():
        if (control := task_type(task).control) is None:
            raise UserError(f"{task} has no control measure; leave it out")
        for row, run in own.items():
            if (base := bases.get(row)) is not None:
                if base not in own:
                    raise UserError(f"{task}: {row} is compared with {base}, of which there is no run")
                verdicts.setdefault(task, {})[row] = judge_control(control, own[base], run)
    return verdicts


def heading(task: str) -> str:
    """Of the column."""
    return f"Understanding ({task})"


def with_verdicts(table: Table11, verdicts: Verdicts) -> Table11:
    """Table 11 with a column for each guard; a row that is not guarded has a dash."""
    rows = []
    for row in table.rows:
        said = {task: of_row.get(row.summary.source) for task, of_row in verdicts.items()}
        texts = tuple((heading(task), verdict.text() if verdict else "–") for task, verdict in said.items())
        rows.append(replace(row, verdicts=texts))
    return replace(table, rows=tuple(rows))


def explanation(task: str) -> str:
    """What the column says."""
    control = task_type(task).control
    assert control is not None
    margin, chance = 100 * control.margin, control.chance
    return (
        f"{heading(task)}: the model's share of right answers to the task's controls, and the difference from the "
        f"base with its 95% interval. Kept: the whole interval is above −{margin:g} points, and the model above chance "
        f"({chance:.1%}). Lost: all of it is below −{margin:g} points. It cannot be said where the base is not "
        f"above chance, or of fewer than {control.least} controls."
    )
