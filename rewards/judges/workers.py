"""The workers that ask a judge, and what they share: the ledger, the budget, the reason to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from data.jcq import Answer
from rewards.judges.judgement import Judgement
from rewards.judges.ledger import Ledger
from rewards.judges.price import Budget, Price
from rewards.judges.protocol import Judge, JudgeError, Reply, Status
from rewards.judges.verdict import read_scores

# So many prompts in a row without a reply, each after all its retries: the server is down, not the prompt at fault.
_GIVE_UP_AFTER = 20


class Workers:
    """As many workers as the judge takes prompts at once.

    Args:
        judge: Whom to ask.
        ledger: Where every judgement goes at once.
        prompt: The prompt's name.
        answers: The answer of each key.
        prompts: The filled prompt of each key.
        price: Of the judge's tokens, if known.
        max_cost: See `rewards.judges.judge_answers`.
        on_judgement: Called after each line is written.

    Attributes:
        requests: Prompts asked.
        stopped: Why not all were; None if they were.
    """

    def __init__(
        self,
        judge: Judge,
        ledger: Ledger,
        prompt: str,
        answers: dict[str, Answer],
        prompts: dict[str, str],
        price: Price | None,
        max_cost: float | None,
        on_judgement: Callable[[Judgement], None] | None,
    ) -> None:
        self._judge, self._ledger, self._prompt = judge, ledger, prompt
        self._answers, self._prompts, self._price, self._told = answers, prompts, price, on_judgement
        spent = sum(self._cost_for_sure(line) for line in ledger.judgements if line.key in answers)
        self._budget = Budget(max_cost, spent)
        self._settled = asyncio.Event()
        self._in_a_row = self.requests = 0
        self._error: Exception | None = None
        self.stopped: str | None = None

    @property
    def spent(self) -> float:
        """What these answers' judgements cost so far, earlier runs' too; an unknown cost counts at its most."""
        return self._budget.spent

    async def through(self, due: list[tuple[str, bool]]) -> None:
        """Ask all that is due, then let go of the judge's connections.

        Raises:
            Exception: What ended the run, once the requests under way had ended.
        """
        queue = iter(due)
        try:
            await asyncio.gather(*(self._work(queue) for _ in range(min(self._judge.concurrency, len(due)))))
        finally:
            await self._judge.close()
        if self._error:
            raise self._error

    async def _work(self, queue: Iterator[tuple[str, bool]]) -> None:
        while not (self._error or self.stopped):
            key, second = next(queue, (None, False))
            if key is None:
                return
            try:
                status = await self._ask(key)
                if status is Status.UNPARSEABLE and not second and not self._error:
                    await self._ask(key)
            except Exception as error:
                # The others end what they have under way: it is paid for.
                self._error = self._error or error

    async def _ask(self, key: str) -> Status | None:
        """One prompt; None if the budget does not allow it."""
        most = self._most(key)
        while not self._budget.reserve(most):
            if self._budget.idle:
                self.stopped = f"the next judgement could bring the cost above {self._budget.limit:g}"
                self._settled.set()
                return None
            self._settled.clear()
            await self._settled.wait()
            if self.stopped or self._error:  # even if there is room now: what freed it has ended the run
                return None
        cost = 0.0
        try:
            self.requests += 1
            reply = await self._judge.ask(self._prompts[key])
            judgement = self._judgement(key, reply)
            cost = self._cost_for_sure(judgement)
            self._ledger.append(judgement)
        finally:
            self._budget.settle(most, cost)
            self._settled.set()
        if self._told:
            self._told(judgement)
        self._in_a_row = self._in_a_row + 1 if judgement.status is Status.API_ERROR else 0
        if self._in_a_row >= _GIVE_UP_AFTER:
            raise JudgeError(
                f"judge {self._judge.name}: {self._in_a_row} prompts in a row got no reply "
                f"(the last: {judgement.error}); mend it and run again with --retry-failed"
            )
        return judgement.status

    def _judgement(self, key: str, reply: Reply) -> Judgement:
        answer = self._answers[key]
        status = _status(reply)
        scores = read_scores(self._prompt, reply.text or "") if status is Status.OK else None
        return Judgement(
            key=key,
            question_id=answer.question_id,
            answer_id=answer.id,
            judge=self._judge.name,
            prompt=self._prompt,
            status=status if scores or status is not Status.OK else Status.UNPARSEABLE,
            scores=scores,
            reply=reply.text,
            reply_id=reply.id,
            finish_reason=reply.finish_reason,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cost=self._price.cost(reply.prompt_tokens, reply.completion_tokens) if self._price else None,
            error=reply.error,
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )

    def _most(self, key: str) -> float:
        return self._price.at_most(self._prompts[key], self._judge.max_tokens or 0) if self._price else 0.0

    def _cost_for_sure(self, line: Judgement) -> float:
        """What a line cost; where that is not known, the most that it can have cost."""
        if self._price is None or line.cost is not None:
            return line.cost or 0.0
        known = self._price.cost(line.prompt_tokens, line.completion_tokens)
        if known is not None:
            return known
        return 0.0 if line.status is Status.API_ERROR else self._most(line.key)


def _status(reply: Reply) -> Status:
    """How a reply ended, before it is read. A cut-off reply is never read: what is missing might contradict."""
    if reply.refused:
        return Status.REFUSED
    if reply.error is not None:
        return Status.API_ERROR
    return Status.TRUNCATED if reply.finish_reason == "length" else Status.OK
