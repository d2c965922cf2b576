"""What the report says of the guard: gains by the runs' own encoder, and by one that nobody trained on."""

from collections.abc import Sequence
from dataclasses import dataclass

from sozo.eval.compare import Compared
from sozo.eval.evaluated import not_alike
from sozo.eval.report.tables import fold_rows
from sozo.scoring.guard import Gain, Guard, gain
from sozo.scoring.measure import Measure
from sozo.scoring.table import Cell, Row, Table
from sozo.tasks.task import Task

_DEVIATIONS = Measure("deviations", 2)


@dataclass(frozen=True, slots=True)
class Guarded:
    """A model's gains over its base in a task's main measure."""

    task: str
    model: str
    base: str
    encoder: str  # the guard's name
    revision: str
    own: Gain | None  # None where both runs are not on one scale
    guard: Gain | None  # None where it can score too few


def guard_gains(tasks: Sequence[type[Task]], compared: Compared, guard: Guard) -> list[Guarded]:
    """Both gains of every model over its base, in the tasks that a second encoder can score."""
    gains = []
    for task in tasks:
        runs = {model.name: run for model in compared.models if (run := model.run(task.name))}
        scores = {name: scored for name, run in runs.items() if (scored := run.guarded(guard)) is not None}
        for base, name in ((base.name, model.name) for base, model in compared.pairs):
            if base in scores and name in scores:
                one, other = runs[base], runs[name]
                own = None if not_alike(one, other) else gain(one.by_answer(one.main), other.by_answer(other.main))
                names = (task.name, name, base, guard.encoder.name, guard.encoder.revision)
                gains.append(Guarded(*names, own, gain(scores[base], scores[name])))
    return gains


def guard_tables(gains: Sequence[Guarded], compared: Compared) -> list[Table]:
    """A table for each task, with the seeds of a method in one row."""
    by_task: dict[str, list[Guarded]] = {}
    for row in gains:
        by_task.setdefault(row.task, []).append(row)
    tables = []
    for rows in by_task.values():
        shown = tuple(Row(row.model, (_cell(row.own), _cell(row.guard)), row.base) for row in rows)
        table = Table("guard", ("model", "gain_own", rows[0].encoder), shown, ("guard_note",))
        tables.append(fold_rows(table, compared))
    return tables


def _cell(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell()
    counts = (f"n = {gain.n:,}, {gain.base_n:,}",)
    more = {"n": gain.n, "base_n": gain.base_n}
    return Cell(gain.deviations, _DEVIATIONS, gain.low, gain.high, below=counts, signed=True, more=more)
