"""Any OpenAI-compatible endpoint as a judge."""

from dataclasses import replace
from typing import Any

from sozo.data.errors import UserError
from sozo.data.prompts import messages
from sozo.data.schema import utf8_safe
from sozo.scoring.endpoint.client import OFFICIAL, Endpoint
from sozo.scoring.endpoint.profile import Profile, read_profile
from sozo.scoring.judges.options import JudgeSettings
from sozo.scoring.judges.protocol import Reply


class EndpointJudge:
    """Chat completions of an OpenAI-compatible endpoint. The paper: gpt-4o-2024-08-06 at temperature 0 (section 4.1).

    What a server refuses for good (400, 422) is an error of that one prompt. A verdict takes some 40 tokens, that of a
    reasoning model thousands. A `temperature` of None leaves it out, for models that refuse it; `profile` says what
    else a server wants its own way. `options` are `sozo.scoring.endpoint.client.Endpoint`'s.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int | None = 1024,
        temperature: float | None = 0.0,
        profile: Profile | None = None,
        **options: Any,
    ) -> None:
        if max_tokens is not None and max_tokens < 1:
            raise UserError(f"max_tokens must be at least 1, not {max_tokens}; give another")
        profile = profile or Profile()
        own = {"base_url": profile.base_url, "timeout": profile.timeout, "concurrency": profile.concurrency}
        own = {name: value for name, value in own.items() if value is not None}
        options = {"timeout": 120.0, **options, **own, "key_env": profile.key_env}
        self._endpoint = Endpoint(f"judge {model}", **options)
        self.name, self.concurrency, self.max_tokens = model, self._endpoint.concurrency, max_tokens
        # OpenAI's reasoning models refuse max_tokens, and many other servers do not know the newer name.
        if self._endpoint.url == OFFICIAL and profile.limit_name is None:
            profile = replace(profile, limit_name="max_completion_tokens")
        self._settings = {"model": model, **profile.decoder({"temperature": temperature, "max_tokens": max_tokens})}
        self.parameters: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens, **profile.deciding()}
        self.parameters["server"] = profile.server_at(self._endpoint.url)

    async def ask(self, prompt: str) -> Reply:
        """One reply, with the tokens of every attempt that it took; None where a reply came and does not say them."""
        body = {**self._settings, "messages": messages(utf8_safe(prompt))}
        outcome = await self._endpoint.post("chat/completions", body, self._read)
        # Azure's content filter answers with 400.
        reply = outcome.value or Reply(error=outcome.error, refused=outcome.code == "content_filter")
        totals: list[int | None] = []
        for counts in zip(*outcome.usage, strict=True):
            known = [count for count in counts if count is not None]
            # A server may tell the tokens of a failed attempt and not those of the reply.
            unknown = not known or (reply.text is not None and counts[-1] is None)
            totals.append(None if unknown else sum(known))
        return replace(reply, prompt_tokens=totals[0], completion_tokens=totals[1])

    @property
    def proven(self) -> bool:
        """Whether the endpoint has ever replied."""
        return self._endpoint.proven

    @proven.setter
    def proven(self, value: bool) -> None:
        self._endpoint.proven = value

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def describe(self) -> dict[str, Any]:
        """Who judges, and where."""
        return {"model": self.name, "base_url": self._endpoint.url, **self.parameters}

    def _read(self, content: Any) -> Reply:
        chat = self._endpoint.chat_reply(content)
        kept = (chat.text or chat.refusal or chat.text, chat.finish_reason, chat.id)
        text, finish_reason, reply_id = (None if value is None else utf8_safe(value) for value in kept)
        reply = Reply(text=text, refused=chat.refusal is not None, finish_reason=finish_reason, id=reply_id)
        return replace(reply, model=chat.model, fingerprint=chat.fingerprint)


def endpoint_judge(settings: JudgeSettings) -> EndpointJudge:
    """The judge behind the endpoint that the settings name. (`models.judges.make_judge` knows local models too.)"""
    if settings.judge_backend != "openai":
        remedy = "hand the judge in, or take sozo.models.judges.make_judge_reward"
        raise UserError(f"judge_backend {settings.judge_backend}: rewards cannot load a model; {remedy}")
    server: dict[str, Any] = {"base_url": settings.judge_base_url, "concurrency": settings.judge_concurrency}
    server["profile"] = read_profile(settings.judge_endpoint)
    return EndpointJudge(settings.judge_model, max_tokens=settings.judge_max_tokens, **server)
