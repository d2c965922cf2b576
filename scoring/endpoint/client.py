"""Requests to any OpenAI-compatible server: many at once, with patience, and never a word of the key."""

import asyncio
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from tqdm import tqdm

from sozo.data.errors import UserError
from sozo.data.foreign import MOST_QUOTED, MOST_REPLY, printable, quoted
from sozo.data.schema import utf8_safe
from sozo.data.secrets import public_url, secret_pattern
from sozo.scoring.endpoint.bill import MOST_TOKENS, Bill, Ended
from sozo.scoring.endpoint.pace import (
    USED_UP,
    RetryPolicy,
    for_each,
    retry_after,
    run_to_end,
)
from sozo.scoring.endpoint.profile import Profile, check_address, request_url
from sozo.scoring.final_text import said_in

OFFICIAL = "https://api.openai.com/v1"
_REFUSED = (403, 404)
_NO_VERSION = "; an address mostly ends with /v1"
_LONG = 10.0  # seconds
_FEW = 2  # attempts again
FILTERED = "content_filter"  # a server's code of an error, and how an answer ends that was filtered
Value = TypeVar("Value")
# Prompt and completion tokens, None where the server does not say
Usage = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class RequestOutcome(Generic[Value]):
    """What came of one request, after as many attempts as it took."""

    value: Value | None = None  # what was read from the reply
    error: str | None = None  # why there is none, in one masked line
    status: int | None = None  # HTTP's, of an error
    # The server's own word for an error, such as content_filter
    code: str | None = None
    # Of every attempt: a failed one may have been paid for all the same
    usage: tuple[Usage, ...] = ((None, None),)
    again: bool = False  # whether another attempt may help,
    wait: float | None = None  # and in how many seconds, if the server says so
    ended: Ended = Ended.REPLY  # as a bill sees it

    @property
    def tokens(self) -> Usage:
        """Of prompt and reply, of the last attempt."""
        return self.usage[-1]


class UnusableReplyError(ValueError):
    """A reply with status 200 that is not what was asked for. It is worth another attempt."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one prompt: the first choice of a chat completion. None where nothing is known."""

    text: str | None = None  # as it came
    refused: bool = False  # the model or a content filter declined
    finish_reason: str | None = None  # stop, length, or an endpoint's own word
    id: str | None = None  # the endpoint's name for the reply, to find it on a bill
    prompt_tokens: int | None = None  # as the endpoint says, all paid attempts together
    completion_tokens: int | None = None  # likewise
    error: str | None = None  # why there is no reply
    # The endpoint's own name for what replied, which may be another than was asked for
    model: str | None = None
    fingerprint: str | None = None  # the endpoint's word for how it was set up


class Endpoint:
    """An OpenAI-compatible server, called `label` in messages.

    Its address `base_url` goes up to `/v1`; None takes OPENAI_BASE_URL, or OpenAI's own. The key comes from the
    environment (`key_env` of the profile) and goes to this server only; it is never written or shown, and masked
    wherever a server echoes it, as is the address's password. What the profile says of address, concurrency and
    time-out holds before the arguments.

    429, 5xx, time-outs (`timeout` seconds for an attempt), dropped connections and senseless replies are tried again as
    `retry` says; a 429 that names a time holds back every request until then. Other errors are of the one request. No
    request would get past 401, 402 or an exhausted quota; nor, until the server is `proven`, past 403 and 404. A closed
    port ends all at once, or where the server is `proven` after all attempts. No redirect is followed. HTTP is spoken
    directly: OpenAI's client package takes twice the time per request and hides what a broken server sent.
    """

    def __init__(
        self,
        label: str,
        base_url: str | None = None,
        *,
        concurrency: int = 16,
        timeout: float = 600.0,
        retry: RetryPolicy | None = None,
        profile: Profile | None = None,
    ) -> None:
        profile = profile or Profile()
        concurrency = profile.concurrency or concurrency
        timeout = profile.timeout or timeout
        self._key_env = profile.key_env
        own = profile.secret_headers()
        secrets = [*own.values()]
        if concurrency < 1:
            raise UserError(
                f"concurrency must be at least 1, not {concurrency}; give another"
            )
        self._address = (
            profile.base_url
            or base_url
            or os.environ.get("OPENAI_BASE_URL")
            or OFFICIAL
        )
        check_address(self._address, f"the address of {label}")
        self.label = label
        self.url = public_url(request_url(self._address, ""))
        self.concurrency = concurrency
        if "Authorization" in own:
            own["Authorization"] = f"Bearer {own['Authorization']}"
        self._headers = own | {
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",
        }
        self._secrets = secret_pattern(secrets[0], self._address, *secrets[1:])
        self._timeout = timeout
        self.retry = retry or RetryPolicy()
        self._client: Any = None
        self._open_again = 0.0  # when a server that named a time may be asked again
        self.bill: Bill | None = None  # in which each attempt is noted
        self.proven = False  # whether it has ever answered: then a refusal is about one request, not about all
        # Requests, and those of them that wait to learn whether it is proven
        self._under_way = self._doubtful = 0
        self._said = -math.inf  # when a long wait was last spoken of
        # The names by which the server called what replied, in order of arrival
        self.models: list[str] = []

    async def post(
        self, path: str, body: dict[str, Any], read: Callable[[Any], Value]
    ) -> RequestOutcome[Value]:
        """One request to `path` below the address, sent as often as it takes or the policy allows.

        `read` makes the value from the reply's JSON (None if it is none), or raises UnusableReplyError.
        """
        self._under_way += 1
        try:
            return await self._post(path, body, read)
        finally:
            self._under_way -= 1

    async def _post(
        self, path: str, body: dict[str, Any], read: Callable[[Any], Value]
    ) -> RequestOutcome[Value]:
        content = json.dumps(body).encode()

        async def attempt() -> RequestOutcome[Value]:
            return await self._attempt(path, content, read)

        failures = 0
        limits = 0
        waited = 0.0
        usage: tuple[Usage, ...] = ()
        while True:
            while (closed := self._open_again - time.monotonic()) > 0:
                await asyncio.sleep(closed)
            outcome = await (self.bill.note(body, attempt) if self.bill else attempt())
            usage += outcome.usage
            if outcome.status in _REFUSED:
                await self._doubt(outcome)
            if not outcome.again:
                return replace(outcome, usage=usage)
            if limited := outcome.status == 429:
                limits += 1
                self._open_again = max(
                    self._open_again, time.monotonic() + (outcome.wait or 0.0)
                )
            else:
                failures += 1
            long = not limited and (outcome.wait or 0.0) > self.retry.longest_wait
            # A server that wants an hour gets the longest wait, once; then the other requests go on without this one.
            wait = (
                self.retry.longest_wait
                if long
                else self.retry.wait(limits if limited else failures, outcome.wait)
            )
            most = 1 if long else self.retry.retries
            if outcome.ended is Ended.REPLY and not self.proven:
                most = min(most, _FEW)  # it replies, and has never made sense
            if failures > most or (limited and waited + wait > self.retry.patience):
                line = f"{outcome.error} ({failures + limits} attempts)"
                if outcome.status is None and outcome.ended is Ended.REFUSED:
                    raise self.failure(line)  # its port is closed for all
                return replace(outcome, error=line, usage=usage)
            waited += wait if limited else 0.0
            self._say_wait(wait, outcome)
            await asyncio.sleep(wait)

    async def _doubt(self, outcome: RequestOutcome[Any]) -> None:
        """Raise if a refusal is the server's: all that is under way was refused, and nothing was ever answered."""
        self._doubtful += 1
        try:
            while not self.proven and self._doubtful < self._under_way:
                await asyncio.sleep(0.02)
        finally:
            self._doubtful -= 1
        if not self.proven:
            raise self.failure(outcome.error)

    def _say_wait(self, wait: float, outcome: RequestOutcome[Any]) -> None:
        """A line about a wait that somebody would take for a hang; one for all requests that wait."""
        if wait >= _LONG and time.monotonic() > self._said + _LONG:
            self._said = time.monotonic()
            wish = f", which asks for {outcome.wait:,.0f} s" if outcome.wait else ""
            tqdm.write(
                f"{self.label} at {self.url}: waiting {wait:.0f} s after {outcome.error}{wish}",
                file=sys.stderr,
            )

    def post_all(
        self,
        path: str,
        bodies: Sequence[dict[str, Any]],
        read: Callable[[Any], Value],
        take: Callable[[int, RequestOutcome[Value]], None],
    ) -> None:
        """`post` all of `bodies`, as many at once as `concurrency` says, without any event loop of the caller's.

        `take` gets each body's number and outcome the moment it is known. If it raises, no further body is sent.
        """

        async def send(item: tuple[int, dict[str, Any]]) -> None:
            take(item[0], await self.post(path, item[1], read))

        async def send_all() -> None:
            try:
                await for_each(
                    enumerate(bodies), send, min(self.concurrency, len(bodies))
                )
            finally:
                await self.close()

        run_to_end(send_all())

    async def close(self) -> None:
        """Close the connections; the next request opens new ones, in whichever event loop it comes from."""
        if self._client is not None:
            client = self._client
            self._client = None
            await client.aclose()

    def failure(self, error: str | None) -> UserError:
        """The error of a request as one that ends the run."""
        remedy = "start or fix the server, or its settings, and run again"
        if re.search("context length|max_model_len|tokens is too large", error or ""):
            remedy = "give a smaller limit on new tokens, or the server a longer window"
        if (error or "").startswith("HTTP 401"):
            remedy = f"set {self._key_env} to a key of this server, and run again"
        return UserError(f"{self.label} at {self.url}: {error}; {remedy}")

    def chat_reply(self, content: Any) -> Reply:
        """The choice of index 0 in a body (JSON, or None if it is none) of `chat/completions`, masked.

        A choice without index has its place as one. The text is what the model wrote, or else what it said instead;
        only strings are text. Lone surrogates are written out.
        """
        try:
            indices = [
                k if (index := c.get("index")) is None else index
                for k, c in enumerate(content["choices"])
            ]
            if (
                not all(type(index) is int for index in indices)
                or indices.count(0) != 1
            ):
                raise UnusableReplyError("the reply has not one choice of index 0")
            choice = content["choices"][indices.index(0)]
            message = choice["message"]
            finish_reason = choice.get("finish_reason")
            text, refused = said_in(message)
            if text is None and message.get("content") is not None:
                raise TypeError  # parts of which none says anything
            reply_id = content.get("id")
        except (TypeError, KeyError, AttributeError, UserError):
            raise UnusableReplyError(
                "the reply is no chat completion whose content is text"
            ) from None

        kept = (text, finish_reason, reply_id)
        text, finish_reason, reply_id = (
            None if value is None else self._mask(utf8_safe(str(value)))
            for value in kept
        )
        model, fingerprint = self.replied(content)
        return Reply(
            text,
            refused,
            finish_reason,
            reply_id,
            model=model,
            fingerprint=fingerprint,
        )

    def replied(self, content: Any) -> tuple[str | None, str | None]:
        """What a body says of what replied: the model and how it is set up, masked; None where it does not."""
        names = [
            content.get(name) if isinstance(content, dict) else None
            for name in ("model", "system_fingerprint")
        ]
        model, fingerprint = (self._line(str(name)) if name else None for name in names)
        if model and model not in self.models:
            self.models.append(model)
            if len(self.models) > 1:
                tqdm.write(
                    f"{self.label} at {self.url}: replies come from {model} now",
                    file=sys.stderr,
                )
        return model, fingerprint

    def _mask(self, text: str) -> str:
        return self._secrets.sub("***", text)

    async def _attempt(
        self, path: str, body: bytes, read: Callable[[Any], Value]
    ) -> RequestOutcome[Value]:
        import httpx2

        if self._client is None:
            limits = httpx2.Limits(
                max_connections=self.concurrency,
                max_keepalive_connections=self.concurrency,
            )
            # Reading the certificates takes as long as ten requests; without https there are none to check.
            verify = self._address.startswith("https://")
            self._client = httpx2.AsyncClient(
                limits=limits, headers=self._headers, timeout=None, verify=verify
            )
        try:
            # The client's own time-outs are per read: a server that drips bytes would never meet them.
            async with asyncio.timeout(self._timeout):
                response, text = await self._fetch(
                    request_url(self._address, path), body
                )
        except TimeoutError:
            return RequestOutcome(
                error=f"no reply within {self._timeout:g} s",
                again=True,
                ended=Ended.LOST,
            )
        except httpx2.InvalidURL as error:
            raise UserError(
                f"the address {self.url} cannot be used ({error}); give another"
            ) from error
        except (
            httpx2.HTTPError,
            ExceptionGroup,
        ) as error:  # a group: of a redirect to a port that cannot be
            line = self._line(f"{type(error).__name__}: {error}")
            nobody = isinstance(error, httpx2.ConnectError)
            if nobody and not self.proven:
                raise self.failure(line) from error
            ended = Ended.REFUSED if nobody else Ended.LOST
            return RequestOutcome(error=line, again=True, ended=ended)
        except UnusableReplyError as error:
            return RequestOutcome(error=str(error), again=True, ended=Ended.LOST)
        content = None
        with suppress(ValueError, RecursionError):
            content = json.loads(text, parse_int=_whole)
        if not self.proven and text.lstrip().startswith(b"data:"):
            raise self.failure("replies with a stream where one reply is asked for")
        status = response.status_code
        usage = (read_usage(content),)
        there = response.headers.get("location")
        moved = f"it sends on to {there}" if there and 300 <= status < 400 else None
        if (fault := moved or _error_in(content)) or not 200 <= status < 300:
            wait = retry_after(
                response.headers.get("retry-after-ms"),
                response.headers.get("retry-after"),
            )
            return replace(
                self._refusal(path, status, content, fault, text, wait),
                usage=usage,
            )
        try:
            outcome = RequestOutcome(read(content), usage=usage)
            self.proven = True
            return outcome
        except UnusableReplyError as error:
            return RequestOutcome(error=self._line(str(error)), usage=usage, again=True)

    async def _fetch(self, url: str, body: bytes) -> tuple[Any, bytes]:
        """The reply to a request and its unpacked body, of which no more than fits is held.

        UnusableReplyError if it is longer, or packed otherwise than as was said to be understood.
        """
        request = self._client.build_request("POST", url, content=body)
        response = await self._client.send(request, stream=True)
        try:
            return response, await _unpacked(response)
        finally:
            await response.aclose()

    def _refusal(
        self,
        path: str,
        status: int,
        content: Any,
        error: Any,
        text: bytes,
        wait: float | None,
    ) -> RequestOutcome[Any]:
        detail = error if isinstance(error, dict) else {"message": error}
        message = detail.get("message") or text.decode(errors="replace")
        said = message if isinstance(message, str) else quoted(message)
        metadata = detail.get("metadata")  # of who passes on another server's error
        if isinstance(metadata, dict) and (raw := metadata.get("raw")):
            said = f"{said}: {raw}"
        line = self._line(f"HTTP {status}: {said}")
        if status in (404, 405):
            there = urlsplit(request_url(self.url, path)).path
            line += f" (asked {there}{'' if '/v' in there else _NO_VERSION})"
        code = detail.get("code")
        coded = content if isinstance(content, dict) and not error else detail
        words = {str(coded.get(field)) for field in ("code", "type")}
        # What was generated before an error in a reply may be paid for.
        ended = Ended.REPLY if status < 300 else Ended.REFUSED
        if status < 300:  # some servers pass on the status of another one like this
            status = code if type(code) is int and 400 <= code < 600 else 500
        if status in (401, 402) or 300 <= status < 400 or words & USED_UP:
            raise self.failure(line)
        if status == 429 and wait is not None and wait > self.retry.patience:
            raise self.failure(f"it asks to wait {wait:.0f} s ({line})")
        again = (status in (408, 409, 425, 429) or status >= 500) and code != FILTERED
        return RequestOutcome(
            None,
            line,
            status,
            None if code is None else str(code),
            again=again,
            wait=wait,
            ended=ended,
        )

    def _line(self, text: str) -> str:
        # Masked first: a cut through the middle of a key would leave half of it.
        masked = self._mask(text)[: 10 * MOST_QUOTED]
        return " ".join(printable(masked).split())[:MOST_QUOTED]


async def _unpacked(response: Any) -> bytes:
    packed = response.headers.get("content-encoding", "identity")
    body = bytearray()
    if packed.strip().lower() not in (
        "identity",
        "gzip",
        "deflate",
    ):  # of one packed twice a part fills the memory
        raise UnusableReplyError(
            f"the reply is packed as {quoted(packed)}, which nobody asked for"
        )
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MOST_REPLY:
            raise UnusableReplyError(f"the reply has more than {MOST_REPLY >> 20} MB")
    return bytes(body)


def _error_in(content: Any) -> Any:
    """What a body says of an error: by itself, or in or beside a choice, which then is no answer; None if nothing."""
    choices = content.get("choices") if isinstance(content, dict) else None
    choices = (
        [choice for choice in choices if isinstance(choice, dict)]
        if isinstance(choices, list)
        else []
    )
    said_in = [content, *choices, *(choice.get("message") for choice in choices)]
    return next(
        (
            fault
            for part in said_in
            if isinstance(part, dict) and (fault := part.get("error"))
        ),
        None,
    )


def _whole(digits: str) -> int | float:
    """A whole number of JSON. One of thousands of digits, which Python refuses to read, is none."""
    return int(digits) if len(digits) < 20 else float(digits)


def read_usage(content: Any) -> Usage:
    """The tokens that a body says it took; what no reply can take is not known."""
    usage = content.get("usage") if isinstance(content, dict) else None
    counts = [
        usage.get(name) if isinstance(usage, dict) else None
        for name in ("prompt_tokens", "completion_tokens")
    ]
    known = [
        count if type(count) is int and 0 <= count < MOST_TOKENS else None
        for count in counts
    ]
    return known[0], known[1]
