"""One place of a table: the number, what it rests on, the paper's figure, the difference from the base."""

from dataclasses import replace

from eval.compare import Change
from eval.summary import estimate_of
from rewards.finished import Finished
from rewards.measure import DASH, Cell, Measure, mean_cell, n_of, number

_EFFECT = Measure("effect", 2)


def estimate_cell(run: Finished, measure: Measure) -> Cell:
    """A measure's mean, its interval, n of N."""
    e = estimate_of(run, measure)
    return replace(mean_cell(e.mean, run.shown(measure), (e.low, e.high), n_of(e.n, e.of)), heat=e.mean)


def with_change(cell: Cell, change: Change | None, measure: Measure) -> Cell:
    """The cell with its difference from the base."""
    if change is None or change.difference is None:
        return cell
    text = _signed(change.difference, measure)
    if change.low is not None and change.high is not None:
        text += f" [{_signed(change.low, measure)}, {_signed(change.high, measure)}]"
    return replace(cell, change=text, mark=_mark(change))


def change_cell(change: Change | None, measure: Measure) -> Cell:
    """A difference with interval, effect size, corrected p-value and n; where there is none, why."""
    if change is None:
        return Cell(DASH)
    small = []
    if change.low is not None and change.high is not None:
        small.append(f"{_signed(change.low, measure)} – {_signed(change.high, measure)}")
    if change.effect is not None:
        small.append(f"d = {_signed(change.effect, _EFFECT)}")
    if change.p_holm is not None:
        small.append(p_text(change.p_holm, change.p_at_most))
    if change.reason is not None:
        small.append(change.reason)
    if change.difference is None:
        return Cell(DASH, tuple(small))
    small.append(f"n = {change.n:,}" if change.n == change.of else f"n = {n_of(change.n, change.of)}")
    return Cell(_signed(change.difference, measure), tuple(small), mark=_mark(change))


def p_text(p: float, at_most: bool = False) -> str:
    """A p-value, or a bound of one.

    >>> p_text(0.0004), p_text(0.0314), p_text(0.0314, at_most=True)
    ('p < 0.001', 'p = 0.031', 'p ≤ 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p {'≤' if at_most else '='} {p:.3f}"


def _signed(value: float, measure: Measure) -> str:
    return f"{'−' if value < 0 else '+'}{number(abs(value), measure)}"


def _mark(change: Change) -> str:
    if not change.significant or not change.difference:
        return ""
    return "up" if change.difference > 0 else "down"
