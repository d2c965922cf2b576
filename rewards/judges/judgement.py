"""One judgement: what a line of the ledger holds, and which line is about what."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from data.schema import utf8_safe
from rewards.judges.protocol import Status
from rewards.judges.rubric import Rubric, Scores


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reply of a judge about one answer: a line of the ledger. `protocol.Reply` says what is not said here."""

    key: str  # `judgement_key` of what was asked
    question_id: str
    answer_id: str  # of several equal answers to one question, the line names the first
    judge: str  # the model
    prompt: str  # name of the rubric
    status: Status
    scores: Scores | None = None  # one for each criterion of the rubric if the status is ok
    reply: str | None = None
    reply_id: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # in the price's currency; None if the price or the tokens are not known
    error: str | None = None
    time: str | None = None  # of its arrival, UTC


def judgement_key(question: str, answer: str, judge: str, prompt: str, parameters: dict[str, Any]) -> str:
    """SHA-256 of all that a judgement depends on. Equal answers to one question share it, and one judgement.

    >>> judgement_key("q", "a", "j", "jcq-v1", {}) == judgement_key("q", "a", "j", "jcq-v1", {"temperature": 0})
    False
    """
    content = json.dumps([utf8_safe(question), utf8_safe(answer), judge, prompt, parameters], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def latest(judgements: Iterable[Judgement]) -> dict[str, Judgement]:
    """What holds now, by key: the last line of each."""
    return {judgement.key: judgement for judgement in judgements}


def checked(row: Any, rubrics: Sequence[Rubric]) -> Judgement:
    """A judgement from a line's JSON, or a TypeError or ValueError; its scores must be its rubric's, if that is one of
    `rubrics`.
    """
    if not isinstance(row, dict):
        raise TypeError("no JSON object")
    if unknown := set(row) - {field.name for field in fields(Judgement)}:
        raise ValueError(f"unknown column {min(unknown)}")
    for name in ("key", "question_id", "answer_id", "judge", "prompt"):
        if not isinstance(row.get(name), str):
            raise TypeError(f"{name} is missing or no string")
    status, scores = Status(str(row.get("status"))), row.get("scores")
    if (status is Status.OK) != (scores is not None):
        raise ValueError(f"status {status} with scores {scores}")
    if scores is not None:
        numbers = isinstance(scores, dict) and scores and all(type(value) is int for value in scores.values())
        # Those by a rubric that is not known here are somebody else's.
        if not numbers or not all(rubric.fits(scores) for rubric in rubrics if rubric.name == row["prompt"]):
            raise ValueError(f"scores {scores}")
    for name, kind in (("prompt_tokens", int), ("completion_tokens", int), ("cost", float | int), ("reply", str)):
        if row.get(name) is not None and not isinstance(row[name], kind):
            raise TypeError(f"{name} is {row[name]!r}")
    return Judgement(**{**row, "status": status})
