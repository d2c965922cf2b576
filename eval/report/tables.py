"""The page's tables: rows of findings, with a line for each method and a column for each measure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from os.path import commonpath
from pathlib import Path
from typing import Any

from sozo.data.published import doubt, load_text
from sozo.data.record import read_json
from sozo.eval.curve import CURVE
from sozo.eval.evaluated import not_alike
from sozo.eval.findings import Findings
from sozo.eval.report.labels import explanations, labels, measure_label
from sozo.eval.seeds import Method, caveats_of, judges_of, over_runs
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import OF, Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task
from sozo.tasks.view import PAGE, TERMINAL, RunColumn, setting_of

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
    def scorers(self) -> list[str]:
        """Who scored, each once."""
        by = (text for run in self.runs for _, text in run.scored_by[:1])
        return list(dict.fromkeys(by))

    @property
    def scope(self) -> str:
        """What its tables' numbers are of: its name, and who scored where one scored all."""
        return task_label(
            self.task.name, self.scorers if len(self.scorers) == 1 else []
        )

    def column_of(self, measure: Measure) -> str:
        """The name of the column that shows a measure with its differences; empty without one."""
        every = self.columns.values()
        own = [column.name for column in every if column.change == measure]
        return own[0] if own else ""

    def caveats(self, method: Method) -> tuple[str, ...]:
        """What a method's numbers must not be read without, and each further judge's."""
        task = self.task.name
        own = caveats_of(method.of_task(task), scorer=len(self.scorers) > 1)
        for judge in judges_of([method], task):
            own += [
                translatable("{model}: {caveat}", model=judge, caveat=caveat)
                for caveat in caveats_of(method.by(judge).of_task(task))
                if caveat not in own
            ]
        return tuple(own)

    def row(self, method: Method, cells: Sequence[Cell], base: str = "") -> TableRow:
        """A method's line."""
        runs = method.of_task(self.task.name)
        seeds = len(runs) if len(runs) > 1 else 0
        own = method.name, tuple(cells), base, seeds, method.one_training
        return TableRow(*own, self.caveats(method))

    def of_columns(
        self, name: str, columns: Sequence[RunColumn], notes: Sequence[str] = ()
    ) -> Table:
        """The table of these columns, without those that have no value: a line for each method that has a run."""
        rows, bases = [], self.found.compared.bases
        for method in self.found.compared.methods:
            if not (runs := method.of_task(self.task.name)):
                continue
            base, cells = bases.get(method.name), list[Cell]()
            for column in columns:
                mean = self.found.mean(method.name, self.task.name, column.name)
                cell = (
                    mean.cell if mean else over_runs([column.fill(run) for run in runs])
                )
                change = None
                if column.change and base:
                    known = method.name, base.name, column.change
                    change = self.found.difference(*known)
                if change and change.estimate.value is not None:
                    cell = replace(cell, change=change.bare)
                cells.append(cell)
            of = base.name if base and any(cell.change for cell in cells) else ""
            rows.append(self.row(method, cells, of))
        headings = "model", *(column.label for column in columns)
        marked = any(cell.arrow for row in rows for cell in row.cells)
        notes = (*notes, *["arrow_note", "points_note"] * marked)
        table = Table(name, headings, tuple(rows), notes, scope=self.scope)
        return without_empty(table)

    def titled(self, form: str) -> str:
        """A table's title that begins with the task's name."""
        return translatable(form, task=translatable(self.task.name))

    def every_column(self) -> Iterator[Table]:
        """All that the terminal says, why answers have no score, how they were asked, and what the columns mean."""
        every = self.columns.values()
        shown = [column for column in every if column.shown & (TERMINAL | PAGE)]
        title = self.titled("{task}: all columns")
        notes = explanations(self.task, shown)
        yield self.of_columns(title, [*shown, *_DRAWN], notes)

    def differences(self) -> Iterator[Table]:
        """What is compared, a line a pair: the measures of the first screen, then others, then gains by encoders."""
        own = [
            row for row in self.found.rows if row.base and row.task == self.task.name
        ]
        known = {
            row.measure.name: row for row in sorted(own, key=lambda r: not r.first)
        }
        rows = []
        for base, method in self.found.compared.pairs:
            names = method.name, base.name
            cells = {
                row.measure.name: row.cell
                for row in own
                if (row.model, row.base) == names
            }
            if (
                cells
                and base.of_task(self.task.name)
                and method.of_task(self.task.name)
            ):
                # A point of the curve itself has no height above it.
                each = [
                    cells.get(name)
                    or Cell(why="" if row.kind == CURVE else "not_measured")
                    for name, row in known.items()
                ]
                row = self.row(method, each, base.name)
                of_base = of_side(base, self.caveats(base))
                rows.append(replace(row, caveats=(*row.caveats, *of_base)))
        gains = any(row.column == "gain_second" for row in own)
        notes = ("differences_note", "arrow_note", "points_note")
        more = ("second_encoder_note",) * gains
        headings = "model", *(measure_label(row.measure) for row in known.values())
        title = self.titled("{task}: differences")
        table = Table(title, headings, tuple(rows), notes + more, scope=self.scope)
        if rows:
            yield without_empty(table)

    def own_tables(self) -> Iterator[Table]:
        """Those that the task declares, each with the paper's table below it; the paper's own of its study alone."""
        models = {
            model.paper_model
            for model in self.found.compared.models
            if model.paper_model and model.run(self.task.name)
        }
        of_study = any(run.study for run in self.runs)
        for own in self.task.view.tables(self.task.measures):
            columns = [
                self.columns[name] for name in own.columns if name in self.columns
            ]
            if columns and (of_study or not own.training):
                table = self.of_columns(own.name, columns, own.notes)
                papers = paper_table(own.training, models) if models else None
                yield replace(table, papers=papers)

    def between(self) -> Iterator[Table]:
        """If answers are judged together, how every two models' answers to the same items compare."""
        runs = [
            (model.name, run)
            for model in self.found.compared.models
            if (run := model.run(self.task.name))
        ]
        if self.task.result_type.between is RunResult.between or len(runs) < 2:
            return
        rows = []
        for (name, run), (second, other) in combinations(runs, 2):
            apart = not_alike(run, other)
            cells = [
                Cell(why=apart) if apart else run.between(other, measure)
                for measure in self.task.measures
            ]
            caveats = tuple(caveats_of([run, other]))
            rows.append(TableRow(f"{name} × {second}", tuple(cells), caveats=caveats))
        label = f"{self.task.name}_between"
        columns = "model", *(measure.name for measure in self.task.measures)
        yield without_empty(Table(label, columns, tuple(rows), (f"{label}_note",)))


def of_side(method: Method, caveats: Iterable[str]) -> list[str]:
    """Caveats of one side of a difference."""
    return [translatable(OF, of=method.name, caveat=caveat) for caveat in caveats]


def tasks_on_page(found: Findings) -> list[TaskOnPage]:
    """The tasks that have runs."""
    return [TaskOnPage(task, found) for task in found.tasks.values()]


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
    return [{} if one.seeds else found.get(one.name, {}) for one in methods]


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
    kept, empty = [], dict[tuple[str, ...], list[str]]()
    for k, label in enumerate(table.columns[1:]):
        cells = [row.cells[k] for row in table.rows]
        if not cells or any(cell.value is not None for cell in cells):
            kept.append(k)
            continue
        each = [(cell.why,) if cell.why else cell.lines for cell in cells]
        reasons = chain(*(own or ("not_measured",) for own in each))
        empty.setdefault(tuple(dict.fromkeys(reasons)), []).append(label)
    form = "Not shown, since they have no values: {columns} ({reasons})"
    return replace(
        table,
        columns=(table.columns[0], *(table.columns[k + 1] for k in kept)),
        rows=tuple(
            replace(row, cells=tuple(row.cells[k] for k in kept))
            for row in table.rows
            if kept
        ),
        empty=tuple(
            translatable(
                form,
                columns=[*map(translatable, columns)],
                reasons=[*map(translatable, reasons)],
            )
            for reasons, columns in empty.items()
        ),
    )
