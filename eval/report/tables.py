"""The evaluation page's tables: what the tasks' views declare, filled with numbers, the paper's figures and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from eval.compare import Changes, groups
from eval.evaluated import Evaluated
from eval.report.cells import change_cell, estimate_cell, with_change
from eval.report.labels import labels
from eval.report.paper import figure, paper_row, paper_rows
from rewards.cells import DASH, Cell
from rewards.finished import Finished
from rewards.measure import Measure
from rewards.page_parts import Column, ModelTable, RowTable
from rewards.task import Task


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page."""

    name: str  # label of its title
    columns: tuple[str, ...]  # labels of its columns; the first is that of the rows' names
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # name of each row and its cells
    notes: tuple[str, ...] = ()  # labels of what stands below it
    papers: tuple[tuple[str, ...], ...] = ()  # heading and rows of the same table in the paper, digit for digit
    translate: bool = False  # whether the rows' names are labels
    against: Mapping[str, str] = field(default_factory=dict)  # what a row's differences are from

    def shade(self, cell: Cell) -> float | None:
        """How strong a cell's colour is, 0 to 1, from the table's smallest number to its largest; None without one."""
        if cell.heat is None:
            return None
        values = [other.heat for _, cells in self.rows for other in cells if other.heat is not None]
        low, high = min(values), max(values)
        return (cell.heat - low) / (high - low) if high > low else 0.0


def overview(models: Sequence[Evaluated], tasks: Sequence[type[Task]]) -> PageTable:
    """One line a model: the first measure of each task."""
    rows = []
    for model in models:
        runs = [(model.run(task.name), task.measures[0]) for task in tasks]
        cells = [Cell(DASH) if run is None else replace(estimate_cell(run, m), heat=None) for run, m in runs]
        rows.append((model.name, tuple(cells)))
    return PageTable("overview", ("model", *(task.name for task in tasks)), tuple(rows))


def section_tables(
    task: type[Task], models: Sequence[Evaluated], declared: Sequence[ModelTable | RowTable], changes: Changes
) -> list[PageTable]:
    """The tables that a task's view declares; one of a kind of runs only where they stand beside better ones."""
    tables = []
    for table in declared:
        if isinstance(table, RowTable):
            papers = paper_rows(table.paper)
            tables.append(PageTable(table.name, table.columns, table.rows, (), papers, translate=True))
        elif table.kind is None:
            runs = [(model, run) for model in models if (run := model.run(task.name))]
            tables.append(_model_table(table, runs, changes))
        else:
            of_kind = [(m, run) for m in models if (run := m.runs.get((task.name, table.kind)))]
            if any(run is not model.run(task.name) for model, run in of_kind):
                tables.append(_model_table(table, of_kind, changes))
    return tables


def _model_table(table: ModelTable, runs: Sequence[tuple[Evaluated, Finished]], changes: Changes) -> PageTable:
    rows = []
    for model, run in runs:
        figures = paper_row(table.training, model)
        cells = []
        for column in table.columns:
            cell = replace(_cell(column, run, table.heat), paper=figure(column, figures))
            measure = column.measure or column.change
            if measure is not None:
                cell = with_change(cell, changes.get((model.name, measure.name)), run.shown(measure))
            cells.append(cell)
        rows.append((model.name, tuple(cells)))
    columns = ("model", *(column.label for column in table.columns))
    return PageTable(table.name, columns, tuple(rows), table.notes, paper_rows(table.paper))


def _cell(column: Column, run: Finished, heat: bool) -> Cell:
    if column.measure is not None:
        cell = estimate_cell(run, column.measure)
        return cell if heat else replace(cell, heat=None)
    assert column.cell is not None
    return column.cell(run)


def change_tables(models: Sequence[Evaluated], by_group: Mapping[str, Changes]) -> list[PageTable]:
    """The tables of changes that have a row."""
    tables = [change_table(name, models, groups()[name], changes) for name, changes in by_group.items()]
    return [table for table in tables if table.rows]


def change_table(name: str, models: Sequence[Evaluated], measures: Sequence[Measure], changes: Changes) -> PageTable:
    """Every difference from the base with its interval, effect size and corrected p-value."""
    columns = {column for _, column in changes}
    shown = [measure for measure in measures if measure.name in columns]
    base = {model: change.base for (model, _), change in changes.items()}
    rows = tuple(
        (model.name, tuple(change_cell(changes.get((model.name, m.name)), m) for m in shown))
        for model in models
        if model.name in base
    )
    names = tuple(m.name if m.name in labels() else m.short for m in shown)
    return PageTable(name, ("model", *names), rows, ("changes_note",), against=base)
