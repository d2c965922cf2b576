"""What the commands print in the terminal: a run's row, tables of changes, lines."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from sozo.data.progress import console
from sozo.eval.run import IsolatedFailures, TaskRun
from sozo.scoring.table import Cell, Table, tabulate
from sozo.scoring.translatable import translatable
from sozo.tasks.view import TERMINAL

if TYPE_CHECKING:
    from sozo.eval.findings import Findings


def print_run(run: TaskRun) -> None:
    """A task's run: its row, where its files are, and why it is not finished, if it is not."""
    from sozo.eval.report.labels import english
    from sozo.eval.report.tables import task_label

    task, result = run.task, run.result
    # A name is no label, whatever it is called.
    source = translatable("{name}", name=run.metrics["source"])
    rows = [
        {"Source": english(column.label), source: cell.line}
        for column, cell in task.view.fill_columns(TERMINAL, task.measures, result)
    ]
    if run.finished_before:
        print_lines([f"{run.folder}: finished before; nothing was computed again"])
    label = task_label(task.name, result.caveats)
    print_tables([tabulate(label, rows, task.view.notes(result))])
    files = [run.folder / name for name in task.view.files]
    print_lines(str(file) for file in files if file.exists())
    if run.stopped:
        print_lines([f"not finished: {run.stopped}"])


def print_plan(output: Path, lines: Iterable[str]) -> NoReturn:
    """The plan of a run, and the end of the command."""
    print_lines([*lines, f"{output}: nothing was written"])
    raise typer.Exit


def show_all(
    runs: Sequence[TaskRun],
    failures: IsolatedFailures | None = None,
) -> None:
    """Where rows are explained and answers are read; which `failures` came.

    Exit 3 if a judge stopped before the end: a script must not take that for the end.
    """
    if finished := [run.folder for run in runs if not run.stopped]:
        folder = commonpath(finished)
        page = f"sozo report {folder} --output {folder}.html"
        table = f"sozo answers {folder} --output {folder}.csv"
        print_lines(
            [
                f"A page to read, which says what the rows mean: {page}",
                f"Every answer, with its score or why it has none: {table}",
            ]
        )
    if failures:
        failures.end()
    if any(run.stopped for run in runs):
        raise typer.Exit(3)


def printing(command: Callable[..., Iterable[str]]) -> Callable[..., None]:
    """The command with the lines that it returns printed."""

    @wraps(command)
    def run(**values: Any) -> None:
        print_lines(command(**values))

    return run


def print_lines(lines: Iterable[str]) -> None:
    """Lines for people, as they are."""
    for line in lines:
        console().print(line, markup=False, highlight=False, emoji=False)


def print_answer(found: "Findings") -> None:
    """The report's first screen."""
    from sozo.eval.report.answer import first_screen
    from sozo.eval.report.contents import printed_tables
    from sozo.eval.report.labels import english

    answer = first_screen(found)
    print_lines(answer.lines())
    print_tables(printed_tables(found, first=True))
    print_lines(map(english, answer.notes))


def print_tables(tables: Sequence[Table]) -> None:
    """Tables of the report with a row for each model and the measures in columns.

    One of several that is wider than the terminal is printed a line a cell instead: no number is cut.
    """
    from rich import box
    from rich import table as rich
    from rich.text import Text

    from sozo.eval.report.labels import english

    for shown in tables:
        scope = f" ({english(shown.scope)})" if shown.scope else ""
        title = f"{english(shown.name)}{scope}"
        heads = [english(column) for column in shown.columns]
        rows = [
            [[row.name, *map(english, row.below)], *map(_lines, row.cells)]
            for row in shown.rows
        ]
        table = rich.Table(title=Text(title), title_justify="left", pad_edge=False)
        table.box = box.SIMPLE_HEAD
        for head in heads:
            table.add_column(Text(head), overflow="fold")
        for row in rows:
            table.add_row(*(Text("\n".join(cell)) for cell in row))
        screen = console()
        unbounded = screen.options.update(max_width=10**6)
        wide = screen.measure(table, options=unbounded).maximum > screen.width
        if rows and not (wide and heads[2:]):  # cells of one column fold by words
            screen.print(table)
        elif rows:
            print_lines([title])
            for name, *cells in rows:
                pairs = zip(heads[1:], cells, strict=True)
                lines = [f"  {head}: {', '.join(cell)}" for head, cell in pairs]
                print_lines([", ".join(name), *lines])
        print_lines(
            english(note) for note in (*shown.empty, *shown.caveats, *shown.notes)
        )


def _lines(cell: Cell) -> list[str]:
    from sozo.eval.report.labels import english

    shown = english(cell.text) if isinstance(cell.content, str) else cell.text
    return [f"{cell.arrow} {shown}".lstrip(), *map(english, cell.lines)]
