"""One place of a table: the number, what it rests on, the paper's figure, the difference from the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from data.jcq import TASKS
from eval.compare import Change, item_scores
from eval.finished import Evaluated
from eval.statistics import mean_interval

DASH = "–"
Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a reader sees.

    Args:
        value: The number, or a dash.
        small: Lines below it: its 95% interval, what it rests on (n of N).
        paper: The paper's figure.
        change: The difference from the base model with its interval.
        mark: `up` or `down` where that difference is significant.
        heat: The number, where the table is a heat map.
    """

    value: str
    small: tuple[str, ...] = ()
    paper: str = ""
    change: str = ""
    mark: str = ""
    heat: float | None = None


def cell(value: float | None, style: Format, ends: tuple[float, float] | None, *small: str) -> Cell:
    """A number with its interval; a dash for none.

    >>> cell(0.5, digits(2), (0.4, 0.6), "3 / 4").small
    ('0.40 – 0.60', '3 / 4')
    """
    between = () if ends is None else (f"{style(ends[0])} – {style(ends[1])}",)
    return Cell(DASH if value is None else style(value), (*between, *small))


def digits(places: int) -> Format:
    """So many decimals."""
    return lambda value: f"{value:.{places}f}"


def share(value: float) -> str:
    """A share in percent."""
    return f"{value:.2%}"


def of(part: int, whole: int) -> str:
    """n of N."""
    return f"{part:,} / {whole:,}"


def jcq_cell(model: Evaluated, column: str) -> Cell:
    """Mean over questions, its interval, n of N answers."""
    assert model.jcq
    scores, name = model.jcq.scores, column.partition("/")[2]
    which = [k for k, question in enumerate(scores.questions) if name not in TASKS or question.task == name]
    found = mean_interval([value for value in item_scores(model, column).values() if value is not None])
    answers = of(int(scores.scored[which].sum()), int(scores.asked[which].sum()))
    made = cell(found.mean, digits(2), ends(found.low, found.high), answers)
    return replace(made, heat=found.mean)


def with_change(made: Cell, change: Change | None, style: Format) -> Cell:
    """The cell with its difference from the base."""
    if change is None or change.difference is None:
        return made
    text = signed(change.difference, style)
    if change.low is not None and change.high is not None:
        text += f" [{signed(change.low, style)}, {signed(change.high, style)}]"
    return replace(made, change=text, mark=_mark(change))


def change_cell(change: Change | None, style: Format) -> Cell:
    """A difference with interval, effect size, corrected p-value and n; where there is none, why."""
    if change is None:
        return Cell(DASH)
    small = []
    if change.low is not None and change.high is not None:
        small.append(f"{signed(change.low, style)} – {signed(change.high, style)}")
    if change.effect is not None:
        small.append(f"d = {signed(change.effect, digits(2))}")
    if change.p_holm is not None:
        small.append("p < 0.001" if change.p_holm < 0.001 else f"p = {change.p_holm:.3f}")
    if change.reason is not None:
        small.append(change.reason)
    if change.difference is None:
        return Cell(DASH, tuple(small))
    small.append(f"n = {change.n:,}" if change.n == change.of else f"n = {of(change.n, change.of)}")
    return Cell(signed(change.difference, style), tuple(small), mark=_mark(change))


def ends(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Both ends of an interval, or none."""
    return None if low is None or high is None else (low, high)


def signed(value: float, style: Format) -> str:
    """With its sign, a true minus."""
    return f"{'−' if value < 0 else '+'}{style(abs(value))}"


def _mark(change: Change) -> str:
    if not change.significant or not change.difference:
        return ""
    return "up" if change.difference > 0 else "down"
