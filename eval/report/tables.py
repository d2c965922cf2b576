"""The evaluation page's tables: what the tasks' views declare, filled with numbers, the paper's figures and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sozo.eval.compare import Changes, groups
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.cells import change_cell, estimate_cell, with_change
from sozo.eval.report.labels import labels
from sozo.eval.report.page_table import PageTable
from sozo.eval.report.published import figure, paper_row, papers, published_rows
from sozo.eval.report.seed_rows import fold_rows
from sozo.eval.seeds import Method
from sozo.scoring.measure import DASH, Cell, Measure, mean_cell
from sozo.tasks.finished import Finished
from sozo.tasks.page_parts import ModelTable, RowTable
from sozo.tasks.task import Task


def on_one_scale(tables: Sequence[PageTable]) -> list[PageTable]:
    """Heat maps of one task, in all of which a colour means the same number."""
    every = [part for table in tables for part in (table, table.each) if part]
    values = [cell.heat for table in every for _, cells in table.rows for cell in cells if cell.heat is not None]
    scale = (min(values), max(values)) if values else None
    return [
        replace(table, scale=scale, each=table.each and replace(table.each, scale=scale)) if _has_heat(table) else table
        for table in tables
    ]


def _has_heat(table: PageTable) -> bool:
    return any(cell.heat is not None for _, cells in table.rows for cell in cells)


def without_empty(table: PageTable) -> PageTable:
    """The table without columns that have no value, and a reason instead; of an empty table only reasons are left."""
    columns = [[cells[k] for _, cells in table.rows] for k in range(len(table.columns) - 1)]
    kept = [k for k, cells in enumerate(columns) if any(cell.value != DASH for cell in cells)]
    empty: dict[str, list[str]] = {}
    for k, cells in enumerate(columns):
        if k not in kept:
            reasons = dict.fromkeys(cell.why or ", ".join(cell.small) or "not_measured" for cell in cells)
            empty.setdefault("; ".join(reasons), []).append(table.columns[k + 1])
    rows = tuple((name, tuple(cells[k] for k in kept)) for name, cells in table.rows) if kept else ()
    names = (table.columns[0], *(table.columns[k + 1] for k in kept))
    each = table.each and without_empty(table.each)
    return replace(
        table, columns=names, rows=rows, each=each, empty=tuple((why, tuple(of)) for why, of in empty.items())
    )


def overview(
    methods: Sequence[Method], tasks: Sequence[type[Task]], papers: Mapping[str, Mapping[str, float]]
) -> PageTable:
    """One line a method: the first measure of each task; `papers` are the paper's models' means by task."""
    rows = []
    for model in (model for method in methods for model in method.runs.values()):
        runs = [(model.run(task.name), task.measures[0]) for task in tasks]
        cells = [Cell(DASH, why="no_run") if run is None else estimate_cell(run, m) for run, m in runs]
        rows.append((model.name, tuple(cells)))
    theirs = dict.fromkeys(name for means in papers.values() for name in means)
    for name in theirs:
        means = [(papers.get(task.name, {}).get(name), task.measures[0]) for task in tasks]
        rows.append(
            (name, tuple(mean_cell(mean, replace(measure, digits=min(measure.digits, 3))) for mean, measure in means))
        )
    columns = ("model", *(task.name for task in tasks))
    return fold_rows(PageTable("overview", columns, tuple(rows), published=frozenset(theirs)), methods, {})


def section_tables(
    task: type[Task],
    methods: Sequence[Method],
    declared: Sequence[ModelTable | RowTable],
    against: Mapping[str, Method],
    changes: Changes,
    each: Changes,
    *,
    with_published: bool = False,
) -> list[PageTable]:
    """The tables that a task's view declares; one of a kind of runs only where they stand beside better ones.

    `changes` are those of methods from what each is `against`, `each` those of their models. The paper's models are
    rows of them if that is wanted, else a table below.
    """
    tables = []
    for table in declared:
        if isinstance(table, RowTable):
            paper = papers(table.paper)
            tables.append(PageTable(table.name, table.columns, table.rows, papers=paper, translate=True))
            continue
        kind, models = table.kind, [model for method in methods for model in method.runs.values()]
        shown = [(m, m.run(task.name) if kind is None else m.runs.get((task.name, kind))) for m in models]
        runs = [(model, run) for model, run in shown if run]
        if kind is None or any(run is not model.run(task.name) for model, run in runs):
            measures = [column.measure or column.change for column in table.columns]
            shown_table = fold_rows(_model_table(table, runs, each), methods, against, changes, measures)
            tables.append(_with_published(shown_table, table) if with_published else shown_table)
    return tables


def _model_table(table: ModelTable, runs: Sequence[tuple[Evaluated, Finished]], changes: Changes) -> PageTable:
    rows = []
    for model, run in runs:
        figures = paper_row(table.training, model)
        cells = []
        for column in table.columns:
            cell = column.cell(run) if column.cell else Cell(DASH)
            if column.measure is not None:
                cell = estimate_cell(run, column.measure, heat=table.heat)
            if (measure := column.measure or column.change) is not None:
                cell = with_change(cell, changes.get((model.name, measure.name)), run.shown(measure))
            cells.append(replace(cell, paper=figure(column, figures)))
        rows.append((model.name, tuple(cells)))
    columns = ("model", *(column.label for column in table.columns))
    against = {model.name: base for model, _ in runs if (base := _base(changes, model, table))}
    return PageTable(table.name, columns, tuple(rows), table.notes, papers(table.paper), against=against)


def _with_published(shown: PageTable, table: ModelTable) -> PageTable:
    rows = tuple(published_rows(table))
    return replace(shown, rows=shown.rows + rows, papers=None, published=frozenset(name for name, _ in rows))


def _base(changes: Changes, model: Evaluated, table: ModelTable) -> str | None:
    """What the differences in a model's row are from; None if there are none."""
    measures = [measure for column in table.columns if (measure := column.measure or column.change)]
    own = (changes.get((model.name, measure.name)) for measure in measures)
    return next((change.base for change in own if change and change.difference is not None), None)


def change_tables(
    methods: Sequence[Method], by_group: Mapping[str, Changes], each: Mapping[str, Changes]
) -> list[PageTable]:
    """Every difference from the base with its interval, effect size and corrected p-value: the tables that have any.

    `by_group` are the changes of methods, `each` those of their models.
    """
    several = [method for method in methods if method.several]
    names, seeds = [method.name for method in methods], [model.name for m in several for model in m.runs.values()]
    tables = []
    for name, changes in by_group.items():
        with_cell = {measure for _, measure in changes}
        shown = [measure for measure in groups()[name] if measure.name in with_cell]
        if (table := _change_table(name, names, changes, shown)).rows:
            of_seeds = replace(_change_table(name, seeds, each[name], shown), notes=())
            counts = {method.name: len(method.runs) for method in several if method.name in table.against}
            tables.append(replace(table, seeds=counts, each=of_seeds if of_seeds.rows else None))
    return tables


def _change_table(name: str, models: Sequence[str], changes: Changes, shown: Sequence[Measure]) -> PageTable:
    base = {model: change.base for (model, _), change in changes.items() if model in models}
    rows = tuple(
        (model, tuple(change_cell(changes.get((model, m.name)), m) for m in shown)) for model in models if model in base
    )
    columns = ("model", *(m.name if m.name in labels() else m.short for m in shown))
    return PageTable(name, columns, rows, ("changes_note",), against=base)
