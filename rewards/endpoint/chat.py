"""What stands in the body of a chat completion."""

from __future__ import annotations

from typing import Any, NamedTuple

from rewards.endpoint.client import UnusableReplyError


class ChatReply(NamedTuple):
    """The first choice of a chat completion, unmasked: what the model wrote or said instead, and how it ended."""

    text: str | None
    refusal: str | None
    finish_reason: str | None
    id: str | None


def read_chat(content: Any) -> ChatReply:
    """The reply in a body (JSON, or None if it is none).

    Raises:
        UnusableReplyError: It is no chat completion.
    """
    try:
        choice = content["choices"][0]
        message, finish_reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (TypeError, KeyError, IndexError, AttributeError):
        raise UnusableReplyError("the reply is no chat completion") from None
    if not isinstance(text, str | None):
        raise UnusableReplyError("the reply's content is no text")
    known = [None if value is None else str(value) for value in (finish_reason, content.get("id"))]
    return ChatReply(text, str(refusal) if refusal else None, known[0], known[1])
