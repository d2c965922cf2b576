"""What the commands print in the terminal: a run's row, tables of changes, pages."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from sozo.eval.run import TaskRun
from sozo.scoring.table import Table
from sozo.tasks.view import TERMINAL

_COLOURS = {"good": "green", "bad": "red"}


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

    from sozo.eval.report.labels import english

    table, task, result = _table(run.task.name.upper(), show_header=False), run.task, run.result
    table.add_column(no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    table.add_row("Source", Text(str(run.metrics["source"])))
    for column, cell in task.view.shown(TERMINAL, task.measures, result):
        table.add_row(english(column.label), Text(cell.line))
    _print_finished(run, Group(table, *task.view.notes(result)), task.view.files)


def print_page(run: PageRun) -> None:
    """A finished comparison: its page, and where its files are."""
    _print_finished(run, run.page, run.files, markup=False, highlight=False, emoji=False)


def _print_finished(run: TaskRun | PageRun, result: Any, files: Iterable[str], **how: Any) -> None:
    if run.finished_before:
        print_lines([f"{run.folder}: finished before; nothing was computed again"])
    _console().print(result, **how)
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
        _console().print(line, markup=False, highlight=False)


def print_changes(tables: Sequence[Table]) -> None:
    """The report's tables of changes with a row for each model and the measures in columns."""
    from rich.text import Text

    from sozo.eval.report.labels import english

    for shown in tables:
        table = _table(english(shown.name))
        for column in shown.columns:
            table.add_column(Text(english(column)))
        for part in filter(None, (shown, shown.each)):  # each seed after the methods
            for row in part.rows:
                lines = [row.name, *([f"{english('mean_of_seeds')} {row.seeds}"] if row.seeds else [])]
                lines.append(f"{english('from_base')} {row.base}")
                cells = [Text("\n".join((cell.text, *cell.lines)), _colour(cell.mark)) for cell in row.cells]
                table.add_row(Text("\n".join(lines)), *cells)
            table.add_section()
        _console().print(table)
        print_lines(english(note) for note in shown.notes)


def _colour(mark: str) -> str:
    return next((_COLOURS[word] for word in mark.split() if word in _COLOURS), "")


def _table(title: str, *, show_header: bool = True) -> Any:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=show_header, pad_edge=False)


def _console() -> Any:
    from rich.console import Console

    return Console(soft_wrap=True)
