"""Any OpenAI-compatible endpoint as a judge: many requests at once, and patience with servers."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any, NoReturn

from data.prompts import messages
from data.schema import utf8_safe
from generate.openai_endpoint import masked, public_url
from rewards.judges.completion import Trouble, Usage, read_completion, with_usage
from rewards.judges.protocol import JudgeError, Reply
from rewards.judges.retry import RetryPolicy, retry_after

_OFFICIAL = "https://api.openai.com/v1"


class EndpointJudge:
    """Chat completions of an OpenAI-compatible endpoint. The paper: gpt-4o-2024-08-06 at temperature 0 (section 4.1).

    429, 5xx, time-outs, dropped connections and replies that are no chat completion are retried as `retry` says; a 429
    that names a time holds back every request until then. What a status of 400 or 422 refuses is an error of that one
    prompt; 401, 403, 404 and an exhausted quota end the run. HTTP is spoken directly: OpenAI's client package takes
    twice the time per request and hides what a broken server sent.

    Args:
        model: The judge model's name on the server.
        base_url: Address, up to `/v1`; None takes OPENAI_BASE_URL, or OpenAI's own.
        concurrency: Requests under way at once.
        max_tokens: The longest reply. A verdict takes some 40 tokens; a reasoning model needs thousands.
        temperature: None leaves it out, for models that refuse it.
        timeout: Seconds for one attempt.
        retry: When to try again.

    The key comes from OPENAI_API_KEY; it is never written or shown, and masked wherever a server echoes it.

    Raises:
        ValueError: There is no key (a server without keys takes any: OPENAI_API_KEY=none), or a number is out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        concurrency: int = 16,
        max_tokens: int | None = 1024,
        temperature: float | None = 0.0,
        timeout: float = 120.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not self._key:
            raise ValueError("OPENAI_API_KEY is not set; set it (to any text for a server that needs no key)")
        if not (self._key.isascii() and self._key.isprintable()):
            raise ValueError("OPENAI_API_KEY has characters that no key has; copy it again")
        if concurrency < 1 or (max_tokens is not None and max_tokens < 1):
            raise ValueError(f"concurrency ({concurrency}) and max_tokens ({max_tokens}) must be at least 1")
        address = (base_url or os.environ.get("OPENAI_BASE_URL") or _OFFICIAL).rstrip("/")
        self.url = public_url(address)
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"the judge's address must begin with http:// or https://, but is {self.url}")
        self.name, self.concurrency, self.max_tokens = model, concurrency, max_tokens
        self.parameters: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        self._address = f"{address}/chat/completions"
        self._timeout, self._retry = timeout, retry or RetryPolicy()
        # OpenAI's reasoning models refuse max_tokens, and many other servers do not know the newer name.
        limit = "max_completion_tokens" if self.url == _OFFICIAL else "max_tokens"
        settings = {"model": model, "temperature": temperature, limit: max_tokens}
        self._settings = {name: value for name, value in settings.items() if value is not None}
        self._client: Any = None
        self._open_again = 0.0  # when a server that named a time may be asked again

    async def ask(self, prompt: str) -> Reply:
        """One reply, after as many attempts as it takes or the policy allows.

        Raises:
            JudgeError: See the class.
        """
        body = json.dumps({**self._settings, "messages": messages(utf8_safe(prompt))}).encode()
        failures = limits = 0
        waited = 0.0
        paid: list[Usage] = []
        while True:
            await self._until_open()
            outcome = await self._attempt(body)
            paid.append(
                (outcome.prompt_tokens, outcome.completion_tokens) if isinstance(outcome, Reply) else outcome.usage
            )
            if isinstance(outcome, Reply):
                return with_usage(outcome, paid)
            if outcome.rate_limit:
                limits += 1
                wait = self._retry.wait(limits, outcome.wait)
                if outcome.wait is not None:
                    self._hold(outcome.wait)
            else:
                failures += 1
                wait = self._retry.wait(failures, outcome.wait)
            if failures > self._retry.retries or (outcome.rate_limit and waited + wait > self._retry.patience):
                what = f"{outcome.what} ({failures + limits} attempts)"
                return with_usage(Reply(error=self._mask(what)), paid)
            waited += wait if outcome.rate_limit else 0.0
            await asyncio.sleep(wait)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    def describe(self) -> dict[str, Any]:
        """Who judges, and where."""
        return {"model": self.name, "base_url": self.url, **self.parameters}

    async def _attempt(self, body: bytes) -> Reply | Trouble:
        import httpx2

        if self._client is None:
            limits = httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
            headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
            # Reading the certificates takes as long as ten requests; without https there are none to check.
            secure = self._address.startswith("https://")
            self._client = httpx2.AsyncClient(limits=limits, headers=headers, timeout=None, verify=secure)
        try:
            # The client's own time-outs are per read: a server that drips bytes would never meet them.
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(self._address, content=body)
        except TimeoutError:
            return Trouble(f"no reply within {self._timeout:g} s")
        except httpx2.InvalidURL as error:
            raise JudgeError(f"the judge's address {self.url} cannot be used ({error}); give another") from error
        except httpx2.HTTPError as error:
            return Trouble(f"{type(error).__name__}: {error}")
        try:
            content = json.loads(response.content)
        except (ValueError, RecursionError):
            content = None
        if response.status_code == 200:
            return read_completion(content, self._mask)
        asked = retry_after(response.headers.get("retry-after-ms"), response.headers.get("retry-after"))
        return self._failure(response.status_code, content, response.text, asked)

    def _failure(self, status: int, content: Any, text: str, asked: float | None) -> Reply | Trouble:
        detail = content.get("error") if isinstance(content, dict) else None
        code = detail.get("code") if isinstance(detail, dict) else None
        said = (detail.get("message") if isinstance(detail, dict) else None) or text
        what = self._mask(" ".join(f"HTTP {status}: {said}".split())[:300])
        if status in (401, 403, 404) or code == "insufficient_quota":
            self._give_up(what)
        if status == 429 and asked is not None and asked > self._retry.patience:
            self._give_up(f"it asks to wait {asked:.0f} s ({what})")
        if status == 429 or status in (408, 409, 425) or status >= 500:
            return Trouble(what, asked, rate_limit=status == 429)
        # Azure's content filter answers with 400.
        return Reply(error=what, refused=code == "content_filter")

    def _give_up(self, what: str) -> NoReturn:
        raise JudgeError(f"judge {self.name} at {self.url}: {what}; mend it and run again")

    def _hold(self, seconds: float) -> None:
        self._open_again = max(self._open_again, time.monotonic() + seconds)

    async def _until_open(self) -> None:
        while (wait := self._open_again - time.monotonic()) > 0:
            await asyncio.sleep(wait)

    def _mask(self, text: str) -> str:
        return utf8_safe(masked(text, self._key))
