"""What the commands print in the terminal: a run's row, tables of changes, pages."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from sozo.eval.run import TaskRun

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

    table, view = _table(run.task.name.upper(), show_header=False), run.task.view
    table.add_column(no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    for heading, cell in view.cells(run.task.measures, run.metrics).items():
        table.add_row(heading, Text(cell))
    _print_finished(run, Group(table, *view.notes(run.metrics)), view.files)


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


def print_changes(tables: Sequence[Any]) -> None:
    """The report's tables of changes (`PageTable`), a row for each model and the measures in columns."""
    from rich.text import Text

    from sozo.eval.report.labels import english

    for page_table in tables:
        table = _table(english(page_table.name))
        for column in page_table.columns:
            table.add_column(Text(english(column)))
        for part in filter(None, (page_table, page_table.each)):  # each seed after the methods
            for name, cells in part.rows:
                lines = [name] + ([f"{english('mean_of_seeds')} {part.seeds[name]}"] if name in part.seeds else [])
                lines.append(f"{english('from_base')} {part.against[name]}")
                shown = [Text("\n".join((cell.value, *cell.small)), _colour(cell.mark)) for cell in cells]
                table.add_row(Text("\n".join(lines)), *shown)
            table.add_section()
        _console().print(table)
        print_lines(english(note) for note in page_table.notes)


def _colour(mark: str) -> str:
    return next((_COLOURS[word] for word in mark.split() if word in _COLOURS), "")


def _table(title: str, *, show_header: bool = True) -> Any:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=show_header, pad_edge=False)


def _console() -> Any:
    from rich.console import Console

    return Console(soft_wrap=True)
