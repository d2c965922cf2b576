"""The evaluation page's table of the guard: gains by the runs' own encoder, and by one that nobody trained on."""

from collections.abc import Mapping, Sequence

from eval.evaluated import Evaluated, not_alike
from eval.report.tables import PageTable
from rewards.guard import Gain, Guard, gain
from rewards.measure import DASH, Cell
from rewards.task import Task


def guard_tables(
    tasks: Sequence[type[Task]], models: Sequence[Evaluated], against: Mapping[str, Evaluated], guard: Guard
) -> list[PageTable]:
    """A table for each task that a second encoder can score: both gains of every model over its base."""
    tables = []
    for task in tasks:
        runs = {model.name: run for model in models if (run := model.run(task.name))}
        scores = {name: found for name, run in runs.items() if (found := run.guarded(guard)) is not None}
        rows, bases = [], {}
        for name in scores:
            if name not in against or (base := against[name].name) not in scores:
                continue
            one, other = runs[base], runs[name]
            own = None if not_alike(one, other) else gain(one.by_answer(one.main), other.by_answer(other.main))
            rows.append((name, (_cell(own), _cell(gain(scores[base], scores[name])))))
            bases[name] = base
        if rows:
            columns = ("model", "gain_own", guard.encoder.name)
            tables.append(PageTable("guard", columns, tuple(rows), ("guard_note",), against=bases))
    return tables


def _cell(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell(DASH)
    return Cell(f"{gain.deviations:+.2f}", (f"{gain.low:+.2f} – {gain.high:+.2f}", f"n = {gain.n:,}, {gain.base_n:,}"))
