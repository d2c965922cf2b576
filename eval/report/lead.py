"""What the page begins with: for each task a sentence, and a picture of how far the models are from their base."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sozo.eval.compare import Change, Compared
from sozo.eval.report.cells import change_cell, method_cell
from sozo.eval.report.labels import wording
from sozo.eval.report.published import Published
from sozo.eval.report.tables import in_the_paper
from sozo.scoring.measure import DASH, Measure
from sozo.scoring.table import Cell, Row
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Lead:
    """What a task's runs come out as."""

    task: str
    sentence: tuple[str, str]  # in English and in Japanese
    rows: Sequence[Row]  # the best model first, each with one cell: its mean, or its difference from the base
    colours: Mapping[str, int]  # of a model; the paper's have none
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


def lead(task: type[Task], compared: Compared, papers: Sequence[tuple[Published, tuple[float, ...]]] = ()) -> Lead:
    """Differences from the base, the best first; means where nothing can be compared. There must be a run.

    Lists of nouns and the paper's models are rows to compare with: the sentence neither names nor counts them. `papers`
    are the paper's models with their means: their differences are from their own bases.
    """
    measure, own = task.measures[0], [method for method in compared.methods if method.of_task(task.name)]
    references = {method.name for method in own if method.reference}
    changes = [change for name in compared.against if (change := compared.changes.get((name, measure.name)))]
    known = [change for change in changes if change.difference is not None]
    contestants = [change for change in known if change.model not in references]
    if contestants:
        shown = {method.name: method.of_task(task.name)[0].shown(measure) for method in own}
        rows = [Row(change.model, (change_cell(change, shown[change.model]),), change.base) for change in known]
    else:
        rows = [Row(method.name, (method_cell(method, measure),)) for method in own]
    named = [row for row in rows if row.name not in references]
    if contestants:
        sentence = _compared(contestants, _best_first(named, measure)[0], measure)
    else:
        sentence = _alone(named or rows, changes, measure)
    rows = _best_first([*rows, *_published(papers, measure, bool(contestants))], measure)
    return Lead(task.name, sentence, rows, compared.colours, bool(contestants))


def _published(
    papers: Sequence[tuple[Published, tuple[float, ...]]], measure: Measure, compared: bool
) -> Iterator[Row]:
    """The paper's means; or, of the models that it trained, differences: it prints no intervals."""
    means = {model.name: values[0] for model, values in papers}
    shown = in_the_paper(measure)
    for model, _ in papers:
        if not compared:
            yield Row(model.name, (Cell(means[model.name], shown),), published=True)
        elif model.base in means:
            cell = Cell(means[model.name] - means[model.base], shown, signed=True)
            yield Row(model.name, (cell,), model.base, published=True)


def _best_first(rows: Sequence[Row], measure: Measure) -> list[Row]:
    """Those with a number."""
    known = [(row.cells[0].value, row) for row in rows]
    numbers = [(value, row) for value, row in known if isinstance(value, int | float)]
    return [row for _, row in sorted(numbers, key=lambda pair: -pair[0] * (measure.better or 1))]


def _compared(compared: Sequence[Change], best: Row, measure: Measure) -> tuple[str, str]:
    sign = measure.better or 1
    ahead = sum(change.significant and (change.difference or 0.0) * sign > 0 for change in compared)
    behind = sum(change.significant and (change.difference or 0.0) * sign < 0 for change in compared)
    facts = {"n": len(compared), "ahead": ahead, "behind": behind, "base": best.base}
    facts |= {"open": len(compared) - ahead - behind}
    return _say("lead_compared" if ahead else "lead_none_ahead", best, **facts)


def _alone(rows: Sequence[Row], changes: Sequence[Change], measure: Measure) -> tuple[str, str]:
    """Why nothing is compared: nothing has a value, there is one model, or they are on different scales."""
    best = _best_first(rows, measure)
    if not best:
        return _say("lead_empty", rows[0], why=wording(rows[0].cells[0].why))
    reasons = dict.fromkeys(change.reason for change in changes if change.reason) or [DASH]
    why = tuple("; ".join(wording(reason)[k] for reason in reasons) for k in range(2))
    key = "lead_apart" if len(best) > 1 else "lead_one"
    return _say(key, best[0], why=why)


def _say(key: str, row: Row, **facts: object) -> tuple[str, str]:
    """A label's sentence about a model, in both languages."""
    (cell,) = row.cells
    lines = (", ".join(wording(line)[k] for line in cell.lines) for k in range(2))
    number = tuple(f"{cell.text} ({text})" if text else cell.text for text in lines)
    return wording(key, model=row.name, number=number, **facts)
