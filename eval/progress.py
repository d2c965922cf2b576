"""A progress bar on stderr for a person; nothing where stderr goes to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[int, int], None]
"""Called with how many responses were done and how many of them are valid."""


@contextmanager
def responses_bar(what: str, total: int, done: int = 0) -> Iterator[Advance]:
    """A bar with responses a second, the valid rate so far and the time left. `done` came from an earlier call."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(what, total=total, completed=done, rate="")
        seen = good = 0

        def advance(count: int, valid: int) -> None:
            nonlocal seen, good
            seen, good = seen + count, good + valid
            speed = progress.tasks[0].speed
            share = f"valid {good / seen:.1%}" if seen else ""
            progress.update(task, advance=count, rate=f"{speed:,.0f}/s  {share}" if speed else share)

        yield advance
