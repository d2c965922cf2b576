"""Cells of the page: differences from the base, and means over training seeds."""

from collections.abc import Sequence
from dataclasses import replace

from sozo.eval.compare import Change
from sozo.scoring.measure import LEVEL, Measure
from sozo.scoring.numbers import n_of, p_value, signed
from sozo.scoring.statistics.comparison import Comparison
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell
from sozo.scoring.translatable import translatable

_EFFECT = Measure("effect", 2)
_NEGLIGIBLE, _LARGE = 0.2, 0.8  # below and from on, in Cohen's d


def change_cell(change: Comparison | None, measure: Measure, *below: str, level: float = LEVEL) -> Cell:
    """A difference with interval (of `level`), n, p, effect and what else stands `below`; or why there is none."""
    if change is None:
        return Cell(why="no_run", below=below)
    if change.difference is None:
        return Cell(why=change.reason or "", below=(*([change.reason] if change.reason else []), *below))
    of_seeds = isinstance(change, Change) and change.seeds
    apart = not (measure.per_item or of_seeds)  # two numbers of answers, and no n of N
    lines = [f"n = {change.n:,}, {change.of:,}"] if apart else []
    more: dict[str, float | str] = {"level": level} if level != LEVEL and change.low is not None else {}
    if more:
        lines.append(translatable("interval of {level}%", level=f"{100 * level:.4g}"))
    lines += [p_value(change.p)] if change.p is not None else []
    lines += [f"d = {signed(change.effect, _EFFECT)}"] if change.effect is not None else []
    lines += [change.reason] if change.reason is not None else []
    if of_seeds:
        lines.append(translatable("over seeds, {how}", how=of_seeds))
    numbers = {"n": change.n, "of": change.of, "effect": change.effect, "p": change.p, "reason": change.reason}
    return Cell(
        change.difference,
        measure,
        change.low,
        change.high,
        None if apart else change.n,
        None if apart else change.of,
        (*lines, *below),
        signed=True,
        mark=mark_of(change, measure),
        more=more | {name: number for name, number in numbers.items() if number is not None},
    )


def with_change(cell: Cell, change: Change | None, measure: Measure) -> Cell:
    """The cell with its difference from the base below it."""
    if change is None or change.difference is None:
        return cell
    shown = replace(change_cell(change, measure), n=None, of=None, below=(), more={})
    return replace(cell, change=shown)


def mark_of(change: Comparison | None, measure: Measure) -> str:
    """A star where the interval leaves 0; a colour if the effect is not negligible, deep if large (Cohen, 1988)."""
    if change is None or not change.sign:
        return ""
    size = abs(change.effect or 0.0)
    marks = ["significant"]
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
    if not values or len(cells) == 1:
        return Cell(why=cells[0].why) if len(cells) > 1 else cells[0]
    first = cells[next(iter(values))]
    mean = over_seeds(values)
    below = () if len(values) == len(cells) else (translatable("{n} seeds", n=n_of(mean.n, len(cells))),)
    return Cell(
        mean.mean,
        first.measure,
        mean.low,
        mean.high,
        below=below,
        signed=first.signed,
        more={"n": mean.n, "of": len(cells)},
    )
