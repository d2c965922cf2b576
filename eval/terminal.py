"""What the commands print in the terminal: a run's row, tables of changes, lines."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from sozo.data.progress import console
from sozo.eval.isolated_failures import IsolatedFailures
from sozo.eval.run import TaskRun
from sozo.scoring.final_text import NO_TEXT, Ending
from sozo.scoring.numbers import n_of
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import MOST_CUT, RunResult
from sozo.tasks.view import TERMINAL

if TYPE_CHECKING:
    from sozo.eval.findings import Findings

_NARROW = 18  # cells that hold most intervals in one line


def print_run(run: TaskRun) -> None:
    """A task's run: its row, where its files are, and why it is not finished, if it is not."""
    from sozo.eval.report.labels import english
    from sozo.eval.report.tables import task_label

    task, result = run.task, run.result
    shown = task.view.fill_columns(TERMINAL, task.measures, result)
    rows = tuple(
        TableRow(english(column.label), (Cell(cell.line),)) for column, cell in shown
    )
    name = run.metrics["source"]
    notes = [*task.view.notes(result), *_cut_short(result)]
    if run.finished_before:
        print_lines([f"{run.folder}: finished before; nothing was computed again"])
    # A name is no label, whatever it is called.
    source = translatable("{name}", name=name)
    print_tables(
        [
            Table(
                task_label(task.name, result.caveats),
                ("Source", source),
                rows,
                tuple(notes),
            )
        ]
    )
    files = [run.folder / name for name in task.view.files]
    print_lines(str(file) for file in files if file.exists())
    if run.stopped:
        print_lines([f"not finished: {run.stopped}"])


def _cut_short(run: RunResult) -> list[str]:
    """Where more than a few answers ended at their limit, which that is."""
    if (
        limit := run.settings.get("max_new_tokens")
    ) is None:  # not known of answers that somebody else drew
        return []
    cut, answers = run.states[Ending.CUT], sum(run.states.values())
    cut += run.states[NO_TEXT]  # which reasoning mostly took
    text = f"{n_of(cut, answers)} answers were cut or left without text at {limit} tokens: --max-new-tokens"
    return [text] if cut > MOST_CUT * answers else []


def print_plan(output: Path, lines: Sequence[str], lacking: Sequence[str]) -> NoReturn:
    """The plan of a run; what is missing makes the exit status 1."""
    print_lines([*lines, *(f"missing: {line}" for line in lacking)])
    print_lines([f"{output}: nothing was written"])
    raise typer.Exit(bool(lacking))


def show_all(
    runs: Sequence[TaskRun | None],
    failures: IsolatedFailures | None = None,
) -> None:
    """Where rows are explained and answers are read; which `failures` came.

    Exit 3 if a judge, or the drawing of answers, stopped before the end: a script must not take that for the end.
    """
    shown = [run for run in runs if run is not None]
    if finished := [run.folder for run in shown if not run.stopped]:
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
    if any(run.stopped for run in shown):
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

    Columns that are too many for the terminal's width follow below, with the models' names again: no number is cut.
    """
    from rich import box
    from rich import table as rich
    from rich.text import Text

    from sozo.eval.report.labels import english

    for shown in tables:
        heads, rows, width = (
            [english(column) for column in shown.columns],
            [],
            console().width,
        )
        for row in shown.rows:
            cells = [
                Text("\n".join(_lines(cell)), "bold" if cell.mark else "")
                for cell in row.cells
            ]
            rows.append([Text("\n".join([row.name, *map(english, row.below)])), *cells])
        columns = [
            [head, *(str(row[k]) for row in rows)] for k, head in enumerate(heads)
        ]
        widths = [_longest(column) for column in columns]
        if sum(widths) + 3 * len(widths) > width:
            room = max(width // 3, 10)
            widths = [min(widths[0], room)]
            widths += [
                min(
                    _longest(column),
                    max(_whole_numbers(column[1:]), _NARROW),
                    width - room - 6,
                )
                for column in columns[1:]
            ]
        for k, numbers in enumerate(_side_by_side(widths, width) if rows else ()):
            scope = f" ({english(shown.scope)})" if shown.scope else ""
            title = f"{english(shown.name)}{scope}{' (continued)' if k else ''}"
            table = rich.Table(
                title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
            )
            for number in numbers:
                table.add_column(
                    Text(heads[number]), width=widths[number], overflow="fold"
                )
            for texts in rows:
                table.add_row(*(texts[number] for number in numbers))
            console().print(table)
        print_lines(
            english(note) for note in (*shown.empty, *shown.caveats, *shown.notes)
        )


def _lines(cell: Cell) -> list[str]:
    from sozo.eval.report.labels import english

    shown = english(cell.text) if isinstance(cell.content, str) else cell.text
    return [f"{cell.arrow} {shown}".lstrip(), *map(english, cell.lines)]


def _side_by_side(widths: Sequence[int], room: int) -> list[list[int]]:
    """Numbers of the columns that fit beside the first, of these widths in cells, table by table.

    >>> _side_by_side([10, 18, 18, 18], 60), _side_by_side([10, 18], 20)
    ([[0, 1, 2], [0, 3]], [[0, 1]])
    """
    tables = [[0]]
    for number in range(1, len(widths)):
        if (
            len(tables[-1]) > 1
            and sum(widths[k] + 3 for k in (*tables[-1], number)) > room
        ):
            tables.append([0])
        tables[-1].append(number)
    return tables


def _longest(texts: Iterable[str]) -> int:
    """Cells of the longest line: a wide character takes two."""
    from rich.cells import cell_len

    return max(cell_len(line) for text in texts for line in text.splitlines() or [""])


def _whole_numbers(texts: Iterable[str]) -> int:
    """Cells of the longest word with a digit in it: in a narrower column a number would be cut."""
    words = (
        word for text in texts for word in text.split() if any(map(str.isdigit, word))
    )
    return _longest(["", *words])
