"""Numbers as people read them, and a place of a table, for the report and the terminal."""

from __future__ import annotations

from dataclasses import dataclass

from rewards.measure import Measure

DASH = "–"
Ends = tuple[float | None, float | None]  # of an interval; None where there is none


@dataclass(frozen=True, slots=True)
class Cell:
    """What a reader sees in one place of a table."""

    value: str  # the number, or a dash
    small: tuple[str, ...] = ()  # lines below it: its 95% interval, what it rests on (n of N)
    paper: str = ""  # the paper's figure
    change: str = ""  # the difference from the base model with its interval
    mark: str = ""  # `up` or `down` where that difference is significant
    heat: float | None = None  # the number, where the table is a heat map


def number(value: float | None, measure: Measure) -> str:
    """A measure's value; a dash for none.

    >>> number(0.5, Measure("a", share=True)), number(0.5, Measure("b", digits=2)), number(None, Measure("c"))
    ('50.00%', '0.50', '–')
    """
    if value is None:
        return DASH
    return f"{value:.2%}" if measure.share else f"{value:.{measure.digits}f}"


def ends_text(ends: Ends | None, measure: Measure) -> str:
    """An interval; nothing where there is none."""
    return "" if ends is None or None in ends else f"{number(ends[0], measure)} – {number(ends[1], measure)}"


def estimate_text(measure: Measure, mean: float | None, ends: Ends, n: int, of: int) -> str:
    """An estimate in one line of the terminal's table.

    >>> estimate_text(Measure("a", 2), 0.5, (0.4, 0.6), 3, 4)
    '0.50 (0.40 – 0.60), 3 of 4'
    """
    interval = ends_text(ends, measure)
    return f"{number(mean, measure)}{interval and f' ({interval})'}, {n:,} of {of:,}"


def mean_cell(value: float | None, measure: Measure, ends: Ends | None = None, *small: str) -> Cell:
    """A measure's value with its interval, if it has one, below it.

    >>> mean_cell(0.5, Measure("a", 2), (0.4, 0.6), "3 / 4").small
    ('0.40 – 0.60', '3 / 4')
    """
    interval = ends_text(ends, measure)
    return Cell(number(value, measure), (interval, *small) if interval else small)


def n_of(part: int, total: int) -> str:
    """n of N, in a cell."""
    return f"{part:,} / {total:,}"


def percent(part: int, total: int) -> str:
    """`part` of `total` in percent, a dash of nothing."""
    return f"{part / total:.2%}" if total else DASH
