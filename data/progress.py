"""A progress bar on stderr for a person; nothing where stderr goes to a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from sozo.data.foreign import strip_steering


@cache
def _console_type() -> Any:
    from rich.console import Console

    class Plain(Console):
        """A console to which what a folder or a file says is text, whatever it holds."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                yield (
                    segment
                    if segment.control
                    else segment._replace(text=strip_steering(segment.text))
                )

    return Plain


def console(**options: Any) -> Any:
    """Where everything for people is printed, without what steers a terminal but rich's own colours."""
    return _console_type()(soft_wrap=True, **options)


@contextmanager
def answers_bar(
    what: str,
    total: int,
    done: int = 0,
    *,
    count_usable: bool = False,
    quiet: bool = False,
) -> Iterator[Callable[[int, int | None], None]]:
    """A bar with answers a second, the usable share so far and the time left; none where stderr is no terminal.

    It is called with how many answers were done and how many of them are usable; None where nothing is scored.
    It counts to `total` from what an earlier call has `done`, with `count_usable` usable answers only; `quiet` shows
    nothing, since another process has the bar.
    """
    from tqdm import tqdm

    seen = good = 0
    with tqdm(
        desc=strip_steering(what),
        total=total,
        initial=done,
        leave=False,
        disable=quiet or None,
    ) as bar:

        def advance(count: int, usable: int | None) -> None:
            nonlocal seen, good
            seen, good = seen + count, good + (usable or 0)
            if seen and usable is not None:
                bar.set_postfix_str(f"usable {good / seen:.1%}", refresh=False)
            bar.update(usable if count_usable and usable is not None else count)

        yield advance
