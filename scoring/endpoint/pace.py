"""How an attempt is repeated, how many are under way at once, what Ctrl-C makes of them, whose fault failures are."""

import asyncio
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
Result = TypeVar("Result")
# So many prompts in a row without an answer, each after all its attempts: the server is down, not the prompt at fault.
GIVE_UP_AFTER = 20
# A server's words for an account that no waiting helps, as its code or its type of an error.
USED_UP = {
    "insufficient_quota",
    "insufficient_user_quota",
    "insufficient_balance",
    "exceeded_current_quota_error",
    "quota_exceeded",
    "billing_not_active",
    "billing_hard_limit_reached",
}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits that double, with jitter, so that what failed together does not come back together; in seconds."""

    retries: int = 6  # after 5xx, time-outs, dropped connections and senseless replies
    first_wait: float = 1.0  # at most
    longest_wait: float = 60.0
    # On 429 in all. A rate limit is no failure, so it is not counted in `retries`; one that asks for more ends the run.
    patience: float = 900.0

    def wait(self, failures: int, at_least: float | None = None) -> float:
        """Seconds before the next attempt, after so many failed ones.

        >>> 0.5 <= RetryPolicy().wait(1) <= 1.0, RetryPolicy().wait(1, at_least=20.0) >= 20.0
        (True, True)
        """
        wait = min(
            self.longest_wait, self.first_wait * 2.0 ** min(failures - 1, 60)
        ) * random.uniform(0.5, 1.0)
        return wait if at_least is None else at_least + 0.1 * wait


def retry_after(milliseconds: str | None, value: str | None) -> float | None:
    """What the headers `retry-after-ms` and `Retry-After` ask for, in seconds (a number or a date); None if nothing.

    >>> retry_after(None, "2"), retry_after("250", "1"), retry_after(None, "soon")
    (2.0, 0.25, None)
    """
    for text, unit in ((milliseconds, 1000.0), (value, 1.0)):
        try:
            seconds = float(text or "") / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


_errors = ContextVar[list[BaseException]]("errors")  # of the items that are under way


def is_ending() -> bool:
    """Whether the items of which this is one are not gone on with: after an error, or Ctrl-C."""
    return bool(_errors.get(None))


class CircuitBreaker:
    """Whose fault it is that prompts get no answer: their own while others are answered, else the server's."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        # Those without an answer since the last one with one
        self.in_a_row: list[str] = []

    def trips(self, prompt: str, answered: bool) -> bool:
        """Note what came of a prompt; whether the server is to blame.

        A prompt that was never answered while others were counts once, however often it is asked.
        """
        if answered:
            self.answered.add(prompt)
            self.in_a_row.clear()
        elif (
            not self.answered or prompt in self.answered or prompt not in self.in_a_row
        ):
            self.in_a_row.append(prompt)
        return len(self.in_a_row) >= GIVE_UP_AFTER


async def for_each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[None]], concurrency: int
) -> None:
    """Do `work` on every item, so many at once. After an error what is under way ends, and nothing more begins.

    So after Ctrl-C too: what is under way is paid for. A second Ctrl-C drops it.
    """
    queue = iter(items)
    errors: list[BaseException] = []
    _errors.set(errors)

    async def worker() -> None:
        for item in queue:
            try:
                await work(item)
            except Exception as error:
                # Not raised at once, which would cancel the others' requests: they are paid for.
                errors.append(error)
            if errors:
                return

    workers = [asyncio.ensure_future(worker()) for _ in range(concurrency)]
    with _gentle_interrupt(errors, workers):
        await asyncio.gather(*workers, return_exceptions=True)
    if errors:
        raise errors[0]


@contextmanager
def _gentle_interrupt(
    errors: list[BaseException], workers: Sequence["asyncio.Future[None]"]
) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        if errors and isinstance(errors[0], KeyboardInterrupt):
            for worker in workers:
                worker.cancel()
            return
        errors.insert(0, KeyboardInterrupt())
        busy = sum(not worker.done() for worker in workers)
        tqdm.write(
            f"stopping: up to {busy} requests under way are finished first; Ctrl-C drops them",
            file=sys.stderr,
        )

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (
        ValueError,
        RuntimeError,
        NotImplementedError,
    ):  # not the main thread: Ctrl-C is somebody else's
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def run_to_end(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result, also where an event loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
