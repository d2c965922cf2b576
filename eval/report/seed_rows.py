"""Rows over training seeds: the mean of each column with its interval, and the seeds' own rows folded below."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sozo.eval.compare import Changes
from sozo.eval.report.cells import estimate_cell, with_change
from sozo.eval.report.page_table import PageTable
from sozo.eval.seeds import Method
from sozo.scoring.measure import DASH, Cell, Measure, known, n_of
from sozo.scoring.statistics.seeds import over_seeds


def seed_cell(cells: Sequence[Cell]) -> Cell:
    """The mean of seeds' cells with Student's interval over the seeds, written as they are; there must be a cell.

    >>> cell = seed_cell([Cell("96.0%", exact={"value": 0.96}), Cell("98.0%", exact={"value": 0.98})])
    >>> cell.value, cell.small
    ('97.0%', ('84.3% – 109.7%',))
    """
    given = {
        k: float(value) for k, cell in enumerate(cells) if isinstance(value := cell.exact.get("value"), int | float)
    }
    if not given:
        return Cell(DASH, why=cells[0].why)
    interval = over_seeds(given)
    like = next((cell.value for cell in cells if cell.value.startswith("+")), cells[next(iter(given))].value)
    ends = [] if interval.low is None or interval.high is None else [interval.low, interval.high]
    text = " – ".join(_written_like(like, end) for end in ends)
    counts = [] if len(given) == len(cells) else [n_of(len(given), len(cells))]
    exact = known(value=interval.mean, low=interval.low, high=interval.high, n=interval.seeds, of=len(cells))
    paper = next((cell.paper for cell in cells if cell.paper), "")
    shown = Cell(_written_like(like, interval.mean), (*filter(None, [text]), *counts), paper, exact=exact)
    if all(cell.heat is None for cell in cells):
        return shown
    return replace(shown, small=tuple(counts), heat=interval.mean, hover=text and f"95%: {text}")


def _written_like(text: str, value: float) -> str:
    """A number with the decimals, the sign and the percent of another.

    >>> _written_like("97.00%", 0.985), _written_like("1,234", 1500.5), _written_like("+0.12", 3.0)
    ('98.50%', '1,500', '+3.00')
    """
    digits, percent = len(text.rstrip("%").partition(".")[2]), text.endswith("%")
    return f"{value:{'+' * text.startswith('+')},.{digits}{'%' if percent else 'f'}}"


def method_cell(method: Method, measure: Measure) -> Cell:
    """A measure of a method that has a run of its task, over the seeds if there are several."""
    cells = [estimate_cell(run, measure) for run in method.of_task(measure.task)]
    if not method.several:
        return cells[0]
    cell = seed_cell(cells)
    return replace(cell, small=(*cell.small, f"{len(cells)} seeds"))


def fold_rows(
    table: PageTable,
    methods: Sequence[Method],
    against: Mapping[str, Method],
    changes: Changes | None = None,
    measures: Sequence[Measure | None] = (),
) -> PageTable:
    """The table with one row for a method of several seeds, and the seeds' rows in a table of their own (`each`).

    `table` has a row for each model, and perhaps the paper's. `measures` are those of the columns' differences.
    """
    if not any(method.several for method in methods):
        return table
    cells_of = dict(table.rows)
    rows, each, seeds, base_of = [], [], {}, {}
    for method in methods:
        own = [(run.name, cells_of.pop(run.name)) for run in method.runs.values() if run.name in cells_of]
        if any(name in table.against for name, _ in own):
            base_of[method.name] = against[method.name].name
        if not method.several or not own:
            rows += own
            continue
        cells = list(map(seed_cell, zip(*(cells for _, cells in own), strict=True)))
        for k, measure in enumerate(measures):
            if measure and (runs := method.of_task(measure.task)):
                change = (changes or {}).get((method.name, measure.name))
                cells[k] = with_change(replace(cells[k], change="", mark=""), change, runs[0].shown(measure))
        rows.append((method.name, tuple(cells)))
        each += own
        seeds[method.name] = len(own)
    of_seeds = replace(table, rows=tuple(each), notes=(), papers=None, published=frozenset())
    rows += cells_of.items()  # the paper's
    return replace(table, rows=tuple(rows), against=base_of, seeds=seeds, each=of_seeds if each else None)
