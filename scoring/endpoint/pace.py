"""How many requests are under way at once, what Ctrl-C makes of them, and whose fault it is that they fail."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
Result = TypeVar("Result")
# So many prompts in a row without an answer, each after all its attempts: the server is down, not the prompt at fault.
GIVE_UP_AFTER = 20


class Blame:
    """Whose fault it is that prompts get no answer: their own while others are answered, else the server's."""

    def __init__(self) -> None:
        self.answered: set[str] = set()
        self.in_a_row: list[
            str
        ] = []  # those without an answer since the last one with one

    def is_servers(self, prompt: str, answered: bool) -> bool:
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
