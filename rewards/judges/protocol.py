"""What a judge is: a prompt in, a reply out that says how it ended. The one seam of judging."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Status(StrEnum):
    """How a judgement ended. Only `ok` has scores."""

    OK = "ok"
    UNPARSEABLE = "unparseable"  # the judge replied, but not with one value for each criterion; asked twice
    REFUSED = "refused"  # the judge's model or its content filter declined
    TRUNCATED = "truncated"  # the reply reached the length limit
    API_ERROR = "api_error"  # no reply, after all retries


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one prompt.

    Args:
        text: The raw reply; None if there was none.
        refused: The model or a content filter declined.
        finish_reason: `stop`, `length`, or an endpoint's own word; None if not known.
        id: The endpoint's name for the reply, to find it on a bill.
        prompt_tokens: As the endpoint says, all paid attempts together; None if it does not say.
        completion_tokens: Likewise.
        error: Why there is no reply.
    """

    text: str | None = None
    refused: bool = False
    finish_reason: str | None = None
    id: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None


class Judge(Protocol):
    """Anything that replies to a judge's prompt: an endpoint (`EndpointJudge`) or a model here (`LocalJudge`).

    Attributes:
        name: The judge model's name.
        parameters: All else that decides a reply (JSON values): it is part of every judgement's key.
        concurrency: How many prompts it takes at once.
        max_tokens: The longest reply, in tokens; None if there is no limit.
    """

    name: str
    parameters: dict[str, Any]
    concurrency: int
    max_tokens: int | None

    def describe(self) -> dict[str, Any]:
        """Who judges, for the run's record: no key, and no credentials in an address."""
        ...

    async def ask(self, prompt: str) -> Reply:
        """One reply. Trouble with this one prompt is a reply with `error`; UserError says that none can be answered."""
        ...

    async def close(self) -> None:
        """Let go of connections; the next `ask` makes new ones."""
        ...
