"""The first request to a server that answers chats: whether it is there, and in which form it takes requests."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sozo.scoring.endpoint.client import Endpoint, RequestOutcome, Value

CHAT, GREETING = "chat/completions", "こんにちは"  # nobody could refuse the latter
_RETRIES = 2  # somebody waits to learn whether the server is there


def first_accepted(
    server: Endpoint, bodies: Sequence[dict[str, Any]], read: Callable[[Any], Value]
) -> int:
    """The number of the first of `bodies` that gets a reply, where those before are refused as such (400, 422).

    UserError if none does.
    """
    outcomes: list[RequestOutcome[Value]] = []
    usual = server.retry
    server.retry = replace(usual, retries=min(usual.retries, _RETRIES))
    try:
        for number, body in enumerate(bodies):
            server.post_all(CHAT, [body], read, lambda _, came: outcomes.append(came))
            if outcomes[-1].value is not None:
                return number
            if outcomes[-1].status not in (400, 422):
                break
    finally:
        server.retry = usual
    raise server.failure(outcomes[-1].error)
