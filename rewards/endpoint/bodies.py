"""What the bodies of replies hold, whatever a server makes of the form."""

from typing import Any, NamedTuple

Usage = tuple[int | None, int | None]  # prompt and completion tokens, None where the server does not say


class UnusableReplyError(ValueError):
    """A reply with status 200 that is not what was asked for. It is worth another attempt."""


class ChatReply(NamedTuple):
    """The first choice of a chat completion, what the model wrote or said instead, and how it ended."""

    text: str | None
    refusal: str | None
    finish_reason: str | None
    id: str | None


def read_chat(content: Any) -> ChatReply:
    """The first choice in a body (JSON, or None if it is none) of `chat/completions`; else UnusableReplyError."""
    try:
        choice = content["choices"][0]
        message, finish_reason = choice["message"], choice.get("finish_reason")
        text, refusal, reply_id = message.get("content"), message.get("refusal"), content.get("id")
    except (TypeError, KeyError, IndexError, AttributeError):
        raise UnusableReplyError("the reply is no chat completion") from None
    if isinstance(text, list) and all(isinstance(part, dict) for part in text):
        # Parts of another type are reasoning, or no text at all.
        text = "".join(str(part.get("text", "")) for part in text if part.get("type") in ("text", "output_text"))
    if not isinstance(text, str | None):
        raise UnusableReplyError("the reply's content is no text")
    return ChatReply(text, refusal or None, finish_reason, reply_id)


def read_usage(content: Any) -> Usage:
    """The tokens that a body says it took."""
    usage = content.get("usage") if isinstance(content, dict) else None
    counts = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    known = [count if type(count) is int and count >= 0 else None for count in counts]
    return known[0], known[1]
