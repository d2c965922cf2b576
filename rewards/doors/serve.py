"""`sozo serve TASK`: a door over HTTP, for who cannot share an environment; all clients share one history."""

import json
import logging
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sozo.data.errors import UserError
from sozo.data.secrets import without_credentials
from sozo.rewards.doors.core import Door
from sozo.rewards.doors.openrlhf import reply


def application(door: Door, most_bytes: int) -> Starlette:
    """The service: POST /score, POST /reset, GET /health; a request of more than `most_bytes` is refused.

    /score takes JSON: `completions`, and as far as they matter `prompts` and columns of the same length, as a reward
    does. Or it takes what OpenRLHF sends: `query` (each with its prompt), `prompts`, `labels`. With `validate` the
    history is neither asked nor filled. The answer has `rewards`, `scores` and `reasons`, in order.

    A mistake of the client's is status 400 with one line; any other error is 500, and only the log says which.
    """

    async def score(request: Request) -> JSONResponse:
        body = await _read(request, most_bytes)
        try:
            # A thread of its own: a long batch keeps neither /health nor the next client's upload waiting.
            return JSONResponse(await run_in_threadpool(answer, door, body))
        except UserError:
            raise
        except Exception:
            logging.getLogger("uvicorn.error").exception("scoring failed")
            return JSONResponse({"error": "scoring failed; the server's log says why"}, 500)

    async def reset(request: Request) -> JSONResponse:
        await _read(request, most_bytes)
        await run_in_threadpool(door.forget)
        return JSONResponse({"seen": 0})

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"task": door.task.name, "seen": len(door.reward.seen)})

    routes = [
        Route("/score", score, methods=["POST"]),
        Route("/reset", reset, methods=["POST"]),
        Route("/health", health),
    ]
    return Starlette(routes=routes, exception_handlers={UserError: _refused, HTTPException: _refused})


def answer(door: Door, body: dict[str, Any]) -> dict[str, Any]:
    """What /score answers."""
    validate = body.pop("validate", False)
    if not isinstance(validate, bool):
        raise UserError("validate must be true or false")
    if "query" in body:
        return reply(door, body["query"], body.get("prompts"), body.get("labels"), validate=validate)
    texts, prompts = body.pop("completions", None), body.pop("prompts", None)
    if not isinstance(texts, list):
        raise UserError("there is no list completions; send completions: [text, ...], with prompts where they matter")
    wrong = [name for name, values in body.items() if not isinstance(values, list) or len(values) != len(texts)]
    if wrong:
        raise UserError(f"{wrong[0]} must be a list of {len(texts)} values, one for each completion")
    asked = [{name: values[k] for name, values in body.items()} for k in range(len(texts))]
    paid = door.pay(texts, asked, prompts, validate=validate)
    return {
        "rewards": [completion.reward for completion in paid],
        "scores": [completion.score for completion in paid],
        "reasons": [completion.reason for completion in paid],
    }


def serve(door: Door, host: str, port: int, most_bytes: int) -> None:
    """Serve until the process is ended; what scores is loaded first, so that its errors show now."""
    import uvicorn

    door.reward.describe()
    uvicorn.run(application(door, most_bytes), host=host, port=port)


async def _read(request: Request, most_bytes: int) -> dict[str, Any]:
    # A page in a browser may post text to loopback unasked, but no JSON.
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise HTTPException(415, "send JSON, with the header content-type: application/json")
    raw = bytearray()
    async for part in request.stream():
        raw += part
        if len(raw) > most_bytes:
            raise HTTPException(413, f"the request has more than {most_bytes} bytes; send fewer completions at once")
    try:
        body = json.loads(raw or b"{}")
    except (ValueError, RecursionError) as error:
        raise UserError("the request is not JSON") from error
    if not isinstance(body, dict):
        raise UserError('the request must be an object such as {"completions": ["1. ..."]}')
    return body


async def _refused(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    return JSONResponse({"error": without_credentials(" ".join(str(error).split()))}, 400)
