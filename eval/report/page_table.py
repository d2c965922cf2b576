"""A table as the page, the terminal and the exported files show it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sozo.scoring.measure import Cell


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page."""

    name: str  # label of its title
    columns: tuple[str, ...]  # labels of its columns; the first is that of the rows' names
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # name of each row and its cells
    notes: tuple[str, ...] = ()  # labels of what stands below it
    papers: "PageTable | None" = None  # the same table in the paper, digit for digit
    translate: bool = False  # whether the rows' names are labels
    against: Mapping[str, str] = field(default_factory=dict)  # what a row's differences are from
    scale: tuple[float, float] | None = None  # of a heat map: the numbers of its palest and its deepest colour
    published: frozenset[str] = frozenset()  # the rows that are the paper's
    seeds: Mapping[str, int] = field(default_factory=dict)  # how many seeds a row is the mean of
    each: "PageTable | None" = None  # the rows of these seeds
    empty: tuple[tuple[str, tuple[str, ...]], ...] = ()  # why columns are left out: reason, and their labels

    def shade(self, cell: Cell) -> float | None:
        """How strong a cell's colour is, 0 to 1, on the table's scale; None without one."""
        if cell.heat is None or self.scale is None:
            return None
        low, high = self.scale
        return (cell.heat - low) / (high - low) if high > low else 0.0
