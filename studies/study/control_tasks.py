"""What a study's `control_tasks` say of its rows: whether a trained model understands what its base did."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.eval.outcome import FELL, HELD, BoundState, control_states
from sozo.eval.report.labels import english, measure_label
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import interval, number, signed
from sozo.tasks import finished_run, task_type
from sozo.tasks.run_result import RunResult

KEPT, LOST, OPEN = "kept", "lost", "cannot be said"
_SHARE = Measure("share", 3, share=True)


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """What came out of a control task: the model's own share, and the states of its change and of its errors'."""

    own: Estimate
    states: tuple[BoundState, ...]

    @property
    def verdict(self) -> str:
        """KEPT if each held, LOST if one fell, else OPEN."""
        states = {one.state for one in self.states}
        return LOST if FELL in states else KEPT if states == {HELD} else OPEN

    def text(self) -> str:
        """In one line: the verdict, its figures in points with 95% intervals, why it is open."""
        figures = [] if self.own.mean is None else [f"right {number(self.own.mean, _SHARE)}"]
        for one in (one for one in self.states if one.change.difference is not None):
            name = english(measure_label(one.measure)).lower()
            ends = interval(one.change.low, one.change.high, _SHARE, signed=True)
            figures.append(f"{name} {signed(one.change.difference, _SHARE)} {ends}")
        why = dict.fromkeys(one.why for one in self.states if one.why and self.verdict == OPEN)
        said = f"{self.verdict} ({'; '.join(figures)})" if figures else self.verdict
        return ": ".join((said, *(["; ".join(why)] if why else [])))

    def to_json(self) -> dict[str, Any]:
        """For a JSON file."""
        return {"verdict": self.verdict, **asdict(self)}


def judge_control(task: str, base: RunResult, model: RunResult) -> ControlVerdict:
    """Hold a model's run of a control task against its base's; UserError for a task that is none."""
    if (control := task_type(task).control) is None:
        raise UserError(f"{task} has no control measure; leave it out")
    return ControlVerdict(model.estimate(control.measure), control_states(control, base, model))


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
        for row, run in by_row.items():
            if (base := bases.get(row)) is not None:
                if base not in by_row:
                    raise UserError(f"{task}: {row} is compared with {base}, of which there is no run")
                verdicts.setdefault(task, {})[row] = judge_control(task, by_row[base], run)
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
