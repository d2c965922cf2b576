"""What the page begins with: for each task a sentence, and a picture of how far the models are from their base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sozo.eval.compare import Change, Changes
from sozo.eval.report.cells import change_cell, method_cell
from sozo.eval.report.labels import filled
from sozo.eval.report.published import Published
from sozo.eval.report.said import japanese
from sozo.eval.report.tables import in_the_paper
from sozo.eval.seeds import Method
from sozo.scoring.measure import DASH, Measure
from sozo.scoring.table import Cell
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True)
class LeadRow:
    """A model in the picture."""

    name: str
    colour: int
    cell: Cell  # its mean, or its difference from the base
    base: str = ""  # what it is a difference from; empty for a mean
    published: bool = False  # whether it is the paper's

    @property
    def value(self) -> float:
        """The mean or the difference."""
        assert isinstance(self.cell.value, int | float)
        return self.cell.value


@dataclass(frozen=True, slots=True)
class Lead:
    """What a task's runs come out as."""

    task: str
    sentence: tuple[str, str]  # in English and in Japanese
    rows: tuple[LeadRow, ...] = ()  # the best model first
    compared: bool = False  # whether they are differences

    def place(self, value: float | None) -> float | None:
        """Where a number stands in the picture: between 2 and 98 percent of its width."""
        if value is None:
            return None
        ends = [0.0] if self.compared else []
        for row in self.rows:
            ends += [end for end in (row.value, row.cell.low, row.cell.high) if end is not None]
        width = max(ends) - min(ends)
        return 2 + 96 * (value - min(ends)) / width if width else 50.0


def lead(
    task: type[Task],
    methods: Sequence[Method],
    changes: Changes,
    papers: Sequence[tuple[Published, tuple[float, ...]]] = (),
) -> Lead:
    """Differences from the base, the best first; means where nothing can be compared. There must be a run.

    Lists of nouns and the paper's models are rows to compare with: the sentence neither names nor counts them. `papers`
    are the paper's models with their means: their differences are from their own bases.
    """
    measure = task.measures[0]
    own = [change for method in methods if (change := changes.get((method.name, measure.name)))]
    references = {method.name for method in methods if method.reference}
    compared = [change for change in own if change.difference is not None]
    contestants = [change for change in compared if change.model not in references]
    if contestants:
        numbers = {method.name: k for k, method in enumerate(methods)}
        rows = []
        for change in compared:
            run = methods[numbers[change.model]].of_task(task.name)[0]
            cell = change_cell(change, run.shown(measure))
            rows.append(LeadRow(change.model, numbers[change.model], cell, change.base))
        best = _best_first([row for row in rows if row.name not in references], measure)[0]
        sentence = _compared(contestants, best, measure)
    else:
        rows = []
        for number, method in enumerate(methods):
            if method.of_task(task.name):
                cell = method_cell(method, measure)
                rows.append(LeadRow(method.name, number, cell))
        sentence = _alone([row for row in rows if row.name not in references] or rows, own, measure)
    rows += _published(papers, measure, bool(contestants))
    shown = [row for row in rows if row.cell.value is not None]
    return Lead(task.name, sentence, tuple(_best_first(shown, measure)), bool(contestants))


def _published(
    papers: Sequence[tuple[Published, tuple[float, ...]]], measure: Measure, compared: bool
) -> list[LeadRow]:
    """The paper's means; or, of the models that it trained, differences: it prints no intervals."""
    means = {model.name: values[0] for model, values in papers}
    rows, shown = [], in_the_paper(measure)
    for model, _ in papers:
        if not compared:
            rows.append(LeadRow(model.name, 0, Cell(means[model.name], shown), published=True))
        elif model.base in means:
            cell = Cell(means[model.name] - means[model.base], shown, signed=True)
            rows.append(LeadRow(model.name, 0, cell, model.base, published=True))
    return rows


def _best_first(rows: Sequence[LeadRow], measure: Measure) -> list[LeadRow]:
    return sorted(rows, key=lambda row: -row.value * (measure.better or 1))


def _compared(compared: Sequence[Change], best: LeadRow, measure: Measure) -> tuple[str, str]:
    sign = measure.better or 1
    ahead = sum(change.significant and (change.difference or 0.0) * sign > 0 for change in compared)
    behind = sum(change.significant and (change.difference or 0.0) * sign < 0 for change in compared)
    facts = {"n": len(compared), "ahead": ahead, "behind": behind, "base": best.base}
    facts |= {"open": len(compared) - ahead - behind}
    return _say("lead_compared" if ahead else "lead_none_ahead", best, facts)


def _alone(rows: Sequence[LeadRow], changes: Sequence[Change], measure: Measure) -> tuple[str, str]:
    """Why nothing is compared: nothing has a value, there is one model, or they are on different scales."""
    with_value = [row for row in rows if row.cell.value is not None]
    if not with_value:
        why = rows[0].cell.why
        return _say("lead_empty", rows[0], {"why": (why, japanese(why))})
    why = "; ".join(dict.fromkeys(change.reason for change in changes if change.reason)) or DASH
    key = "lead_apart" if len(with_value) > 1 else "lead_one"
    return _say(key, _best_first(with_value, measure)[0], {"why": (why, japanese(why))})


def _say(key: str, row: LeadRow, facts: Mapping[str, object]) -> tuple[str, str]:
    """A label's sentence about a model, in both languages."""
    cell = row.cell
    lines = (", ".join(cell.lines), ", ".join(map(japanese, cell.lines)))
    number = tuple(f"{cell.text} ({text})" if text else cell.text for text in lines)
    return filled(key, {"model": row.name, "number": number, **facts})
