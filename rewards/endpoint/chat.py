"""What stands in the body of a chat completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewards.endpoint.client import UnusableReplyError


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The first choice of a chat completion, unmasked.

    Args:
        text: What the model wrote; None if nothing.
        refusal: What it said instead.
        finish_reason: `stop`, `length`, `content_filter` or the server's own word.
        id: The server's name for the reply.
    """

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
    reply_id = content.get("id")
    return ChatReply(
        text,
        str(refusal) if refusal else None,
        None if finish_reason is None else str(finish_reason),
        None if reply_id is None else str(reply_id),
    )
