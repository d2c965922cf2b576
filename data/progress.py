"""A progress bar on stderr for a person; nothing where stderr goes to a file."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from sozo.data.foreign import shown


@cache
def _console_type() -> Any:
    from rich.console import Console

    class Plain(Console):
        """A console to which what a folder or a file says is text, whatever it holds."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=shown(segment.text))

    return Plain


def console(**options: Any) -> Any:
    """Where everything for people is printed, without what steers a terminal but rich's own colours."""
    return _console_type()(soft_wrap=True, **options)


@contextmanager
def responses_bar(
    what: str, total: int, done: int = 0, *, count_valid: bool = False, quiet: bool = False
) -> Iterator[Callable[[int, int | None], None]]:
    """A bar with responses a second, the valid rate so far and the time left.

    It is called with how many responses were done and how many of them are valid; None where nothing is scored.
    It counts to `total` from what an earlier call has `done`, with `count_valid` valid responses only; `quiet` shows
    nothing, since another process has the bar.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown_on = console(stderr=True)
    description, rate = TextColumn("{task.description}", markup=False), TextColumn("{task.fields[rate]}")
    columns = (description, BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn())
    with Progress(*columns, console=shown_on, disable=quiet or not shown_on.is_terminal, transient=True) as progress:
        task = progress.add_task(what, total=total, completed=done, rate="")
        seen = good = 0
        started = time.monotonic()

        def advance(count: int, valid: int | None) -> None:
            nonlocal seen, good
            seen, good = seen + count, good + (valid or 0)
            speed = seen / max(time.monotonic() - started, 1e-9)
            share = f"valid {good / seen:.1%}" if seen and valid is not None else ""
            progress.update(task, advance=valid if count_valid else count, rate=f"{speed:,.1f}/s  {share}")

        yield advance
