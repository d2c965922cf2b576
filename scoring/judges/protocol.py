"""What judging is made of: a judge and its settings, a task's rubric, an answer to be judged, a reply."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol

from sozo.data.schema import utf8_safe
from sozo.data.settings import rare_setting, setting
from sozo.scoring.endpoint.bill import Price, Spending
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.endpoint.profile import HELP

Scores = dict[str, int]


class Status(StrEnum):
    """How a judgement ended. Only `ok` has scores."""

    OK = "ok"
    IN_PROSE = "in_prose"  # it says its scores among other text, which nobody here understands: they enter no mean
    UNPARSEABLE = "unparseable"  # it replied, but not in the end with one value for each criterion; asked twice
    REFUSED = "refused"  # the judge's model or its content filter declined
    TRUNCATED = "truncated"  # the reply reached the length limit
    API_ERROR = "api_error"  # no reply, after all retries


class Judge(Protocol):
    """Anything that replies to a judge's prompt: an endpoint (`EndpointJudge`) or a model here (`LocalJudge`)."""

    name: str  # the judge model's
    # All else that decides a reply (JSON values): part of every judgement's key
    parameters: dict[str, Any]
    concurrency: int  # prompts that it takes at once
    max_tokens: int | None  # the longest reply; None is no limit
    proven: bool  # whether it has ever replied, in an earlier run too: then a refusal is about one prompt

    def describe(self) -> dict[str, Any]:
        """Who judges, for the run's record: no key, and no credentials in an address."""

    async def ask(self, prompt: str) -> Reply:
        """One reply. Trouble with this one prompt is a reply with `error`; UserError says that none can be answered."""

    async def close(self) -> None:
        """Let go of connections; the next `ask` makes new ones."""


def _no_scores(reply: str) -> None:
    """Of a reply in prose, where nobody reads such."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """One way of judging."""

    name: str  # stands for the prompt's text in every judgement's key: a changed text needs a new name
    criteria: tuple[str, ...]  # what the scores are named, in order
    # Question and answer -> prompt, in one pass: no answer fills a placeholder
    fill: Callable[[str, str], str]
    # Reply -> scores; None if it does not say them as it was asked to
    read: Callable[[str], Scores | None]
    lowest: int = 1
    highest: int = 5
    # The same of a reply that says more than scores
    read_prose: Callable[[str], Scores | None] = _no_scores

    def prompt(self, question: str, answer: str) -> str:
        """What the judge is asked, fit to be sent."""
        return self.fill(utf8_safe(question), utf8_safe(answer))

    def judged(self, reply: str) -> tuple[Status, Scores | None]:
        """What a reply that came to its end is: its status and, of `ok`, its scores."""
        if scores := self.read(reply):
            return Status.OK, scores
        return (Status.IN_PROSE if self.read_prose(reply) else Status.UNPARSEABLE), None

    def fits(self, scores: Scores) -> bool:
        """Whether there is a score in range for each criterion, in order."""
        return tuple(scores) == self.criteria and all(
            self.lowest <= score <= self.highest for score in scores.values()
        )


@dataclass(frozen=True, slots=True)
class ToJudge:
    """An answer to be judged. (SAT: a rewrite, whose question is the story.)"""

    id: str  # unique among the answers
    question_id: str
    question: str  # word for word
    answer: str
    group: str = ""  # a budget that ends early has been spent on all groups alike


@dataclass(frozen=True, slots=True)
class JudgeSettings(Spending):
    """Who judges, and how."""

    panel = "Judge"
    judge_model: str = setting(
        "gpt-4o-2024-08-06",
        "The judge (the paper's), by its name on the endpoint, or a local model.",
    )
    judge_base_url: str | None = setting(
        None,
        "Address of the judge's endpoint, up to /v1; key from OPENAI_API_KEY.",
        affects_result=False,
    )
    judge_price_in: float | None = setting(
        None,
        "Price of a million prompt tokens; without both prices the cost is unknown.",
        affects_result=False,
        least=0,
    )
    judge_price_out: float | None = setting(
        None,
        "Price of a million tokens that the judge writes.",
        affects_result=False,
        least=0,
    )
    retry_unjudged: bool = setting(
        False, "Ask again for every judgement that has no scores.", affects_result=False
    )
    judge_backend: str = rare_setting(
        "openai",
        "openai (any compatible endpoint), or transformers or vllm for a local model.",
        affects_result=False,
    )
    judge_endpoint: str | None = rare_setting(
        None, f"How the judge's endpoint is spoken to: {HELP}.", affects_result=False
    )
    judge_concurrency: int = rare_setting(
        16, "Judgements under way at once.", affects_result=False, least=1
    )
    judge_max_tokens: int = rare_setting(
        1024, "Longest reply of the judge; a verdict takes some 40 tokens.", least=1
    )

    def price(self) -> Price | None:
        """The price of the judge's tokens; None if it is not known."""
        return Price.given(self.judge_price_in, self.judge_price_out, "judge_")

    def record(self, judge: Judge) -> dict[str, Any]:
        """What a run's record says of its judge and decides nothing: where it runs, and what it costs."""
        price = self.price()
        return {
            "backend": self.judge_backend,
            **judge.describe(),
            "price": price and asdict(price),
        }
