"""The seams of judging: a judge (a prompt in, a reply out) and a task's rubric (what is asked, how a reply is read)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from sozo.data.schema import utf8_safe

Scores = dict[str, int]


class Status(StrEnum):
    """How a judgement ended. Only `ok` has scores."""

    OK = "ok"
    UNPARSEABLE = "unparseable"  # it replied, but not in the end with one value for each criterion; asked twice
    REFUSED = "refused"  # the judge's model or its content filter declined
    TRUNCATED = "truncated"  # the reply reached the length limit
    API_ERROR = "api_error"  # no reply, after all retries


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one prompt; None where nothing is known."""

    text: str | None = None  # as it came
    refused: bool = False  # the model or a content filter declined
    finish_reason: str | None = None  # stop, length, or an endpoint's own word
    id: str | None = None  # the endpoint's name for the reply, to find it on a bill
    prompt_tokens: int | None = None  # as the endpoint says, all paid attempts together
    completion_tokens: int | None = None  # likewise
    error: str | None = None  # why there is no reply
    model: str | None = None  # what the endpoint says replied
    fingerprint: str | None = None  # the endpoint's word for how it was set up


class Judge(Protocol):
    """Anything that replies to a judge's prompt: an endpoint (`EndpointJudge`) or a model here (`LocalJudge`)."""

    name: str  # the judge model's
    parameters: dict[str, Any]  # all else that decides a reply (JSON values): part of every judgement's key
    concurrency: int  # prompts that it takes at once
    max_tokens: int | None  # the longest reply; None is no limit
    proven: bool  # whether it has ever replied, in an earlier run too: then a refusal is about one prompt

    def describe(self) -> dict[str, Any]:
        """Who judges, for the run's record: no key, and no credentials in an address."""

    async def ask(self, prompt: str) -> Reply:
        """One reply. Trouble with this one prompt is a reply with `error`; UserError says that none can be answered."""

    async def close(self) -> None:
        """Let go of connections; the next `ask` makes new ones."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """One way of judging."""

    name: str  # stands for the prompt's text in every judgement's key: a changed text needs a new name
    criteria: tuple[str, ...]  # what the scores are named, in order
    fill: Callable[[str, str], str]  # question and answer -> prompt, in one pass: no answer fills a placeholder
    read: Callable[[str], Scores | None]  # reply -> scores; None if it does not say them as it was asked to
    lowest: int = 1
    highest: int = 5

    def prompt(self, question: str, answer: str) -> str:
        """What the judge is asked, fit to be sent."""
        return self.fill(utf8_safe(question), utf8_safe(answer))

    def fits(self, scores: Scores) -> bool:
        """Whether there is a score in range for each criterion, in order."""
        return tuple(scores) == self.criteria and all(self.lowest <= score <= self.highest for score in scores.values())


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer to be judged. (SAT: a rewrite, whose question is the story.)"""

    id: str  # unique among the answers
    question_id: str
    question: str  # word for word
    answer: str
    group: str = ""  # a budget that ends early has been spent on all groups alike
