"""Cells of the page: differences from the base, and means over training seeds."""

from collections.abc import Sequence
from dataclasses import replace

from sozo.eval.compare import Change
from sozo.eval.seeds import Method
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import n_of, signed
from sozo.scoring.said import said
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell

_EFFECT = Measure("effect", 2)
_NEGLIGIBLE, _LARGE = 0.2, 0.8  # below and from on, in Cohen's d


def change_cell(change: Change | None, measure: Measure) -> Cell:
    """A difference with interval, effect size and n; where there is none, why."""
    if change is None:
        return Cell(why="no_run")
    if change.difference is None:
        return Cell(below=(change.reason,) if change.reason else (), why=change.reason or "")
    below = []
    if change.effect is not None:
        below.append(f"d = {signed(change.effect, _EFFECT)}")
    if change.reason is not None:
        below.append(change.reason)
    if change.seeds:
        below.append(said("over seeds, {how}", how=change.seeds))
    numbers = {"effect": change.effect, "p": change.p, "reason": change.reason}
    more = {name: number for name, number in numbers.items() if number is not None}
    return Cell(
        change.difference,
        measure,
        change.low,
        change.high,
        change.n,
        change.of,
        tuple(below),
        signed=True,
        mark=_mark(change, measure),
        more=more,
    )


def with_change(cell: Cell, change: Change | None, measure: Measure) -> Cell:
    """The cell with its difference from the base below it."""
    if change is None or change.difference is None:
        return cell
    shown = replace(change_cell(change, measure), n=None, of=None, below=(), more={})
    return replace(cell, change=shown)


def _mark(change: Change, measure: Measure) -> str:
    """An arrow where the interval leaves 0; a colour if the effect is not negligible, deep if large (Cohen, 1988)."""
    if not change.sign:
        return ""
    size = abs(change.effect or 0.0)
    marks = ["up" if change.sign > 0 else "down"]
    if size >= _NEGLIGIBLE and measure.better:
        marks.append("good" if change.sign * measure.better > 0 else "bad")
        marks += ["deep"] * (size >= _LARGE)
    return " ".join(marks)


def seed_cell(cells: Sequence[Cell]) -> Cell:
    """The mean of seeds' cells with Student's interval over the seeds, written as they are; there must be a cell.

    >>> share = Measure("share", share=True)
    >>> seed_cell([Cell(0.96, share), Cell(0.98, share)]).line
    '97.00% [84.29, 100.00%]'
    """
    values = {k: cell.value for k, cell in enumerate(cells) if isinstance(cell.value, int | float)}
    if not values:
        return Cell(why=cells[0].why)
    first = cells[next(iter(values))]
    mean = over_seeds(values)
    below = () if len(values) == len(cells) else (said("{n} seeds", n=n_of(mean.n, len(cells))),)
    return Cell(
        mean.mean,
        first.measure,
        mean.low,
        mean.high,
        below=below,
        signed=first.signed,
        heat=first.heat,
        more={"n": mean.n, "of": len(cells)},
    )


def method_cell(method: Method, measure: Measure) -> Cell:
    """A measure of a method that has a run of its task, over the seeds if there are several."""
    cells = [run.cell(measure) for run in method.of_task(measure.task)]
    if not method.several:
        return cells[0]
    cell = seed_cell(cells)
    return replace(cell, below=(*cell.below, said("{n} seeds", n=len(cells))))
