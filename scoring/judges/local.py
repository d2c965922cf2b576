"""A model on this machine as a judge: whatever turns a batch of prompts into a batch of replies."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from sozo.data.schema import Completion
from sozo.scoring.judges.protocol import Reply


class LocalJudge:
    """A function from prompts to replies as a judge, called with up to `batch_size` prompts at a time, in a thread.

    `reply` takes prompts and gives as many replies: texts, or `Completion`s where it is known that one hit the length
    limit. It must decode greedily (the paper: temperature 0), put each prompt into the model's chat template, and is
    never called twice at once. If it raises, the run ends; what was judged before is kept. `parameters` are what else
    decides a reply, such as a revision; they are part of every judgement's key.

    >>> judge = LocalJudge("constant", lambda prompts: ["流暢性: 1"] * len(prompts), batch_size=2)
    >>> asyncio.run(judge.ask("...")).text
    '流暢性: 1'
    """

    proven = True

    def __init__(
        self,
        name: str,
        reply: Callable[[list[str]], Sequence[str | Completion]],
        *,
        parameters: dict[str, Any] | None = None,
        batch_size: int = 8,
        max_tokens: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self.name, self.concurrency, self.max_tokens = name, batch_size, max_tokens
        self.parameters = {"temperature": 0.0, "max_tokens": max_tokens, **(parameters or {})}
        self._reply = reply
        self._waiting: list[tuple[str, asyncio.Future[Reply]]] = []
        self._drain: asyncio.Task[None] | None = None

    async def ask(self, prompt: str) -> Reply:
        """The reply to one prompt, computed together with those asked for at the same time."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((prompt, future))
        if self._drain is None or self._drain.done():
            self._drain = asyncio.create_task(self._answer())
        return await future

    def describe(self) -> dict[str, Any]:
        """Who judges, and how."""
        return {"model": self.name, "batch_size": self.concurrency, **self.parameters}

    async def close(self) -> None:
        """Nothing to let go of."""

    async def _answer(self) -> None:
        await asyncio.sleep(0)  # all that are ready to ask do so before the first batch is cut
        while self._waiting:
            batch, self._waiting = self._waiting[: self.concurrency], self._waiting[self.concurrency :]
            try:
                replies = await asyncio.to_thread(self._reply, [prompt for prompt, _ in batch])
                if len(replies) != len(batch):
                    raise ValueError(f"{self.name} gave {len(replies)} replies to {len(batch)} prompts")
            except BaseException as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, future), reply in zip(batch, replies, strict=True):
                completion = Completion(reply) if isinstance(reply, str) else reply
                if not future.done():
                    future.set_result(Reply(completion.text, finish_reason=completion.finish_reason))
