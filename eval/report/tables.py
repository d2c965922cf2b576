"""The page's tables: each a loop over what tasks declare, with a row for a method."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations
from typing import Any

from sozo.data.published import load_text
from sozo.eval.compare import Compared, compare_models
from sozo.eval.evaluated import Evaluated, not_alike
from sozo.eval.outcome import MethodOutcome, outcomes, verdict
from sozo.eval.report.cells import seed_cell, with_change
from sozo.eval.report.labels import explanations
from sozo.eval.second_encoder import SecondGain, second_gains
from sozo.scoring.measure import Measure
from sozo.scoring.second_encoder import SecondEncoder
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task
from sozo.tasks.view import FAILURES, PAGE, TERMINAL, ModelTable, RunColumn, measured


@dataclass(frozen=True)
class Findings:
    """What came out of a comparison, of which the page and `sozo compare` show the same."""

    compared: Compared
    gains: Sequence[SecondGain]  # by a second encoder, if one was asked
    outcomes: Sequence[MethodOutcome]

    @cached_property
    def tasks(self) -> "list[TaskOnPage]":
        """The tasks that have runs, in their order."""
        every = [
            TaskOnPage(task, self.compared, {one.model: one for one in self.outcomes if one.task == task.name})
            for task in task_types().values()
        ]
        return [one for one in every if one.runs]

    def of(self, model: str) -> list[MethodOutcome]:
        """The outcomes of a model, task by task."""
        return [one for one in self.outcomes if one.model == model]

    @cached_property
    def verdicts(self) -> dict[str, str]:
        """Each model's word over all its tasks."""
        return {model: verdict(self.of(model)) for model in dict.fromkeys(one.model for one in self.outcomes)}


def findings(models: Sequence[Evaluated], base: str | None = None, second: SecondEncoder | None = None) -> Findings:
    """Compare models with the one called `base` (`compare_models`), by a second encoder too if there is one."""
    compared = compare_models(models, base)
    gains = second_gains(compared, second) if second else []
    return Findings(compared, gains, outcomes(compared, gains))


@dataclass(frozen=True)
class TaskOnPage:
    """A task that has runs, with all that these say."""

    task: type[Task]
    compared: Compared
    found: Mapping[str, MethodOutcome]  # by model
    _cells: dict[tuple[Any, ...], Cell] = field(default_factory=dict)

    @cached_property
    def runs(self) -> list[RunResult]:
        """The run of each model that says most."""
        return [run for model in self.compared.models if (run := model.run(self.task.name))]

    @cached_property
    def columns(self) -> Mapping[str, RunColumn]:
        """The task's columns by name."""
        return {column.name: column for column in self.task.view.columns(self.task.measures, self.runs)}

    def column(self, measure: Measure) -> RunColumn:
        """The column of a measure: as the task declares it, or its mean."""
        declared = (column for column in self.columns.values() if column.change == measure)
        column = next((one for one in declared if measure.ratio or one.measure == measure), None)
        return column or measured(measure)

    def cell(self, column: RunColumn, run: RunResult) -> Cell:
        """What a run says in a column; several tables ask."""
        key = column.name, column.measure, column.change, run.folder
        if key not in self._cells:
            self._cells[key] = column.of(run)
        return self._cells[key]

    @cached_property
    def caveats(self) -> list[str]:
        """What all runs must not be read without; a run's own caveats stand beside its number."""
        every = [run.caveats for run in self.runs]
        return [caveat for caveat in dict.fromkeys(chain(*every)) if all(caveat in own for own in every)]

    @property
    def of(self) -> str:
        """What its tables' numbers must not be read without, with its name; empty without caveats."""
        return task_label(self.task.name, self.caveats) if self.caveats else ""

    @property
    def heading(self) -> str:
        """The same with who scored, be it the papers' encoder or judge."""
        scorers = {run.scorer for run in self.runs}
        by = [translatable("by {scorer}", scorer=name) for name in scorers if name and len(scorers) == 1]
        return task_label(self.task.name, list(dict.fromkeys((*self.caveats, *by))))

    def rows(self, columns: Sequence[RunColumn]) -> list[TableRow]:
        """A row for each method that has a run: over its seeds, with the differences that columns name."""
        main, rows = self.task.measures[0], []
        for method in self.compared.methods:
            if not (runs := method.of_task(self.task.name)):
                continue
            cells = [seed_cell([self.cell(column, run) for run in runs]) for column in columns]
            for k, column in enumerate(columns):
                if column.change is not None:
                    change = self.compared.changes.get((method.name, column.change.name))
                    cells[k] = with_change(cells[k], change, runs[0].shown(column.change))
                if column.change == main:
                    cells[k] = self.with_own_caveats(cells[k], runs)
            base = self.compared.against[method.name].name if any(cell.change for cell in cells) else ""
            rows.append(TableRow(method.name, tuple(cells), base, seeds=min(method.seeds, len(runs))))
        return rows

    def with_own_caveats(self, cell: Cell, runs: Iterable[RunResult]) -> Cell:
        """A cell of the first measure with those caveats of its runs that not all runs of the task have."""
        own = [name for name in dict.fromkeys(chain(*(run.caveats for run in runs))) if name not in self.caveats]
        more = {"caveats": ", ".join(own)} if own else {}
        return replace(cell, below=(*cell.below, *own), more={**cell.more, **more})

    def of_columns(self, name: str, columns: Sequence[RunColumn], notes: Sequence[str] = ()) -> Table:
        """The table of these columns, without those that have no value."""
        headings, rows = ("model", *(column.label for column in columns)), tuple(self.rows(columns))
        starred = any(cell.change and cell.change.mark for row in rows for cell in row.cells)
        return without_empty(Table(name, headings, rows, (*notes, *["star_note"] * starred), of=self.of))

    def titled(self, form: str) -> str:
        """A table's title that begins with the task's name."""
        return translatable(form, task=translatable(self.task.name))

    def every_column(self) -> Table:
        """All that the terminal says, model by model, and what the columns mean."""
        shown = [c for c in self.columns.values() if c.shown & (TERMINAL | PAGE) and not c.shown & FAILURES]
        notes = explanations(self.task, shown, self.runs[0])
        return self.of_columns(self.titled("{task}: all columns"), shown, notes)

    def failures(self) -> Table:
        """How many answers have no score, by the reason."""
        shown = [column for column in self.columns.values() if column.shown & FAILURES]
        return self.of_columns(self.titled("{task}: answers without a score"), shown)

    def own_tables(self) -> list[Table]:
        """Those that the task declares, each with the paper's table below it."""
        tables = []
        for declared in self.task.view.tables(self.task.measures):
            if columns := [self.columns[name] for name in declared.columns if name in self.columns]:
                table = self.of_columns(declared.name, columns, declared.notes)
                tables.append(replace(table, papers=self._paper(declared)))
        return tables

    def _paper(self, declared: ModelTable) -> Table | None:
        models = {
            model.paper_model for model in self.compared.models if model.paper_model and model.run(self.task.name)
        }
        if declared.training and models:
            return paper_table(declared.training, models)
        return paper_table(declared.paper)

    def between(self) -> list[Table]:
        """If answers are judged together, how every two models' answers to the same items compare."""
        if not self.task.measures[0].together or len(self.runs) < 2:
            return []
        rows = []
        runs = [(model.name, run) for model in self.compared.models if (run := model.run(self.task.name))]
        for (name, run), (other, second) in combinations(runs, 2):
            apart = not_alike(run, second)
            cells = [Cell(why=apart) if apart else run.between(second, measure) for measure in self.task.measures]
            rows.append(TableRow(f"{name} × {other}", tuple(cells)))
        label = f"{self.task.name}_between"
        columns = ("model", *(measure.name for measure in self.task.measures))
        return [without_empty(Table(label, columns, tuple(rows), (f"{label}_note",)))]


def paper_table(name: str | None, models: Collection[str] = ()) -> Table | None:
    """A table of the paper, digit for digit: all of it, or the rows of `models`; None where there is none."""
    if name is None:
        return None
    lines = [line for line in load_text(name) if not models or line["model"] in ("", *models)]
    rows = []
    for line in lines:
        model, *texts = line.values()
        rows.append(TableRow(model, tuple(map(_printed, texts))))
    return Table("papers_models", tuple(column.replace("_", " ") for column in lines[0]), tuple(rows))


def _printed(text: str) -> Cell:
    try:
        return Cell(float(text), printed=text)
    except ValueError:
        return Cell(text or None)


def task_label(task: str, caveats: Sequence[str]) -> str:
    """A task's name with what its numbers must not be read without.

    >>> task_label("jcq", [translatable("{n} trial questions", n=35)])
    'jcq, 35 trial questions'
    """
    return translatable("{task}, {caveats}", task=translatable(task), caveats=list(caveats)) if caveats else task


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
        empty=tuple(
            translatable(
                "Not shown, since they have no values: {columns} ({reasons})",
                columns=[*map(translatable, columns)],
                reasons=[*map(translatable, reasons)],
            )
            for reasons, columns in empty.items()
        ),
    )
