"""Many things at once, for callers who know nothing of event loops."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


async def for_each(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], concurrency: int) -> None:
    """Do `work` on every item, so many at once. After an error what is under way ends, and nothing more begins."""
    queue = iter(items)
    errors: list[Exception] = []

    async def worker() -> None:
        for item in queue:
            try:
                await work(item)
            except Exception as error:
                # Not raised at once, which would cancel the others' requests: they are paid for.
                errors.append(error)
            if errors:
                return

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    if errors:
        raise errors[0]


def run_to_end(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result, also where an event loop is running already (a notebook).

    >>> run_to_end(asyncio.sleep(0, "slept"))
    'slept'
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
