"""The page's tables: rows of findings, with a line for each method and a column for each measure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from os.path import commonpath
from pathlib import Path
from typing import Any

from sozo.data.published import doubt, load_text
from sozo.data.record import read_json
from sozo.eval.evaluated import not_alike
from sozo.eval.findings import Finding, Findings
from sozo.eval.report.labels import explanations, labels
from sozo.eval.seeds import Method, caveats_of, judges_of, over_runs
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task
from sozo.tasks.view import (
    FAILURES,
    PAGE,
    TERMINAL,
    ModelTable,
    RunColumn,
    setting_of,
)

# What people chose (`sozo rate`): model -> label of a column -> an `Estimate`'s JSON.
DUELS = "duels.json"
# How a run's answers were drawn.
_DRAWN = (
    RunColumn(
        "temperature",
        lambda run: None if run.temperature is None else str(run.temperature),
    ),
    setting_of("max_new_tokens"),
    setting_of("seed"),
)


@dataclass(frozen=True)
class TaskOnPage:
    """A task that has runs, with all that these say."""

    task: type[Task]
    found: Findings

    @property
    def runs(self) -> list[RunResult]:
        """The run of each model that says most."""
        return self.found.runs(self.task.name)

    @property
    def judged(self) -> list[RunResult]:
        """These, each before what further judges made of its answers."""
        return [
            run
            for model in self.found.compared.models
            for run in (model.run(self.task.name), *model.judged.values())
            if run and run.task == self.task.name
        ]

    @cached_property
    def columns(self) -> Mapping[str, RunColumn]:
        """The task's columns by name."""
        return {column.name: column for column in self.found.columns[self.task.name]}

    @cached_property
    def caveats(self) -> list[str]:
        """What all runs must not be read without; a run's own caveats stand beside its number."""
        every = [run.caveats for run in self.runs]
        return [
            caveat
            for caveat in dict.fromkeys(chain(*every))
            if all(caveat in own for own in every)
        ]

    @property
    def scope(self) -> str:
        """What its tables' numbers must not be read without, with its name and who scored."""
        scorers = {tuple(run.scored_by[:1]) for run in self.runs}
        by = [text for own in scorers for _, text in own if len(scorers) == 1]
        said = [
            translatable("of each model {caveat}", caveat=one)
            if self.runs[1:] and "of" in getattr(one, "values", ())
            else one
            for one in dict.fromkeys((*self.caveats, *by))
        ]
        return task_label(self.task.name, said)

    def row(self, method: Method, cells: Sequence[Cell], base: str = "") -> TableRow:
        """A method's line."""
        runs = method.of_task(self.task.name)
        seeds = len(runs) if len(runs) > 1 else 0
        own = self.own_caveats(method)
        return TableRow(
            method.name, tuple(cells), base, seeds, method.one_training, own
        )

    def own_caveats(self, method: Method) -> tuple[str, ...]:
        """What a method's numbers must not be read without, and each further judge's, but for what all runs share."""
        own = caveats_of(method.of_task(self.task.name), self.caveats)
        for judge in judges_of([method], self.task.name):
            runs = method.by(judge).of_task(self.task.name)
            own += [
                translatable("{model}: {caveat}", model=judge, caveat=caveat)
                for caveat in caveats_of(runs, (*own, *self.caveats))
                if not caveat.startswith("by ")
            ]
        return tuple(own)

    def rows(self, columns: Sequence[RunColumn]) -> list[TableRow]:
        """A line for each method that has a run: over its seeds, with the differences that columns name."""
        rows, bases = [], self.found.compared.bases
        for method in self.found.compared.methods:
            if not (runs := method.of_task(self.task.name)):
                continue
            base = bases[method.name].name if method.name in bases else ""
            cells = [self._cell(column, method, runs, base) for column in columns]
            rows.append(
                self.row(
                    method, cells, base if any(cell.change for cell in cells) else ""
                )
            )
        return rows

    def _cell(
        self, column: RunColumn, method: Method, runs: Sequence[RunResult], base: str
    ) -> Cell:
        finding = self.found.mean(method.name, self.task.name, column.name)
        cell = (
            finding.cell if finding else over_runs([column.fill(run) for run in runs])
        )
        if (
            column.change
            and base
            and (change := self.found.difference(method.name, base, column.change))
        ):
            cell = (
                replace(cell, change=bare(change))
                if change.estimate.value is not None
                else cell
            )
        return cell

    def of_columns(
        self, name: str, columns: Sequence[RunColumn], notes: Sequence[str] = ()
    ) -> Table:
        """The table of these columns, without those that have no value."""
        headings, rows = (
            ("model", *(column.label for column in columns)),
            tuple(self.rows(columns)),
        )
        marked = any(
            cell.change and cell.change.mark for row in rows for cell in row.cells
        )
        notes = (*notes, *["arrow_note", "points_note"] * marked)
        return without_empty(Table(name, headings, rows, notes, scope=self.scope))

    def titled(self, form: str) -> str:
        """A table's title that begins with the task's name."""
        return translatable(form, task=translatable(self.task.name))

    def every_column(self) -> Table:
        """All that the terminal says, model by model, how they were asked, and what the columns mean."""
        shown = [
            c
            for c in self.columns.values()
            if c.shown & (TERMINAL | PAGE) and not c.shown & FAILURES
        ]
        notes = explanations(self.task, shown, self.runs[0])
        title = self.titled("{task}: all columns")
        return self.of_columns(title, [*shown, *_DRAWN], notes)

    def failures(self) -> list[Table]:
        """How many answers have no score, by the reason; none where all have one."""
        shown = [column for column in self.columns.values() if column.shown & FAILURES]
        name = self.titled("{task}: answers without a score")
        table = self.of_columns(name, shown)
        return [table] if len(table.columns) > 1 else []

    def own_tables(self) -> list[Table]:
        """Those that the task declares, each with the paper's table below it; the paper's own of its study alone."""
        tables = []
        of_study = any(run.study for run in self.runs)
        for declared in self.task.view.tables(self.task.measures):
            columns = [
                self.columns[name] for name in declared.columns if name in self.columns
            ]
            if columns and (of_study or not declared.training):
                table = self.of_columns(declared.name, columns, declared.notes)
                tables.append(replace(table, papers=self._paper(declared)))
        return tables

    def _paper(self, declared: ModelTable) -> Table | None:
        models = {
            model.paper_model
            for model in self.found.compared.models
            if model.paper_model and model.run(self.task.name)
        }
        return paper_table(declared.training, models) if models else None

    def between(self) -> list[Table]:
        """If answers are judged together, how every two models' answers to the same items compare."""
        own = self.task.result_type.between is not RunResult.between
        if not own or len(self.runs) < 2:
            return []
        rows = []
        runs = [
            (model.name, run)
            for model in self.found.compared.models
            if (run := model.run(self.task.name))
        ]
        for (name, run), (other, second) in combinations(runs, 2):
            apart = not_alike(run, second)
            cells = [
                Cell(why=apart) if apart else run.between(second, measure)
                for measure in self.task.measures
            ]
            caveats = tuple(caveats_of([run, second], self.caveats))
            rows.append(TableRow(f"{name} × {other}", tuple(cells), caveats=caveats))
        label = f"{self.task.name}_between"
        columns = ("model", *(measure.name for measure in self.task.measures))
        return [without_empty(Table(label, columns, tuple(rows), (f"{label}_note",)))]


def tasks_on_page(found: Findings) -> list[TaskOnPage]:
    """The tasks that have runs."""
    return [TaskOnPage(task, found) for task in found.tasks.values()]


def bare(row: Finding) -> Cell:
    """A difference without what it rests on."""
    known = row.estimate
    shown = Estimate(known.value, known.low, known.high, level=known.level)
    return replace(row.cell, content=shown, of=None, below=(), why="")


def paper_table(name: str | None, models: Collection[str]) -> Table | None:
    """The rows of `models` in a table of the paper, digit for digit; None without a name."""
    if name is None:
        return None
    lines = [line for line in load_text(name) if line["model"] in ("", *models)]
    rows = []
    for line in lines:
        model, *columns = line
        cells = [
            _printed(line[column], doubt(name, line, column)) for column in columns
        ]
        rows.append(TableRow(line[model], tuple(cells)))
    return Table(
        "papers_models",
        tuple(
            column if column in labels() else column.replace("_", " ")
            for column in lines[0]
        ),
        tuple(rows),
    )


def _printed(text: str, doubtful: str) -> Cell:
    try:
        return Cell(float(text), printed=text, below=(doubtful,) if doubtful else ())
    except ValueError:
        return Cell(text or None)


def task_label(task: str, caveats: Sequence[str]) -> str:
    """A task's name with what its numbers must not be read without.

    >>> task_label("jcq", [translatable("{n} trial questions", n=35)])
    'jcq, 35 trial questions'
    """
    return (
        translatable(
            "{task}, {caveats}", task=translatable(task), caveats=list(caveats)
        )
        if caveats
        else task
    )


def duels_of(methods: Sequence[Method]) -> list[Mapping[str, Any]]:
    """What people chose of each model, where `sozo agreement` wrote `DUELS` into a folder beside the models'."""
    runs = [run.folder.resolve() for one in methods for run in one.first.runs.values()]
    found = dict[str, Any]()
    for file in Path(commonpath(runs)).glob(f"*/{DUELS}"):
        found |= read_json(file)
    return [{} if one.several else found.get(one.name, {}) for one in methods]


def with_duels(table: Table, duels: Sequence[Mapping[str, Any]]) -> Table:
    """The table with what people chose of each line's model, as `DUELS` has it: a column for each label."""
    for label in dict.fromkeys(chain(*duels)):
        measure = Measure(label, 2, share=label.startswith("chosen"))
        cells = [Cell(Estimate(**own.get(label, {})), measure) for own in duels]
        pairs = zip(table.rows, cells, strict=False)
        table = replace(
            table,
            columns=(*table.columns, label),
            rows=tuple(replace(row, cells=(*row.cells, one)) for row, one in pairs),
            notes=(*table.notes, f"{label}_says"),
        )
    return table


def without_empty(table: Table) -> Table:
    """The table without columns that have no value, and a reason instead; of an empty table only reasons are left."""
    if not table.rows:
        return table
    kept, empty = [], dict[tuple[str, ...], list[str]]()
    for k, label in enumerate(table.columns[1:]):
        cells = [row.cells[k] for row in table.rows]
        if any(cell.value is not None for cell in cells):
            kept.append(k)
        else:
            each = [
                [cell.why] if cell.why else cell.lines or ["not_measured"]
                for cell in cells
            ]
            reasons = dict.fromkeys(reason for reasons in each for reason in reasons)
            empty.setdefault(tuple(reasons), []).append(label)
    rows = (
        [replace(row, cells=tuple(row.cells[k] for k in kept)) for row in table.rows]
        if kept
        else []
    )
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
