"""Judging a set of answers: what is missing is asked, everything that arrives is written down at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from data.jcq import Answer, Question
from rewards.judges.judgement import Judgement, judgement_key, latest
from rewards.judges.ledger import Ledger
from rewards.judges.price import Price
from rewards.judges.prompts import judge_prompt
from rewards.judges.protocol import Judge, Status
from rewards.judges.workers import Workers

NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Judging:
    """What holds after judging, and what it cost.

    Args:
        judgements: For each answer, in order, the judgement that holds; None if it was not asked.
        requests: Prompts asked in this run, second asks too.
        prompt_tokens: Of all judgements in the ledger that are about these answers, earlier runs' and failed ones too.
        completion_tokens: Likewise.
        cost: Likewise, as they were written down; those without a known cost are left out.
        unknown_cost: How many replies have no known cost.
        cost_at_most: The cost with each of these at the most that it can be, where a price is given.
        stopped: Why not everything was asked; None if it was.
    """

    judgements: tuple[Judgement | None, ...]
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    unknown_cost: int
    cost_at_most: float
    stopped: str | None = None

    @property
    def statuses(self) -> dict[str, int]:
        """How many answers have which status, those of zero too; they add up to all answers."""
        count = Counter(NOT_ASKED if judgement is None else str(judgement.status) for judgement in self.judgements)
        return {name: count[name] for name in (*map(str, Status), NOT_ASKED)}


def judge_answers(
    judge: Judge,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    path: Path,
    *,
    prompt: str = "jcq-v1",
    price: Price | None = None,
    max_cost: float | None = None,
    retry_failed: bool = False,
    on_judgement: Callable[[Judgement], None] | None = None,
) -> Judging:
    """Ask the judge about every answer that the ledger at `path` has no judgement for.

    A story and its rewrite (SAT) are judged like a question and its answer, by the prompt `sat-v1`. Equal answers to
    one question are asked once. An unparseable reply is asked for once more, then stays unscored.

    Args:
        judge: Who judges.
        questions: Every question that was answered.
        answers: What to judge.
        path: The ledger (JSONL); it may hold other judgements too.
        prompt: Of `rewards.judges.prompts.PROMPTS`.
        price: Of the judge's tokens; None leaves every cost unknown.
        max_cost: Nothing is sent that could bring the cost of these answers' judgements, earlier runs' included, above
            this; what is under way ends. The most that a request can cost is taken from its bytes and the judge's
            `max_tokens`; once the reply is there, the tokens that the server counted hold. An attempt that never
            answered is not counted: only the server knows whether it was paid for.
        retry_failed: Ask again for everything that has no scores.
        on_judgement: Called after each line is written.

    Raises:
        JudgeError: The judge cannot be used, or 20 prompts in a row got no reply. What was judged is kept.
        LedgerError: The ledger is in use or cannot be read or written.
        ValueError: An answer's question is not there, an id comes twice, or `max_cost` cannot be kept.
    """
    if max_cost is not None and (price is None or judge.max_tokens is None):
        raise ValueError("max_cost needs the price of the judge's tokens and a limit on its replies (max_tokens)")
    asked = {question.id: question.question for question in questions}
    keys = answer_keys(questions, answers, judge.name, prompt, judge.parameters)
    first: dict[str, Answer] = {}
    for key, answer in zip(keys, answers, strict=True):
        first.setdefault(key, answer)
    prompts = {key: judge_prompt(prompt, asked[a.question_id], a.answer) for key, a in first.items()}
    with Ledger(path) as ledger:
        run = Workers(judge, ledger, prompt, first, prompts, price, max_cost, on_judgement)
        asyncio.run(run.through(_due(ledger.judgements, first, retry_failed)))
        return judging_of(ledger.judgements, keys, run.requests, run.spent, run.stopped)


def answer_keys(
    questions: Sequence[Question], answers: Sequence[Answer], judge: str, prompt: str, parameters: dict[str, Any]
) -> tuple[str, ...]:
    """`judgement_key` of each answer.

    Raises:
        ValueError: An answer's question is not there, or an id comes twice.
    """
    asked = {question.id: question.question for question in questions}
    repeated = [row_id for row_id, number in Counter(answer.id for answer in answers).items() if number > 1]
    if repeated:
        raise ValueError(f"the answer id {repeated[0]!r} comes twice; make ids unique")
    for answer in answers:
        if answer.question_id not in asked:
            raise ValueError(
                f"answer {answer.id!r} is to question {answer.question_id!r}, which is not among the questions"
            )
    return tuple(judgement_key(asked[a.question_id], a.answer, judge, prompt, parameters) for a in answers)


def judging_of(
    lines: Sequence[Judgement],
    keys: Sequence[str],
    requests: int = 0,
    cost_at_most: float = 0.0,
    stopped: str | None = None,
) -> Judging:
    """What holds of the answers with these keys, by the lines of a ledger. See `Judging` for the arguments."""
    now, wanted = latest(lines), set(keys)
    lines = [line for line in lines if line.key in wanted]
    return Judging(
        judgements=tuple(now.get(key) for key in keys),
        requests=requests,
        prompt_tokens=sum(line.prompt_tokens or 0 for line in lines),
        completion_tokens=sum(line.completion_tokens or 0 for line in lines),
        cost=sum(line.cost or 0.0 for line in lines),
        unknown_cost=sum(line.cost is None and line.status is not Status.API_ERROR for line in lines),
        cost_at_most=cost_at_most,
        stopped=stopped,
    )


def _due(lines: Sequence[Judgement], wanted: dict[str, Answer], retry_failed: bool) -> list[tuple[str, bool]]:
    """What to ask: the key, and whether it is the second ask after an unparseable reply."""
    history: dict[str, list[Status]] = {}
    for line in lines:
        history.setdefault(line.key, []).append(line.status)
    due = []
    for key in wanted:
        past = history.get(key, [])
        # They come in twos, unless the process ended between the first and the second.
        second = len(list(takewhile(lambda status: status is Status.UNPARSEABLE, reversed(past)))) % 2 == 1
        if not past or second or (retry_failed and past[-1] is not Status.OK):
            due.append((key, second))
    return due
