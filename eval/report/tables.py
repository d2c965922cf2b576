"""The evaluation page's tables: what the tasks' views declare, filled with numbers, the paper's figures and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from sozo.eval.compare import Compared, groups
from sozo.eval.evaluated import Evaluated, not_alike
from sozo.eval.report.answer import shared_caveats, task_label
from sozo.eval.report.cells import change_cell, seed_cell, with_change
from sozo.eval.report.labels import labels
from sozo.eval.report.published import in_the_paper, paper_table, published_rows
from sozo.scoring.measure import Measure
from sozo.scoring.said import said
from sozo.scoring.table import Cell, Row, Table
from sozo.tasks import task_types
from sozo.tasks.finished import Finished
from sozo.tasks.task import Task
from sozo.tasks.view import ModelTable, RowTable


def on_one_scale(tables: Sequence[Table]) -> list[Table]:
    """Heat maps of one task, in all of which a colour means the same number."""
    values = []
    for table in tables:
        for row in table.rows:
            values += [cell.value for cell in row.cells if cell.heat and isinstance(cell.value, int | float)]
    if not values:
        return list(tables)
    scale = min(values), max(values)
    return [replace(table, scale=scale) for table in tables]


def without_empty(table: Table) -> Table:
    """The table without columns that have no value, and a reason instead; of an empty table only reasons are left."""
    kept, empty = [], dict[tuple[str, ...], list[str]]()
    for k, label in enumerate(table.columns[1:]):
        cells = [row.cells[k] for row in table.rows]
        if any(cell.value is not None for cell in cells):
            kept.append(k)
        else:
            each = [[cell.why] if cell.why else cell.lines or ["not_measured"] for cell in cells]
            reasons = dict.fromkeys(reason for reasons in each for reason in reasons)
            empty.setdefault(tuple(reasons), []).append(label)
    rows = [replace(row, cells=tuple(row.cells[k] for k in kept)) for row in table.rows] if kept else []
    return replace(
        table,
        columns=(table.columns[0], *(table.columns[k + 1] for k in kept)),
        rows=tuple(rows),
        empty=tuple((reasons, tuple(columns)) for reasons, columns in empty.items()),
    )


def fold_rows(table: Table, compared: Compared, measures: Sequence[Measure | None] = ()) -> Table:
    """The table with one row for a method of several seeds: their means.

    `table` has a row for each model, and perhaps the paper's. `measures` are those of the columns' differences.
    """
    row_of = {row.name: row for row in table.rows}
    rows = []
    for method in compared.methods:
        own = [row_of.pop(run.name) for run in method.runs.values() if run.name in row_of]
        base = compared.against[method.name].name if any(row.base for row in own) else ""
        if not method.several or not own:
            rows += [replace(row, base=base) for row in own]
            continue
        cells = [seed_cell(column) for column in zip(*(row.cells for row in own), strict=True)]
        for k, measure in enumerate(measures):
            if measure and (runs := method.of_task(measure.task)):
                change = compared.changes.get((method.name, measure.name))
                cells[k] = with_change(cells[k], change, runs[0].shown(measure))
        rows.append(Row(method.name, tuple(cells), base, seeds=len(own)))
    rows += row_of.values()  # the paper's
    return replace(table, rows=tuple(rows))


def overview(compared: Compared, tasks: Sequence[type[Task]], papers: Mapping[str, Mapping[str, float]]) -> Table:
    """One line a method: the first measure of each task; `papers` are the paper's models' means by task."""
    rows = []
    for model in compared.models:
        runs = [(model.run(task.name), task.measures[0]) for task in tasks]
        cells = [_with_own(run.cell(m), m.task, compared, run) if run else Cell(why="no_run") for run, m in runs]
        rows.append(Row(model.name, tuple(cells)))
    for name in dict.fromkeys(name for means in papers.values() for name in means):
        cells = [Cell(papers.get(task.name, {}).get(name), in_the_paper(task.measures[0])) for task in tasks]
        rows.append(Row(name, tuple(cells), published=True))
    columns = ("model", *(_label(task.name, compared) for task in tasks))
    return fold_rows(Table("overview", columns, tuple(rows), _score_names(compared)), compared)


def _label(task: str, compared: Compared) -> str:
    """A task's name with the caveats that all its runs share; the others are their models' own (`_with_own`)."""
    return task_label(task, shared_caveats(_runs(task, compared)))


def _runs(task: str, compared: Compared) -> list[Finished]:
    return [run for model in compared.models if (run := model.run(task))]


def _with_own(cell: Cell, task: str, compared: Compared, *runs: Finished | None) -> Cell:
    """A cell of a task's first measure with the caveats of its runs that not all runs of the task share."""
    shared = shared_caveats(_runs(task, compared))
    own = dict.fromkeys(caveat for run in runs if run for caveat in run.caveats if caveat not in shared)
    more = {"caveats": ", ".join(own)} if own else {}
    return replace(cell, below=(*cell.below, *own), more={**cell.more, **more})


def _score_names(compared: Compared) -> tuple[str, ...]:
    """What scores must be called, as by whose vectors they are, where the task has such a name for them."""
    scales = (run.scale for model in compared.models for run in model.runs.values())
    return tuple(dict.fromkeys(scale["score_name"] for scale in scales if "score_name" in scale))


def section_tables(
    task: type[Task], compared: Compared, declared: Sequence[ModelTable | RowTable], *, with_published: bool = False
) -> list[Table]:
    """The tables that a task's view declares; one of a kind of runs only where they stand beside better ones.

    The paper's models are rows of them if that is wanted, else a table below.
    """
    tables = []
    for table in declared:
        if isinstance(table, RowTable):
            tables.append(replace(table.table, papers=paper_table(table.paper)))
            continue
        kind = table.kind
        best = {model.name: model.run(task.name) for model in compared.models}
        shown = [(m, best[m.name] if kind is None else m.runs.get((task.name, kind))) for m in compared.models]
        runs = [(model, run) for model, run in shown if run]
        if kind is None or any(run is not best[model.name] for model, run in runs):
            of_models = _model_table(table, runs, compared)
            folded = fold_rows(of_models, compared, [column.change for column in table.columns])
            if with_published:
                folded = replace(folded, rows=(*folded.rows, *published_rows(table)), papers=None)
            tables.append(folded)
    return tables


def _model_table(table: ModelTable, runs: Sequence[tuple[Evaluated, Finished]], compared: Compared) -> Table:
    rows = []
    for model, run in runs:
        cells, base = [], ""
        for column in table.columns:
            heat = table.heat and column.heat
            cell = replace(column.of(run), heat=heat)
            if column.change is not None:
                change = compared.each.get((model.name, column.change.name))
                cell = with_change(cell, change, run.shown(column.change))
                if column.change == run.main:
                    cell = _with_own(cell, run.task, compared, run)
                if change and change.difference is not None:
                    base = base or change.base
            cells.append(cell)
        rows.append(Row(model.name, tuple(cells), base))
    columns = ("model", *(column.label for column in table.columns))
    trained = {model.paper_model for model, _ in runs if model.paper_model} if table.training else set()
    paper = paper_table(table.training, trained) if trained else paper_table(table.paper)
    label = _label(runs[0][1].task, compared)
    of = label if label != runs[0][1].task else ""
    return Table(table.name, columns, tuple(rows), table.notes, paper, of=of)


def change_tables(compared: Compared) -> list[Table]:
    """Every difference from the base with its interval and effect size: the tables that have any."""
    methods = {method.name: len(method.runs) for method in compared.methods}
    tables = []
    for name, measures in groups().items():
        shown = [measure for measure in measures if any(column == measure.name for _, column in compared.changes)]
        table = _change_table(name, methods, shown, compared)
        if table.rows:
            tables.append(replace(table, notes=("changes_note", *_score_names(compared))))
    return tables


def between_tables(compared: Compared) -> list[Table]:
    """Of each task whose answers are judged together, how every two models' answers to the same items compare."""
    tables = []
    for task in (task for task in task_types().values() if task.measures[0].together):
        runs = [(model.name, run) for model in compared.models if (run := model.run(task.name))]
        rows = []
        for (name, run), (other, second) in combinations(runs, 2):
            apart = not_alike(run, second)
            cells = [Cell(why=apart) if apart else run.between(second, measure) for measure in task.measures]
            rows.append(Row(f"{name} × {other}", tuple(cells)))
        label = f"{task.name}_between"
        table = Table(label, ("model", *(measure.name for measure in task.measures)), tuple(rows), (f"{label}_note",))
        tables += [table] if rows else []
    return tables


def _change_table(name: str, seeds: Mapping[str, int], shown: Sequence[Measure], compared: Compared) -> Table:
    """`seeds` are the names of the rows, and of how many seeds each is."""
    rows = []
    for model, count in seeds.items():
        own = [compared.changes.get((model, measure.name)) for measure in shown]
        if base := next((change.base for change in own if change), ""):
            cells = tuple(change_cell(*pair) for pair in zip(own, shown, strict=True))
            rows.append(Row(model, cells, base, seeds=count if count > 1 else 0))
    labelled = {m.name: _label(m.task, compared) for m in shown if m == task_types()[m.task].measures[0]}
    columns = ("model", *(labelled.get(m.name, m.name if m.name in labels() else m.short) for m in shown))
    others = dict.fromkeys(m.task for m in shown if m.name not in labelled)
    of = [label for task in others if (label := _label(task, compared)) != task]
    return Table(name, columns, tuple(rows), of=said("{tasks}", tasks=of) if of else "")
