"""What an attempt at a chat completion came to: a reply, or trouble that is worth another attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rewards.judges.protocol import Reply

Usage = tuple[int | None, int | None]  # prompt and completion tokens


@dataclass(frozen=True, slots=True)
class Trouble:
    """An attempt without a usable reply.

    Args:
        what: For people.
        wait: Seconds that the server asks to wait.
        rate_limit: The server is well and wants fewer requests.
        usage: Tokens that were paid for all the same.
    """

    what: str
    wait: float | None = None
    rate_limit: bool = False
    usage: Usage = (None, None)


def read_completion(content: Any, mask: Callable[[str], str]) -> Reply | Trouble:
    """The reply in the body (JSON, or None if it is none) of an answer with status 200.

    Args:
        content: The body.
        mask: Applied to every text that is kept.
    """
    usage = _usage(content)
    try:
        choice = content["choices"][0]
        message, finish_reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (TypeError, KeyError, IndexError, AttributeError):
        return Trouble("the reply is no chat completion", usage=usage)
    if not isinstance(text, str | None):
        return Trouble("the reply's content is no text", usage=usage)
    reply_id = content.get("id")
    said = text or (str(refusal) if refusal else text)
    return Reply(
        text=None if said is None else mask(said),
        refused=bool(refusal) or finish_reason == "content_filter",
        finish_reason=None if finish_reason is None else mask(str(finish_reason)),
        id=None if reply_id is None else mask(str(reply_id)),
        prompt_tokens=usage[0],
        completion_tokens=usage[1],
    )


def with_usage(reply: Reply, attempts: list[Usage]) -> Reply:
    """The reply with the tokens of all its attempts; None where a reply came and does not say.

    >>> with_usage(Reply("a", prompt_tokens=10), [(5, 1), (10, None)])
    Reply(text='a', refused=False, finish_reason=None, id=None, prompt_tokens=15, completion_tokens=None, error=None)
    """
    totals: list[int | None] = []
    for counts in zip(*attempts, strict=True):
        known = [count for count in counts if count is not None]
        unsaid = not known or (reply.text is not None and counts[-1] is None)
        totals.append(None if unsaid else sum(known))
    return replace(reply, prompt_tokens=totals[0], completion_tokens=totals[1])


def _usage(content: Any) -> Usage:
    usage = content.get("usage") if isinstance(content, dict) else None
    found = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    known = [value if type(value) is int and value >= 0 else None for value in found]
    return known[0], known[1]
