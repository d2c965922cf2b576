"""How far a command is, on stderr: a bar for a person, a line a minute where stderr goes to a file."""

import math
import sys
import threading
import time
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


class _Progress:
    """How far something is: a bar where stderr is a terminal, else a line a minute."""

    def __init__(self, what: str, total: int, done: int, count_usable: bool) -> None:
        from tqdm import tqdm

        self.what = strip_steering(what)
        self.total = total
        self.count_usable = count_usable
        self.before, self.done, self.ahead = done, 0, 0
        self.seen = self.good = self.failed = 0
        self.cost = 0.0
        self.began = time.monotonic()
        self.ended = threading.Event()
        self.bar = tqdm(
            desc=self.what, total=total, initial=done, leave=False, disable=None
        )
        self.teller = threading.Thread(target=self.tell, daemon=True)
        if self.bar.disable:
            self.teller.start()

    def end(self) -> None:
        """Nothing is told of it any more, nor by a line that is just being written."""
        self.ended.set()
        if self.teller.is_alive():
            self.teller.join()
        self.bar.close()

    def advance(self, count: int, usable: int | None) -> None:
        """So many answers were done, and so many of them are usable; what was noted `ahead` is among them."""
        if usable is not None:
            self.seen, self.good = self.seen + count, self.good + usable
        if self.count_usable and usable is not None:
            count = usable
        new = max(count - self.ahead, 0)
        self.ahead = max(self.ahead - count, 0)
        self.show(new)

    def show(self, new: int) -> None:
        """So many more are done."""
        self.done += new
        self.bar.set_postfix_str(self.facts(), refresh=False)
        self.bar.update(new)

    def facts(self) -> str:
        """The usable share, what failed and what was paid, where there is such."""
        said = []
        if self.seen:
            said.append(f"usable {self.good / self.seen:.1%}")
        if self.failed:
            said.append(f"{self.failed:,} failed")
        if self.cost:
            said.append(f"{self.cost:,.4f} dollars")
        return ", ".join(said)

    def line(self) -> str:
        """For a log."""
        seconds = time.monotonic() - self.began
        done = self.before + self.done
        left = "time left not known"
        if self.done:
            minutes = seconds / self.done * max(self.total - done, 0) / 60
            left = f"{math.ceil(minutes):,} min left"
        facts = [f"{done:,} of {self.total:,}", self.facts(), left]
        return f"{self.what}: {', '.join(filter(None, facts))}\n"

    def tell(self) -> None:
        """A line a minute, until the end."""
        while not self.ended.wait(MINUTE):
            sys.stderr.write(self.line())
            sys.stderr.flush()


MINUTE = 60.0  # seconds
_under_way = list[_Progress]()  # the innermost last


def note(done: int = 0, failed: int = 0, cost: float = 0.0) -> None:
    """Tell what is under way that answers came (before they are written), failed, or cost dollars."""
    if _under_way:
        progress = _under_way[-1]
        progress.failed += failed
        progress.cost += cost
        # Of what came nobody knows yet whether it is usable.
        ahead = 0 if progress.count_usable else done
        progress.ahead += ahead
        progress.show(ahead)


@contextmanager
def answers_bar(
    what: str,
    total: int,
    done: int = 0,
    *,
    count_usable: bool = False,
    quiet: bool = False,
) -> Iterator[Callable[[int, int | None], None]]:
    """A bar with answers a second, the usable share so far, what failed and cost, and the time left.

    Where stderr is no terminal it is a line a minute. It is called with how many answers were done and how many of them
    are usable; None where nothing is scored. It counts to `total` from what an earlier call has `done`, with
    `count_usable` usable answers only; `quiet` shows nothing, since another process has the bar.
    """
    if quiet:
        yield lambda _count, _usable: None
        return
    progress = _Progress(what, total, done, count_usable)
    _under_way.append(progress)
    try:
        yield progress.advance
    finally:
        _under_way.remove(progress)
        progress.end()


@cache
def say_once(line: str) -> None:
    """Write a line to standard error, however often it is to be said."""
    from tqdm import tqdm

    tqdm.write(strip_steering(line), file=sys.stderr)
