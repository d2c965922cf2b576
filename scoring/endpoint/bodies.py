"""What comes of a request, and what the bodies of replies hold, whatever a server makes of the form."""

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Value = TypeVar("Value")
Usage = tuple[int | None, int | None]  # prompt and completion tokens, None where the server does not say


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What came of one request, after as many attempts as it took."""

    value: Value | None = None  # what was read from the reply
    error: str | None = None  # why there is none, in one masked line
    status: int | None = None  # HTTP's, of an error
    code: str | None = None  # the server's own word for an error, such as content_filter
    usage: tuple[Usage, ...] = ((None, None),)  # of every attempt: a failed one may have been paid for all the same
    again: bool = False  # whether another attempt may help,
    wait: float | None = None  # and in how many seconds, if the server says so


class UnusableReplyError(ValueError):
    """A reply with status 200 that is not what was asked for. It is worth another attempt."""


class ChatReply(NamedTuple):
    """The first choice of a chat completion: what the model wrote or said instead, how it ended, and who says so."""

    text: str | None
    refusal: str | None
    finish_reason: str | None
    id: str | None
    model: str | None = None  # the server's own name for what replied, which may be another than was asked for
    fingerprint: str | None = None  # the server's own word for how it is set up


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
