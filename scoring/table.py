"""The one table: what stands in it is declared once, and printers loop over it.

`markdown` prints one here; `sozo.eval.report` prints the same table as HTML (`show` in `parts.html`), CSV and LaTeX
(`exports.write_tables`), and `sozo.eval.terminal` in the terminal.

>>> ALPHA = Measure("alpha", 2)
>>> rows = [{"Criterion": "fluency|flow", "Alpha": Cell(Estimate(0.5, 0.4, 0.6), ALPHA), "Raters": 1200}]
>>> print(markdown(tabulate("Agreement", rows)), end="")
| Criterion     | Alpha             | Raters |
|---------------|-------------------|--------|
| fluency\\|flow | 0.50 [0.40, 0.60] | 1,200  |
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sozo.data.markdown import plain, table
from sozo.scoring.measure import DASH, MEAN, Estimate, Measure
from sozo.scoring.numbers import COUNT, SHARE, interval, n_of, number
from sozo.scoring.translatable import Translatable, translatable

OF = "{of}: {caveat}"  # the form of a row's caveat that is about one side of it alone


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of a table: a number with what it rests on, a text, or the reason why there is neither.

    >>> cell = Cell(Estimate(0.5, 0.4, 0.6, n=3), Measure("alpha", 2), of=4)
    >>> cell.text, cell.lines, cell.line
    ('0.50', ('[0.40, 0.60]', '3 of 4'), '0.50 [0.40, 0.60], 3 of 4')
    >>> Cell(Estimate(0.75, n=4), SHARE, of=4).line, Cell(3, of=4).line
    ('75.0%, 3 of 4', '3 of 4')
    """

    # A bare number is one without an interval; None where there is none
    content: Estimate | float | str | None = None
    measure: Measure = COUNT  # how its numbers are written
    kind: str = MEAN  # or DIFFERENCE, RATIO
    # Of how many the estimate has its `n`; a bare number is a count of so many
    of: int | None = None
    below: tuple[str, ...] = ()  # what else stands below it: labels, or texts
    why: str = ""  # why there is no number: a label or a text
    change: "Cell | None" = None  # the difference from the base model
    mark: str = ""  # `higher` or `lower` where it is told apart from the base
    printed: str = ""  # the number as its source prints it, digit for digit
    # What else files say, by name
    more: Mapping[str, float | str] = field(default_factory=dict, hash=False)

    @classmethod
    def share(cls, n: int, total: int) -> "Cell":
        """The share that `n` are of `total`, with both below it."""
        return cls(Estimate(n / total if total else None, n=total), SHARE, of=total)

    @property
    def estimate(self) -> Estimate:
        """Its number; without a value if it has none."""
        if isinstance(self.content, Estimate):
            return self.content
        return Estimate(None if isinstance(self.content, str) else self.content)

    @property
    def value(self) -> float | str | None:
        """The bare number, or the text."""
        return self.content if isinstance(self.content, str) else self.estimate.value

    @property
    def text(self) -> str:
        """The number, or the text; a dash for None."""
        if self.printed:
            return self.printed
        if isinstance(self.content, str):
            return self.content
        value = self.estimate.value
        n = self.estimate.n
        if value is not None and self.of is not None and not n:
            return n_of(int(value), self.of)
        return number(value, self.measure, self.kind)

    @property
    def interval(self) -> str:
        """Its interval; empty where there is none."""
        return interval(self.estimate.low, self.estimate.high, self.measure, self.kind)

    @property
    def counts(self) -> str:
        """n of N, of a share how many of how many; of a difference without pairs both sides' n."""
        known = self.estimate
        if not known.n:
            return ""
        if known.base_n is not None:
            return translatable(
                "n = {n:,}, base {base_n:,}", n=known.n, base_n=known.base_n
            )
        if (
            self.measure.share
            and self.kind == MEAN
            and self.of is not None
            and known.value is not None
        ):
            # Of means over several answers to an item no count
            held = known.value * known.n
            return (
                n_of(round(held), known.n)
                if abs(held - round(held)) < 1e-6
                else f"n = {known.n:,}"
            )
        return f"n = {known.n:,}" if self.of is None else n_of(known.n, self.of)

    @property
    def changed(self) -> str:
        """The difference from the base, with its interval; empty where there is none."""
        if self.change is None or not self.change.interval:
            return self.change.text if self.change else ""
        form = "{difference} {interval}"
        return translatable(
            form, difference=self.change.text, interval=self.change.interval
        )

    @property
    def arrow(self) -> str:
        """Where it, or its difference from the base, is told apart from it."""
        return {"higher": "▲", "lower": "▼"}.get(
            self.mark or (self.change.mark if self.change else ""), ""
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """What stands below the number: its interval, n of N, the difference from the base, and the rest."""
        return (*filter(None, (self.interval, self.counts, self.changed)), *self.below)

    @property
    def line(self) -> str:
        """All of it in one line."""
        ends = f" {self.interval}" if self.interval else ""
        return ", ".join(
            (self.text + ends, *(line for line in self.lines if line != self.interval))
        )

    @property
    def exact(self) -> dict[str, float | str]:
        """Its numbers with all digits, by name, without those that it has not."""
        known = self.estimate
        numbers = {
            "value": self.value,
            "low": known.low,
            "high": known.high,
            "n": known.n or None,
            "of": self.of,
        }
        if self.change is not None:
            kind = self.change.kind
            numbers[kind] = self.change.value
            numbers |= {
                f"{kind}_{name}": part
                for name, part in self.change.exact.items()
                if name != "value"
            }
        return {
            name: value
            for name, value in {**numbers, **self.more}.items()
            if value is not None
        }


Content = Cell | float | str | None  # of a place in a table; a bare number is a count


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    name: str
    cells: tuple[Cell, ...]
    base: str = ""  # what its differences are from
    seeds: int = 0  # how many training seeds it is the mean of, if it is a mean
    one_training: bool = False  # whether one training stands behind it, of which another seed may say otherwise
    # What its numbers must not be read without: texts as `below`
    caveats: tuple[str, ...] = ()

    @property
    def below(self) -> list[str]:
        """What stands below its name: texts in English that can be translated."""
        seeds = (
            [translatable("mean over {n} seeds", n=self.seeds)] if self.seeds else []
        )
        single = [translatable("this checkpoint")] if self.one_training else []
        return [
            *seeds,
            *single,
            *([translatable("against {base}", base=self.base)] if self.base else []),
        ]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as every printer takes it."""

    name: str  # its title, or the title's label
    # Labels of its columns; the first is that of the rows' names
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()  # labels of what stands below it
    papers: "Table | None" = None  # the same table in the paper, digit for digit
    # Labels of what says which columns are left out, and why
    empty: tuple[str, ...] = ()
    scope: str = ""  # label of what all its numbers are of, where it must be said: "JCQ, 35 trial questions"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What its numbers must not be read without, each once, behind the rows, or one side of theirs, that it is about."""
        names: dict[str, dict[str, None]] = {}
        for row in self.rows:
            for caveat in row.caveats:
                of, own = row.name, caveat
                if isinstance(caveat, Translatable) and caveat.form == OF:
                    of, own = caveat.values["of"], caveat.values["caveat"]
                names.setdefault(own, {})[of] = None
        by_names: dict[str, str] = {}
        for caveat, models in names.items():
            name = ", ".join(models)
            if first := by_names.get(name):
                form = "{first}; {second}"
                caveat = translatable(form, first=first, second=caveat)
            by_names[name] = caveat
        return tuple(
            translatable("{model}: {caveat}", model=name, caveat=caveat)
            for name, caveat in by_names.items()
        )


def tabulate(
    name: str, rows: Sequence[Mapping[str, Content]], notes: Sequence[str] = ()
) -> Table:
    """The table of rows that say what stands under which heading, their names first; without rows it has no columns."""
    filled = []
    for row in rows:
        contents = [row[heading] for heading in rows[0]]
        first, *others = (
            content if isinstance(content, Cell) else Cell(content)
            for content in contents
        )
        filled.append(TableRow(first.text, tuple(others)))
    return Table(name, tuple(rows[0]) if rows else (), tuple(filled), tuple(notes))


def markdown(content: Table, said: Callable[[str], str] = str) -> str:
    """The table in Markdown, without title and notes; names and texts are escaped, since they may come from outside.

    `said` says a text in another language.
    """
    lines = []
    for row in content.rows:
        cells = (_escaped(cell, said) for cell in row.cells)
        name = ", ".join(map(said, (row.name, *row.caveats)))
        lines.append([plain(name), *cells])
    return table([plain(said(label)) for label in content.columns], lines)


def _escaped(cell: Cell, said: Callable[[str], str]) -> str:
    """A cell in one line, of which only the numbers are not escaped."""
    text = plain(said(cell.text)) if isinstance(cell.content, str) else cell.text
    if cell.value is None and cell.why:
        return f"{DASH} ({plain(cell.why)})"
    number = text + (f" {cell.interval}" if cell.interval else "")
    changed = f"{cell.changed} from the base" if cell.change else ""
    below = (plain(said(line)) for line in cell.below)
    return ", ".join(filter(None, (number, said(cell.counts), *below, changed)))
