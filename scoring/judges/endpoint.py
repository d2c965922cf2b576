"""Who judges: a model behind any OpenAI-compatible endpoint, or a function from prompts to replies on this machine."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sozo.data.errors import UserError
from sozo.data.prompts import messages
from sozo.data.schema import Completion, utf8_safe
from sozo.scoring.endpoint.client import FILTERED, OFFICIAL, Endpoint, Reply
from sozo.scoring.endpoint.greeting import CHAT, GREETING, first_accepted
from sozo.scoring.endpoint.profile import NONE, Profile, read_profile
from sozo.scoring.judges.protocol import JudgeSettings


class EndpointJudge(Endpoint):
    """Chat completions of an OpenAI-compatible endpoint. The paper's judge is GPT-4o (section 4.1); the
    temperature 0 is that of JCQ-judge, the program of the benchmark's makers, and in no paper.

    What a server refuses for good (400, 422) is an error of that one prompt. A verdict takes some 40 tokens, that of a
    reasoning model thousands. `profile` says what a server wants its own way, such as no temperature.
    `options` are `sozo.scoring.endpoint.client.Endpoint`'s.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        max_tokens: int | None = 1024,
        profile: Profile | None = None,
        **options: Any,
    ) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise UserError(
                f"max_tokens must be at least 1, not {max_tokens}; give another"
            )
        profile = profile or Profile()
        options = {"timeout": 120.0, **options}
        super().__init__(f"judge {model}", base_url, profile=profile, **options)
        self.name = model
        self.max_tokens = None if profile.limit_name == NONE else max_tokens
        # OpenAI's reasoning models refuse max_tokens, and many other servers do not know the newer name.
        if self.url == OFFICIAL and profile.limit_name is None:
            profile = replace(profile, limit_name="max_completion_tokens")
        decoder = {"temperature": 0.0, "max_tokens": max_tokens}
        *self._shorter, self._body = (
            {"model": model, **profile.decoder(decoder | {"max_tokens": limit})}
            for limit in (1, 16, max_tokens)
        )
        self.parameters: dict[str, Any] = (
            decoder | profile.deciding() | {"server": profile.server_at(self.url)}
        )

    def check_health(self) -> None:
        """Have the server reply with one token, or as many as it insists on; UserError where it does not.

        What follows may find it gone again: it is not `proven` by this.
        """
        asks = {"messages": messages(GREETING)}
        bodies = [body | asks for body in (*self._shorter, self._body)]
        first_accepted(self, bodies, self.chat_reply)
        self.proven = False

    async def ask(self, prompt: str) -> Reply:
        """One reply, with the tokens of every attempt that it took; None where a reply came and does not say them."""
        body = {**self._body, "messages": messages(utf8_safe(prompt))}
        outcome = await self.post(CHAT, body, self.chat_reply)
        # Azure's content filter answers with 400.
        reply = outcome.value or Reply(
            error=outcome.error, refused=outcome.code == FILTERED
        )
        totals: list[int | None] = []
        for counts in zip(*outcome.usage, strict=True):
            known = [count for count in counts if count is not None]
            # A server may tell the tokens of a failed attempt and not those of the reply.
            unknown = not known or (reply.text is not None and counts[-1] is None)
            totals.append(None if unknown else sum(known))
        return replace(reply, prompt_tokens=totals[0], completion_tokens=totals[1])

    def describe(self) -> dict[str, Any]:
        """Who judges, and where."""
        return {"model": self.name, "base_url": self.url, **self.parameters}


def endpoint_judge(settings: JudgeSettings) -> EndpointJudge:
    """The judge behind the endpoint that the settings name. (`models.judges.make_judge` knows local models too.)"""
    if settings.judge_backend != "openai":
        remedy = "hand the judge in, or set make_judge: sozo.models.judges.make_judge"
        raise UserError(
            f"judge_backend {settings.judge_backend}: rewards cannot load a model; {remedy}"
        )
    return EndpointJudge(
        settings.judge_model,
        settings.judge_base_url,
        max_tokens=settings.judge_max_tokens,
        profile=read_profile(settings.judge_endpoint),
        concurrency=settings.judge_concurrency,
    )


class LocalJudge:
    """A function from prompts to replies as a judge, called with up to `batch_size` prompts at a time, in a thread.

    `reply` takes prompts and gives as many replies: texts, or `Completion`s where it is known that one hit the length
    limit. It must decode greedily (as JCQ-judge does), put each prompt into the model's chat template, and is
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
        self.parameters = {
            "temperature": 0.0,
            "max_tokens": max_tokens,
            **(parameters or {}),
        }
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
        # All that are ready to ask do so before the first batch is cut
        await asyncio.sleep(0)
        while self._waiting:
            batch = self._waiting[: self.concurrency]
            self._waiting = self._waiting[self.concurrency :]
            try:
                replies = await asyncio.to_thread(
                    self._reply, [prompt for prompt, _ in batch]
                )
                if len(replies) != len(batch):
                    raise ValueError(
                        f"{self.name} gave {len(replies)} replies to {len(batch)} prompts"
                    )
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
                    future.set_result(
                        Reply(completion.text, finish_reason=completion.finish_reason)
                    )
