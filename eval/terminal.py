"""What the commands print in the terminal: a run's row, tables of changes, pages."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sozo.data.progress import console
from sozo.eval.run import TaskRun
from sozo.scoring.table import Cell, Table
from sozo.tasks.view import TERMINAL

if TYPE_CHECKING:
    from sozo.eval.report.answer import FirstScreen

_COLOURS = {"good": "green", "bad": "red"}
ARROWS = {"up": "▲ ", "down": "▼ "}
_NARROW = 18  # cells that hold most intervals in one line


@dataclass(frozen=True, slots=True)
class PageRun:
    """The result of a command that compares runs."""

    folder: Path
    page: str  # the page in Markdown
    files: tuple[str, ...]  # names of what the folder holds, for people
    finished_before: bool  # whether nothing was computed, since an earlier call had finished
    stopped: str | None = None  # why it is not finished, if it is not


def print_run(run: TaskRun) -> None:
    """A task's run: its row, where its files are, and why it is not finished, if it is not."""
    from rich.console import Group
    from rich.text import Text

    from sozo.eval.report.differences import few
    from sozo.eval.report.labels import english
    from sozo.eval.report.tables import task_label

    task, result = run.task, run.result
    table = _table(english(task_label(task.name, result.caveats)), show_header=False)
    shown = task.view.shown(TERMINAL, task.measures, result)
    rows = [("Source", str(run.metrics["source"])), *((english(column.label), cell.line) for column, cell in shown)]
    labels, values = zip(*rows, strict=True)
    least = _whole_numbers(values)
    table.add_column(width=min(_longest(labels), max(console().width - least - 3, 10)), overflow="fold")
    table.add_column(justify="right", min_width=least, overflow="fold")
    for label, value in rows:
        table.add_row(label, Text(value))
    n = result.estimate(task.measures[0]).n
    notes = [*task.view.notes(result), *map(english, few(n))]
    _print_finished(run, Group(table, *map(Text, notes)), task.view.files)  # what a model wrote has no markup


def print_explained(runs: Iterable[TaskRun]) -> None:
    """What the rows' names mean, once for all runs."""
    print_lines(dict.fromkeys(line for run in runs for line in run.task.view.explained(run.task.measures, run.result)))


def print_page(run: PageRun) -> None:
    """A finished comparison: its page, and where its files are."""
    _print_finished(run, run.page, run.files, markup=False, highlight=False, emoji=False)


def _print_finished(run: TaskRun | PageRun, result: Any, files: Iterable[str], **how: Any) -> None:
    if run.finished_before:
        print_lines([f"{run.folder}: finished before; nothing was computed again"])
    console().print(result, **how)
    print_lines(str(run.folder / name) for name in files)
    if run.stopped:
        print_lines([f"not finished: {run.stopped}"])


def printing(command: Callable[..., Iterable[str]]) -> Callable[..., None]:
    """The command with the lines that it returns printed."""

    @wraps(command)
    def run(**values: Any) -> None:
        print_lines(command(**values))

    return run


def print_lines(lines: Iterable[str]) -> None:
    """Lines for people, as they are."""
    for line in lines:
        console().print(line, markup=False, highlight=False)


def print_answer(answer: "FirstScreen") -> None:
    """The report's first screen."""
    from sozo.eval.report.labels import english

    print_lines([f"{english(answer.question)} {english(answer.sentence)}"])
    print_tables([answer.overview])
    print_lines(answer.lines())


def print_tables(tables: Sequence[Table]) -> None:
    """Tables of the report with a row for each model and the measures in columns.

    Columns that are too many for the terminal's width follow below, with the models' names again: no number is cut.
    """
    from rich.text import Text

    from sozo.eval.report.labels import english

    for shown in tables:
        heads, rows, width = [english(column) for column in shown.columns], [], console().width
        for row in shown.rows:
            lines = [row.name, *([f"{english('mean_of_seeds')} {row.seeds}"] if row.seeds else [])]
            lines += [f"{english('from_base')} {row.base}"] if row.base else []
            cells = [Text("\n".join(_lines(cell)), _colour(cell.mark)) for cell in row.cells]
            rows.append([Text("\n".join(lines)), *cells])
        columns = [[head, *(str(row[k]) for row in rows)] for k, head in enumerate(heads)]
        widths = [_longest(column) for column in columns]
        if sum(widths) + 3 * len(widths) > width:
            room = max(width // 3, 10)
            widths = [min(widths[0], room)]
            widths += [
                min(_longest(column), max(_whole_numbers(column[1:]), _NARROW), width - room - 6)
                for column in columns[1:]
            ]
        for k, numbers in enumerate(_side_by_side(widths, width) if rows else ()):
            of = f" ({english(shown.of)})" if shown.of else ""
            table = _table(f"{english(shown.name)}{of}{' (continued)' if k else ''}")
            for number in numbers:
                table.add_column(Text(heads[number]), width=widths[number], overflow="fold")
            for texts in rows:
                table.add_row(*(texts[number] for number in numbers))
            console().print(table)
        reasons = ((", ".join(map(english, columns)), "; ".join(map(english, why))) for why, columns in shown.empty)
        print_lines(f"{english('no_values')} {columns} ({why})" for columns, why in reasons)
        print_lines(english(note) for note in shown.notes)


def _lines(cell: Cell) -> list[str]:
    from sozo.eval.report.labels import english

    arrow = next((ARROWS[word] for word in cell.mark.split() if word in ARROWS), "")
    shown = english(cell.text) if isinstance(cell.value, str) else cell.text
    return [f"{arrow}{shown}", *map(english, cell.lines)]


def _side_by_side(widths: Sequence[int], room: int) -> list[list[int]]:
    """Numbers of the columns that fit beside the first, of these widths in cells, table by table.

    >>> _side_by_side([10, 18, 18, 18], 60), _side_by_side([10, 18], 20)
    ([[0, 1, 2], [0, 3]], [[0, 1]])
    """
    tables = [[0]]
    for number in range(1, len(widths)):
        if len(tables[-1]) > 1 and sum(widths[k] + 3 for k in (*tables[-1], number)) > room:
            tables.append([0])
        tables[-1].append(number)
    return tables


def _longest(texts: Iterable[str]) -> int:
    """Cells of the longest line: a wide character takes two."""
    from rich.cells import cell_len

    return max(cell_len(line) for text in texts for line in text.splitlines() or [""])


def _whole_numbers(texts: Iterable[str]) -> int:
    """Cells of the longest word with a digit in it: in a narrower column a number would be cut."""
    words = (word for text in texts for word in text.split() if any(map(str.isdigit, word)))
    return _longest(["", *words])


def _colour(mark: str) -> str:
    return next((_COLOURS[word] for word in mark.split() if word in _COLOURS), "")


def _table(title: str, *, show_header: bool = True) -> Any:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=show_header, pad_edge=False)
