"""What the page begins with: for each task a sentence, and a picture of how far the models are from their base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sozo.eval.compare import Change, Changes
from sozo.eval.report.cells import change_cell, estimate_cell
from sozo.eval.report.labels import filled
from sozo.eval.report.published import Published
from sozo.eval.report.said import japanese
from sozo.eval.report.seed_rows import method_cell
from sozo.eval.report.svg import SERIES
from sozo.eval.seeds import Method
from sozo.scoring.measure import DASH, Cell, Measure, mean_cell
from sozo.tasks.finished import Finished
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True)
class LeadRow:
    """A model in the picture: places are percent of its width."""

    name: str
    colour: int
    cell: Cell  # the number with what stands behind it
    base: str  # what it is a difference from; empty for a mean
    at: float
    low: float | None  # ends of the interval
    high: float | None
    published: bool = False  # whether it is the paper's


@dataclass(frozen=True, slots=True)
class Lead:
    """What a task's runs come out as."""

    task: str
    sentence: tuple[str, str]  # in English and in Japanese
    rows: tuple[LeadRow, ...] = ()  # the best model first
    zero: float | None = None  # where there is no difference, of a picture of differences


@dataclass(frozen=True, slots=True)
class _Value:
    name: str
    colour: int
    cell: Cell
    base: str
    value: float
    low: float | None = None
    high: float | None = None
    published: bool = False


def lead(
    task: type[Task],
    methods: Sequence[Method],
    changes: Changes,
    papers: Sequence[tuple[Published, tuple[float, ...]]] = (),
) -> Lead:
    """Differences from the base, the best first; means where nothing can be compared. There must be a run.

    `papers` are the paper's models with their means: their differences are from their own bases.
    """
    measure = task.measures[0]
    runs = {k: runs[0] for k, method in enumerate(methods) if (runs := method.of_task(task.name))}
    of_task = [change for method in methods if (change := changes.get((method.name, measure.name)))]
    compared = [change for change in of_task if change.difference is not None]
    if compared:
        numbers = {method.name: k for k, method in enumerate(methods)}
        values = [_difference(change, runs[numbers[change.model]], numbers[change.model]) for change in compared]
        sentence = _compared(compared, values, measure)
    else:
        cells = {k: method_cell(methods[k], measure) for k in runs}
        values = [_mean(methods[k].name, k, cell) for k, cell in cells.items() if "value" in cell.exact]
        sentence = _alone(methods, runs, values, of_task, measure)
    values += _published(papers, measure, bool(compared))
    ends = [end for v in values for end in (v.value, v.low, v.high) if end is not None] + [0.0] * bool(compared)
    rows = tuple(_row(v, ends) for v in _best_first(values, measure))
    return Lead(task.name, sentence, rows, _place(0.0, ends) if compared else None)


def _difference(change: Change, run: Finished, number: int) -> _Value:
    cell = change_cell(change, run.shown(run.main))
    return _Value(change.model, number, cell, change.base, change.difference or 0.0, change.low, change.high)


def _mean(name: str, number: int, cell: Cell) -> _Value:
    value, low, high = (None if (n := cell.exact.get(key)) is None else float(n) for key in ("value", "low", "high"))
    return _Value(name, number, cell, "", value or 0.0, low, high)


def _published(papers: Sequence[tuple[Published, tuple[float, ...]]], measure: Measure, compared: bool) -> list[_Value]:
    """The paper's means; or, of the models that it trained, differences: it prints no intervals."""
    means = {model.name: values[0] for model, values in papers}
    shown = replace(measure, digits=min(measure.digits, 3))
    if not compared:
        return [_Value(name, 0, mean_cell(mean, shown), "", mean, published=True) for name, mean in means.items()]
    values = []
    for model, _ in papers:
        if model.base in means:
            change = Change(model.name, model.base, measure.name, means[model.name] - means[model.base])
            cell = replace(change_cell(change, shown), small=())
            values.append(_Value(model.name, 0, cell, model.base, change.difference or 0.0, published=True))
    return values


def _best_first(values: Sequence[_Value], measure: Measure) -> list[_Value]:
    return sorted(values, key=lambda v: -v.value * (measure.better or 1))


def _row(v: _Value, ends: Sequence[float]) -> LeadRow:
    low, high = (None if end is None else _place(end, ends) for end in (v.low, v.high))
    return LeadRow(v.name, v.colour % SERIES, v.cell, v.base, _place(v.value, ends), low, high, v.published)


def _place(value: float, ends: Sequence[float]) -> float:
    """Between 2 and 98 percent of the picture's width.

    >>> _place(1.0, [0.0, 2.0])
    50.0
    """
    width = max(ends) - min(ends)
    return 2 + 96 * (value - min(ends)) / width if width else 50.0


def _compared(compared: Sequence[Change], values: Sequence[_Value], measure: Measure) -> tuple[str, str]:
    first = _best_first(values, measure)[0]
    sign = measure.better or 1
    ahead = sum(change.significant and (change.difference or 0.0) * sign > 0 for change in compared)
    behind = sum(change.significant and (change.difference or 0.0) * sign < 0 for change in compared)
    facts = {"n": len(compared), "ahead": ahead, "behind": behind, "base": first.base}
    facts |= {"open": len(compared) - ahead - behind}
    return _say("lead_compared" if ahead else "lead_none_ahead", first.name, first.cell, facts)


def _alone(
    methods: Sequence[Method],
    runs: Mapping[int, Finished],
    values: Sequence[_Value],
    changes: Sequence[Change],
    measure: Measure,
) -> tuple[str, str]:
    """Why nothing is compared: nothing has a value, there is one model, or they are on different scales."""
    if not values:
        number, run = next(iter(runs.items()))
        cell = estimate_cell(run, measure)
        return _say("lead_empty", methods[number].name, cell, {"why": (cell.why, japanese(cell.why))})
    first = _best_first(values, measure)[0]
    reasons = dict.fromkeys(change.reason for change in changes if change.reason)
    key = "lead_apart" if len(values) > 1 else "lead_one"
    why = "; ".join(reasons) or DASH
    return _say(key, first.name, first.cell, {"why": (why, japanese(why))})


def _say(key: str, model: str, cell: Cell, facts: Mapping[str, object]) -> tuple[str, str]:
    """A label's sentence about a model, in both languages."""
    small = (", ".join(cell.small), ", ".join(map(japanese, cell.small)))
    number = tuple(f"{cell.value} ({text})" if text else cell.value for text in small)
    return filled(key, {"model": model, "number": number, **facts})
