"""What the page says of each task: a sentence, and a picture of how far the models are from their base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sozo.eval.compare import Change, Compared
from sozo.eval.outcome import Outcome
from sozo.eval.report.answer import Pair, clause, counts, guards
from sozo.eval.report.cells import change_cell, method_cell
from sozo.eval.report.labels import wording
from sozo.scoring.measure import DASH, Measure
from sozo.scoring.table import Cell, Row
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Lead:
    """What a task's runs come out as."""

    task: str
    sentence: Pair
    rows: Sequence[Row]  # the furthest first, each with one cell: its mean, or its difference from the base
    notes: Mapping[str, tuple[str, Sequence[Pair]]]  # of a model: the label of what it came out as, its guards
    colours: Mapping[str, int]  # of a model
    compared: bool  # whether they are differences

    def place(self, value: float | None) -> float | None:
        """Where a number stands in the picture: between 2 and 98 percent of its width."""
        if value is None:
            return None
        ends = [0.0] if self.compared else []
        for cell in (row.cells[0] for row in self.rows):
            ends += [end for end in (cell.value, cell.low, cell.high) if isinstance(end, int | float)]
        width = max(ends) - min(ends)
        return 2 + 96 * (value - min(ends)) / width if width else 50.0


def lead(task: type[Task], compared: Compared, found: Sequence[Outcome], gains: Sequence[float] = ()) -> Lead:
    """Differences from the base, the furthest first; means where nothing can be compared. There must be a run.

    Lists of nouns are rows to compare with: the sentence neither names nor counts them. `gains` are what the paper's
    trainings gained.
    """
    measure, own = task.measures[0], [method for method in compared.methods if method.of_task(task.name)]
    contestants = [one for one in found if one.task == task.name and one.change.difference is not None]
    if contestants:
        shown = {method.name: method.of_task(task.name)[0].shown(measure) for method in own}
        changes = [compared.changes.get((name, measure.name)) for name in compared.against]
        known = [change for change in changes if change and change.difference is not None]
        of_model = {one.model: one for one in contestants}
        rows = [
            Row(change.model, (_cell(change, of_model.get(change.model), shown[change.model]),), change.base)
            for change in known
        ]
        sentence = _compared(contestants, gains)
    else:
        rows = [Row(method.name, (method_cell(method, measure),)) for method in own]
        sentence = _alone(rows, [method.name for method in own if not method.reference], task, compared)
    notes = {one.model: (f"kind_{one.kind}", guards(one)) for one in contestants}
    return Lead(task.name, sentence, _furthest_first(rows, measure), notes, compared.colours, bool(contestants))


def _cell(change: Change, outcome: Outcome | None, measure: Measure) -> Cell:
    """A difference at the level of the answer, in colour only if every guard held of whoever is higher."""
    if outcome is None:
        return replace(change_cell(change, measure), mark="")
    cell = change_cell(outcome.change, measure)
    return cell if outcome.shown or outcome.kind == "lost" else replace(cell, mark="")


def _furthest_first(rows: Sequence[Row], measure: Measure) -> list[Row]:
    """Those with a number."""
    known = [(row.cells[0].value, row) for row in rows]
    numbers = [(value, row) for value, row in known if isinstance(value, int | float)]
    return [row for _, row in sorted(numbers, key=lambda pair: -pair[0] * (measure.better or 1))]


def _compared(contestants: Sequence[Outcome], gains: Sequence[float]) -> Pair:
    """Of one model what it came out as; of several how many came out as what: none is named, for none is chosen."""
    if len(contestants) > 1:
        return wording("lead_counts", n=len(contestants), counts=counts(one.kind for one in contestants))
    (one,) = contestants
    return wording("lead_compared", model=one.model, clause=clause(one, gains))


def _alone(rows: Sequence[Row], models: Sequence[str], task: type[Task], compared: Compared) -> Pair:
    """Why nothing is compared: nothing has a value, there is one model, none at all, or no two are on one scale."""
    if not models:
        return wording("lead_references", names=", ".join(row.name for row in rows))
    with_value = [row for row in rows if row.name in models and row.cells[0].value is not None]
    if not with_value:
        return wording("lead_empty", model=rows[0].name, why=wording(rows[0].cells[0].why))
    if len(with_value) == 1:
        (row,) = with_value
        lines = (", ".join(wording(line)[k] for line in row.cells[0].lines) for k in range(2))
        number = tuple(f"{row.cells[0].text} ({text})" if text else row.cells[0].text for text in lines)
        return wording("lead_one", model=row.name, number=number)
    changes = [compared.changes.get((name, task.measures[0].name)) for name in models]
    reasons = dict.fromkeys(change.reason for change in changes if change and change.reason) or [DASH]
    why = tuple("; ".join(wording(reason)[k] for reason in reasons) for k in range(2))
    return wording("lead_apart", n=len(with_value), why=why)
