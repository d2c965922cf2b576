"""The one table: what stands in it is declared once, and printers loop over it.

`markdown` prints one here; `sozo.eval.report` prints the same table as HTML (`show` in `parts.html`), CSV and LaTeX
(`exports.write_tables`), and `sozo.eval.terminal` in the terminal.

>>> ALPHA = Measure("alpha", 2)
>>> rows = [{"Criterion": "fluency|flow", "Alpha": Cell(0.5, ALPHA, 0.4, 0.6), "Raters": 1200}]
>>> print(markdown(tabulate("Agreement", rows)), end="")
| Criterion     | Alpha             | Raters |
|---------------|-------------------|--------|
| fluency\\|flow | 0.50 [0.40, 0.60] | 1,200  |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sozo.data.markdown import plain, table
from sozo.scoring.measure import DASH, Measure
from sozo.scoring.numbers import COUNT, SHARE, interval, n_of, number
from sozo.scoring.translatable import translatable


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of a table: a number with what it rests on, a text, or the reason why there is neither.

    >>> cell = Cell(0.5, Measure("alpha", 2), 0.4, 0.6, n=3, of=4)
    >>> cell.text, cell.lines, cell.line
    ('0.50', ('[0.40, 0.60]', '3 of 4'), '0.50 [0.40, 0.60], 3 of 4')
    """

    value: float | str | None = None  # a share is from 0 to 1; None where there is no number
    measure: Measure = COUNT  # how its numbers are written
    low: float | None = None  # ends of its 95% interval, if it has one
    high: float | None = None
    n: int | None = None  # what it rests on: n of N; n alone where N is None
    of: int | None = None  # without `n` the value itself is a count of so many
    below: tuple[str, ...] = ()  # what else stands below it: labels, or texts
    signed: bool = False  # whether it is a difference
    why: str = ""  # why there is no number: a label or a text
    change: "Cell | None" = None  # the difference from the base model
    # Of a significant difference `up` or `down`; and, if it is not negligible, `good` or `bad`, and how much.
    mark: str = ""
    printed: str = ""  # the number as its source prints it, digit for digit
    more: Mapping[str, float | str] = field(default_factory=dict, hash=False)  # what else files say, by name

    def __post_init__(self) -> None:
        ends = self.measure.within(self.low, self.high, signed=self.signed)
        for name, end in zip(("low", "high"), ends, strict=True):
            object.__setattr__(self, name, end)

    @classmethod
    def share(cls, part: int, total: int) -> "Cell":
        """The share that `part` is of `total`, with both below it."""
        return cls(part / total if total else None, SHARE, n=part, of=total)

    @property
    def text(self) -> str:
        """The number, or the text; a dash for None."""
        if self.printed:
            return self.printed
        if isinstance(self.value, str):
            return self.value
        if self.value is not None and self.of is not None and self.n is None:  # a count of N
            return n_of(int(self.value), self.of)
        return number(self.value, self.measure, signed=self.signed)

    @property
    def interval(self) -> str:
        """Its 95% interval; empty where there is none."""
        return interval(self.low, self.high, self.measure, signed=self.signed)

    @property
    def lines(self) -> tuple[str, ...]:
        """What stands below the number: its interval, n of N, and the rest."""
        counts = () if self.n is None else (f"n = {self.n:,}" if self.of is None else n_of(self.n, self.of),)
        ends = (self.interval,) if self.interval else ()
        return (*ends, *counts, *self.below)

    @property
    def line(self) -> str:
        """All of it in one line."""
        ends = f" {self.interval}" if self.interval else ""
        return ", ".join((self.text + ends, *(line for line in self.lines if line != self.interval)))

    @property
    def exact(self) -> dict[str, float | str]:
        """Its numbers with all digits, by name, without those that it has not."""
        numbers = {"value": self.value, "low": self.low, "high": self.high, "n": self.n, "of": self.of, **self.more}
        if self.change is not None:
            kind = "log_ratio" if self.change.measure.ratio else "change"
            numbers[kind] = self.change.value
            numbers |= {f"{kind}_{name}": part for name, part in self.change.exact.items() if name != "value"}
        return {name: value for name, value in numbers.items() if value is not None}


Content = Cell | float | str | None  # of a place in a table; a bare number is a count


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    name: str
    cells: tuple[Cell, ...]
    base: str = ""  # what its differences are from
    seeds: int = 0  # how many training seeds it is the mean of, if it is a mean

    @property
    def below(self) -> list[str]:
        """What stands below its name: texts in English that can be translated."""
        seeds = [translatable("mean over {n} seeds", n=self.seeds)] if self.seeds else []
        return [*seeds, *([translatable("from {base}", base=self.base)] if self.base else [])]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as every printer takes it."""

    name: str  # its title, or the title's label
    columns: tuple[str, ...]  # labels of its columns; the first is that of the rows' names
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()  # labels of what stands below it
    papers: "Table | None" = None  # the same table in the paper, digit for digit
    empty: tuple[str, ...] = ()  # labels of what says which columns are left out, and why
    csv_only: bool = False  # whether it is no table for a paper, and so no file in LaTeX
    of: str = ""  # label of what all its numbers are of, where they must not be read without: "JCQ, 35 trial questions"


def tabulate(name: str, rows: Sequence[Mapping[str, Content]], notes: Sequence[str] = ()) -> Table:
    """The table of rows that say what stands under which heading, their names first; without rows it has no columns."""
    filled = []
    for row in rows:
        contents = [row[heading] for heading in rows[0]]
        first, *others = (content if isinstance(content, Cell) else Cell(content) for content in contents)
        filled.append(TableRow(first.text, tuple(others)))
    return Table(name, tuple(rows[0]) if rows else (), tuple(filled), tuple(notes))


def markdown(shown: Table) -> str:
    """The table in Markdown, without title and notes; names and texts are escaped, since they may come from outside."""
    lines = []
    for row in shown.rows:
        lines.append([plain(row.name), *(_escaped(cell) for cell in row.cells)])
    return table([plain(label) for label in shown.columns], lines)


def _escaped(cell: Cell) -> str:
    """A cell in one line, of which only the numbers are not escaped."""
    text = plain(cell.text) if isinstance(cell.value, str) else cell.text
    if cell.value is None and cell.why:
        return f"{DASH} ({plain(cell.why)})"
    numbers = [line if line not in cell.below else plain(line) for line in cell.lines if line != cell.interval]
    change = [f"{cell.change.text} {cell.change.interval} from the base".replace("  ", " ")] if cell.change else []
    return ", ".join((text + (f" {cell.interval}" if cell.interval else ""), *numbers, *change))
