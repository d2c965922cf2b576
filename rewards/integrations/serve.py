"""`sozo serve TASK`: an integration over HTTP, for who cannot share an environment; all clients share one history."""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    closing,
    contextmanager,
    suppress,
)
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sozo.data.errors import UserError
from sozo.data.foreign import parse_json
from sozo.data.secrets import without_credentials
from sozo.rewards.integrations.core import Integration, checked
from sozo.rewards.integrations.journal import Journal, JournalError
from sozo.rewards.integrations.openrlhf import reply_of
from sozo.rewards.integrations.room import (
    SMALL,
    GaveWayError,
    Pace,
    Room,
    SlowClientError,
)
from sozo.rewards.reward import ScoredCompletion

MOST_BYTES = 64 << 20  # of a request
MOST_COMPLETIONS = 131_072
# Of JSON, in one body: small ones take far more memory than bytes
MOST_VALUES = 16 * MOST_COMPLETIONS
# At once: small bodies that are read; small ones that are scored, or wait for it; large ones from their first million
# bytes until they are scored.
MOST_READ, MOST_SMALL, MOST_LARGE = 256, 64, 8
MOST_COLUMNS = 1_000
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PART = 1 << 16  # bytes of a reply that are handed over at once
_WAIT = 1.0  # seconds in which there may be room, before another request is refused
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+?)\.?)(?::\d{1,5})?")
_KEY = re.compile(r"[!-~]{1,255}")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# Up to the next mark before a value: strings whole, so that marks in texts do not count. Never backtracks.
_VALUE = re.compile(
    rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^"\[{,]++)*+(?:[\[{,]|\Z)', re.DOTALL
)
_WHOLE = (
    "send group, a list with a key for each completion, and group_size, a number; a group comes in one request, as a "
    "part of one cannot be paid (nor can OpenRLHF's --reward.remote_url, which sends one answer at a time)"
)
_LOG = logging.getLogger("uvicorn.error")


class _Body(BaseModel):
    """What is JSON's; what an entry must be, the integration says. Other keys are columns."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, list[Any]]

    completions: list[Any] = Field(max_length=MOST_COMPLETIONS)
    prompts: Any = None
    validation: bool = Field(False, alias="validate")
    group_size: int | None = Field(None, ge=1)


def application(
    integration: Integration,
    most_bytes: int,
    *,
    hosts: Iterable[str] = (),
    journal: Journal | None = None,
) -> Starlette:
    """The service: POST /score, POST /reset, GET /health; a request of more than `most_bytes` is refused.

    /score takes JSON: `completions`, and as far as they matter `prompts` and columns of the same length, as a reward
    does. Or it takes what OpenRLHF sends: `query` (each with its prompt), `prompts`, `labels`. With `validate` the
    history is neither asked nor filled. A reward that looks at a group needs the column `group` and `group_size`. The
    answer has `rewards`, `scores` and `reasons`, in order. A header
    `Idempotency-Key` makes a request safe to repeat, as far as `journal` goes (without one: as this process lives).

    A mistake of the client's is status 400 with one line; any other error is 500, and only the log says which. Hosts
    other than loopback's names and `hosts` are refused: a page elsewhere may have a name of its own for this machine.
    """
    journal = journal or Journal(None, integration.about())
    integration.restore(journal.seen())

    score = _Score(integration, journal, most_bytes)

    async def reset(request: Request) -> JSONResponse:
        await _read(request, SMALL, Pace())
        await run_in_threadpool(journal.reset)
        await run_in_threadpool(integration.restore)
        return JSONResponse({"seen": 0})

    async def health(request: Request) -> JSONResponse:
        fault = None
        try:
            journal.check_place()
        except JournalError as error:
            fault = str(error)
        about = {"task": integration.task.name, "seen": len(integration.reward.seen)}
        about |= {"requests": dict(score.counts), "journal": fault}
        return JSONResponse(about, 503 if fault else 200)

    routes = [
        Route("/score", score, methods=["POST"]),
        Route("/reset", reset, methods=["POST"]),
        Route("/health", health),
    ]
    known = {host.strip("[]").lower() for host in (*LOOPBACK, *hosts)}
    return Starlette(
        routes=routes,
        middleware=[Middleware(_Clients, hosts=known)],
        exception_handlers={
            UserError: _refused,
            HTTPException: _refused,
            JournalError: _refused,
        },
    )


class _Score:
    """POST /score: an ASGI application of its own, since what stays of a reply depends on its delivery."""

    def __init__(
        self, integration: Integration, journal: Journal, most_bytes: int
    ) -> None:
        self._integration = integration
        self._journal = journal
        self._most_bytes = most_bytes
        # Of what is under way, and of what was refused or given up.
        self.counts = dict.fromkeys(("read", "scored", "sent", "refused", "slow"), 0)
        self._read, self._large = Room(MOST_READ), Room(MOST_LARGE)
        self._small = asyncio.Semaphore(MOST_SMALL)
        # One body is parsed and scored at a time: both take memory. A small one waits for one large one, or two.
        self._work, self._large_turn = asyncio.Lock(), asyncio.Lock()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._serve(scope, receive, send)
        except GaveWayError:
            self.counts["refused"] += 1
            raise

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        keys = request.headers.getlist("idempotency-key")
        if keys and not (len(keys) == 1 and _KEY.fullmatch(keys[0])):
            raise UserError(
                "Idempotency-Key must be one text of 1 to 255 visible ASCII characters"
            )
        address = (scope["client"] or [""])[0]
        async with AsyncExitStack() as room:
            with self._counted("read"):
                async with AsyncExitStack() as reading:
                    pace = Pace()
                    await self._enter(reading, self._read.held(address, pace))
                    raw = await _read(
                        request,
                        self._most_bytes,
                        pace,
                        lambda: self._enter(room, self._large.held(address, pace)),
                    )
            is_large = len(raw) > SMALL
            if not is_large:
                await self._enter(room, self._small)
            digest = await run_in_threadpool(lambda: hashlib.sha256(raw).hexdigest())
            name = f"key {keys[0]}" if keys else f"body {digest}"
            # Done when the client has left.
            client = asyncio.ensure_future(request.receive())
            try:
                # Who sends the same again while it is in work, or on its way out, waits for what becomes of it.
                async with AsyncExitStack() as mine:
                    turn_of_name = self._turns.setdefault(name, asyncio.Lock())
                    if is_large:  # whoever waits long holds room
                        await self._enter(mine, turn_of_name)
                    else:
                        await mine.enter_async_context(turn_of_name)
                    with self._counted("scored"):
                        async with AsyncExitStack() as turn:
                            if is_large:
                                await turn.enter_async_context(self._large_turn)
                            await turn.enter_async_context(self._work)
                            reply = await run_in_threadpool(
                                self._paid, name, digest, raw, client
                            )
                    # Who does not read what came keeps no room from others.
                    await room.aclose()
                    try:
                        with self._counted("sent"):
                            await _deliver(reply, client, send)
                    # Who is in the midst of a reply gets no other
                    except SlowClientError:
                        raise ClientDisconnect from None
                    if not keys:
                        # Then it is repeated to whoever sends the same again
                        with suppress(JournalError):
                            await run_in_threadpool(self._journal.drop, name)
            finally:
                client.cancel()

    @contextmanager
    def _counted(self, what: str) -> Iterator[None]:
        self.counts[what] += 1
        try:
            yield
        except SlowClientError:
            self.counts["slow"] += 1
            raise
        finally:
            self.counts[what] -= 1

    async def _enter(
        self, held: AsyncExitStack, room: AbstractAsyncContextManager[None]
    ) -> None:
        """Wait for room, and keep it as long as `held` is open."""
        try:
            async with asyncio.timeout(_WAIT):
                await held.enter_async_context(room)
        except TimeoutError:
            raise GaveWayError from None

    def _paid(
        self, name: str, digest: str, raw: bytearray, client: asyncio.Future
    ) -> bytes:
        """The reply to a body: the one that is known of this name, or what is paid now."""

        def check_client() -> None:
            if client.done():
                raise ClientDisconnect

        check_client()
        if kept := self._journal.find(name):
            if kept[0] != digest:
                raise HTTPException(
                    409,
                    "this Idempotency-Key came with another body before; give each body its own",
                )
            return kept[1]
        body = _parsed(raw)
        raw.clear()
        try:
            paid, content = answer(self._integration, body, check_client)
            reply = json.dumps(
                content, ensure_ascii=False, allow_nan=False, separators=(",", ":")
            ).encode()
            self._journal.keep(
                name, digest, reply, [one.key for one in paid if one.key]
            )
        except (UserError, ClientDisconnect):  # nothing was remembered yet
            if self._integration.reward.sees_others:  # or in a group before this one
                self._integration.restore(self._journal.seen())
            raise
        except JournalError:
            self._integration.restore(self._journal.seen())
            raise
        except Exception:
            _LOG.exception("scoring failed")
            self._integration.restore(self._journal.seen())
            raise HTTPException(
                500, "scoring failed; the server's log says why"
            ) from None
        return reply


def answer(
    integration: Integration, body: dict[str, Any], before_batch: Callable[[], None]
) -> tuple[list[ScoredCompletion], dict[str, Any]]:
    """What is paid for a body, and what /score answers."""
    if by_openrlhf := "query" in body:
        asked, body["completions"] = body.pop("labels", None), body.pop("query")
    sent = checked(_Body.model_validate, body, "")
    texts, columns = sent.completions, sent.model_extra or {}
    if not by_openrlhf:
        if wrong := [
            name for name, values in columns.items() if len(values) != len(texts)
        ]:
            raise UserError(
                f"{wrong[0]} must be a list of {len(texts)} values, one for each completion"
            )
        asked = [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ] or None
    paid = integration.pay(
        texts,
        asked,
        sent.prompts,
        groups=columns.get("group") if sent.group_size else None,
        group_size=sent.group_size,
        remedy=_WHOLE,
        whole=by_openrlhf,
        validate=sent.validation,
        before_batch=before_batch,
    )
    if by_openrlhf:
        return paid, reply_of(paid)
    names = {"rewards": "reward", "scores": "score", "reasons": "reason"}
    return paid, {
        name: [getattr(completion, of) for completion in paid]
        for name, of in names.items()
    }


def serve(
    integration: Integration,
    host: str,
    port: int,
    hosts: Iterable[str] = (),
    folder: Path | None = None,
) -> None:
    """Serve until the process is ended; what scores is loaded first, so that its errors show now."""
    import uvicorn

    if not 0 <= port < 2**16:
        raise UserError(f"--port {port}: a port is a number from 0 to 65535")
    with closing(Journal(folder, integration.about())) as journal:
        integration.reward.describe()
        app = application(
            integration, MOST_BYTES, hosts=(host, *hosts), journal=journal
        )
        # Who is one client is told by the connection, not by a header that anybody can write.
        uvicorn.run(app, host=host, port=port, proxy_headers=False)


class _Clients:
    """Who is served, and what one costs that leaves: a line of the log."""

    def __init__(self, app: ASGIApp, hosts: set[str]) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            host = _HOST.fullmatch(Headers(scope=scope).get("host", ""))
            if not host or (host[1] or host[2]).lower() not in self._hosts:
                line = "the server does not know itself by this name of the host; start it with --allow-host NAME"
                app = JSONResponse({"error": line}, 400)
        try:
            await app(scope, receive, send)
        except ClientDisconnect:
            _LOG.info("%s left before the reply", (scope["client"] or ["a client"])[0])


async def _no_more() -> None:
    """Of a body that is large."""


async def _read(
    request: Request,
    most_bytes: int,
    pace: Pace,
    make_room: Callable[[], Awaitable[None]] = _no_more,
) -> bytearray:
    """The body; `make_room` is waited for when it is found to be a large one."""
    # A page in a browser may post text to loopback unasked, but no JSON.
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        raise HTTPException(
            415, "send JSON, with the header content-type: application/json"
        )
    too_long = HTTPException(
        413,
        f"the request has more than {most_bytes} bytes; send fewer completions at once",
    )
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > most_bytes:
        raise too_long
    raw = bytearray()
    async with pace:
        async for part in request.stream():
            if len(raw) <= SMALL < len(raw) + len(part):
                await make_room()
            raw += part
            if len(raw) > most_bytes:
                raise too_long
            pace.moved(len(part))
    return raw


def _parsed(raw: bytearray) -> dict[str, Any]:
    """The object that a body is. It takes a thread, and up to a second for the largest one."""
    # As a rule few enough, those in texts included
    marks = sum(map(raw.count, (b",", b"[", b"{")))
    if marks > MOST_VALUES and next(
        islice(_VALUE.finditer(raw), MOST_VALUES, None), None
    ):
        raise HTTPException(
            413,
            f"the request has more than {MOST_VALUES} values; send fewer completions at once",
        )
    try:
        body = from_json(raw or b"{}", allow_inf_nan=False)
    except ValueError as error:
        raise UserError(f"the request is not JSON ({error})") from None
    if not isinstance(body, dict):
        raise UserError(
            'the request must be an object such as {"completions": ["1. ..."]}'
        )
    if len(body) > MOST_COLUMNS:
        raise HTTPException(413, f"the request has more than {MOST_COLUMNS:,} columns")
    # Outside of strings a colon stands behind a key, and nowhere else.
    if _STRING.sub(b"", raw).count(b":") > _keys_in(body):
        try:
            parse_json(bytes(raw))
        except ValueError as error:
            raise UserError(f"the request is ambiguous ({error})") from None
    return body


def _keys_in(value: Any) -> int:
    count, level = 0, [value]
    while level:
        one = level.pop()
        if isinstance(one, dict):
            count += len(one)
            one = one.values()
        level += [inner for inner in one if isinstance(inner, dict | list)]
    return count


async def _deliver(reply: bytes, client: asyncio.Future, send: Send) -> None:
    """Send a reply; a client that has left before its last byte goes out is a ClientDisconnect."""
    headers = Response(reply, media_type="application/json").raw_headers
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async with Pace() as pace:
        for start in range(0, len(reply) - 1, _PART):
            part = reply[start : min(start + _PART, len(reply) - 1)]
            await send({"type": "http.response.body", "body": part, "more_body": True})
            pace.moved(len(part))
        # Nothing waits until the rest is out.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
    for _ in range(5):  # rounds in which the event loop hears of a client that has left
        await asyncio.sleep(0)
    if client.done():
        raise ClientDisconnect
    # Who has this byte may leave at once, so that leaving says nothing any more.
    await send({"type": "http.response.body", "body": reply[-1:]})


async def _refused(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, HTTPException):
        detail = error.detail
        if error.status_code in (404, 405):
            detail = f"{detail}: there are POST /score, POST /reset and GET /health"
        return JSONResponse({"error": detail}, error.status_code, error.headers)
    if isinstance(error, JournalError):
        _LOG.error("%s", error)
        return JSONResponse(
            {"error": f"{error}; nothing was remembered: send it again later"}, 503
        )
    return JSONResponse(
        {"error": without_credentials(" ".join(str(error).split()))}, 400
    )
