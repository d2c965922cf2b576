"""The workers that ask a judge, and what they share: the ledger, the budget, the reason to stop."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from datetime import UTC, datetime

from sozo.data.errors import UserError
from sozo.scoring.endpoint.pace import for_each
from sozo.scoring.final_text import Ending, ending
from sozo.scoring.judges.ledger import Judgement, Ledger
from sozo.scoring.judges.options import Price
from sozo.scoring.judges.protocol import Asked, Judge, Reply, Rubric, Status

# So many prompts in a row without a reply, each after all its retries: the server is down, not the prompt at fault.
_GIVE_UP_AFTER = 20


class Budget:
    """Keeps what is spent, with the most that the requests under way can cost, within a limit (None: no limit).

    >>> budget = Budget(1.0)
    >>> budget.reserve(0.6), budget.reserve(0.6), budget.settle(0.6, 0.1), budget.reserve(0.6)
    (True, False, None, True)
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self.limit, self.spent, self._reserved, self.under_way = limit, spent, 0.0, 0

    def reserve(self, most: float) -> bool:
        """Set `most` aside for a request, unless that could break the limit."""
        if self.limit is not None and self.spent + self._reserved + most > self.limit:
            return False
        self._reserved += most
        self.under_way += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """A request for which `most` was set aside cost `cost`."""
        self.under_way -= 1
        self._reserved = self._reserved - most if self.under_way else 0.0  # rounding must not pile up
        self.spent += cost


@dataclass(eq=False)
class Workers:
    """As many workers as the judge takes prompts at once; `sozo.scoring.judges.run.judge_answers` says what they do."""

    judge: Judge
    rubric: Rubric
    ledger: Ledger
    answers: Mapping[str, Asked]  # by their judgements' keys
    bill: InitVar[Iterable[Judgement]]  # earlier judgements that count towards `max_cost`
    price: Price | None
    max_cost: InitVar[float | None]
    on_judgement: Callable[[Judgement], None] | None
    requests: int = 0  # prompts asked so far
    stopped: str | None = None  # why not all are

    def __post_init__(self, bill: Iterable[Judgement], max_cost: float | None) -> None:
        self._prompts = {key: self.rubric.prompt(asked.question, asked.answer) for key, asked in self.answers.items()}
        self.budget = Budget(max_cost, sum(self._cost_for_sure(line) for line in bill))
        self._settled, self._failed, self._in_a_row = asyncio.Event(), False, 0
        if any(line.reply and line.judge == self.judge.name for line in self.ledger.judgements):
            self.judge.proven = True

    async def ask_all(self, due: Sequence[tuple[str, bool]]) -> None:
        """Ask all that is due: keys, and whether it is the second ask after an unparseable reply."""
        try:
            await for_each(due, self._judge_one, min(self.judge.concurrency, len(due)))
        finally:
            await self.judge.close()

    async def _judge_one(self, item: tuple[str, bool]) -> None:
        key, second = item
        if self.stopped:
            return
        try:
            status = await self._ask(key)
            if status is Status.UNPARSEABLE and not second and not self._failed:
                await self._ask(key)
        except Exception:
            self._failed = True
            raise

    async def _ask(self, key: str) -> Status | None:
        most = self._most(key)
        while not self.budget.reserve(most):
            if not self.budget.under_way:  # waiting frees nothing
                self.stopped = f"the next judgement could bring the cost above {self.budget.limit:g}"
                self._settled.set()
                return None
            self._settled.clear()
            await self._settled.wait()
            if self.stopped or self._failed:  # even if there is room now: what freed it has ended the run
                return None
        cost = 0.0
        try:
            self.requests += 1
            judgement = self._judgement(key, await self.judge.ask(self._prompts[key]))
            cost = self._cost_for_sure(judgement)
            self.ledger.append(judgement)
        finally:
            self.budget.settle(most, cost)
            self._settled.set()
        if self.on_judgement:
            self.on_judgement(judgement)
        self._in_a_row = self._in_a_row + 1 if judgement.status is Status.API_ERROR else 0
        if self._in_a_row >= _GIVE_UP_AFTER:
            raise UserError(
                f"judge {self.judge.name}: {self._in_a_row} prompts in a row got no reply "
                f"(the last: {judgement.error}); fix it and run again with --retry-failed"
            )
        return judgement.status

    def read_again(self, lines: Mapping[str, Judgement]) -> None:
        """Write a line for each reply that is read otherwise today than it was; it costs nothing."""
        for key in self.answers:
            if (line := lines.get(key)) is None or line.reply is None:
                continue
            refused = line.status is Status.REFUSED and ending(line.finish_reason) is not Ending.FILTERED
            reply = Reply(line.reply, refused, line.finish_reason, line.reply_id, error=line.error)
            reply = replace(reply, model=line.reply_model, fingerprint=line.fingerprint)
            judgement = replace(self._judgement(key, reply), cost=0.0)
            if (judgement.status, judgement.scores) != (line.status, line.scores):
                self.ledger.append(judgement)

    def _judgement(self, key: str, reply: Reply) -> Judgement:
        answer, scores = self.answers[key], None
        end = ending(reply.finish_reason)
        if reply.refused or end is Ending.FILTERED:
            status = Status.REFUSED
        elif reply.error is not None:
            status = Status.API_ERROR
        elif end is Ending.CUT:  # and not read: what is missing might contradict
            status = Status.TRUNCATED
        else:
            scores = self.rubric.read(reply.text or "") if end is Ending.WELL else None
            status = Status.OK if scores else Status.UNPARSEABLE
        what = (key, answer.question_id, answer.id, self.judge.name, self.rubric.name, status, scores)
        facts = {
            name: getattr(reply, name) for name in ("finish_reason", "prompt_tokens", "completion_tokens", "error")
        }
        cost = self.price.cost(reply.prompt_tokens, reply.completion_tokens) if self.price else None
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        facts |= {"reply_id": reply.id, "reply_model": reply.model, "fingerprint": reply.fingerprint}
        return Judgement(*what, reply=reply.text, **facts, cost=cost, time=time)

    def _most(self, key: str) -> float:
        """The most that asking about this answer can cost; about one of an earlier run, what the longest one can."""
        if self.price is None:
            return 0.0
        prompts = [self._prompts[key]] if key in self._prompts else self._prompts.values()
        return max((self.price.at_most(prompt, self.judge.max_tokens or 0) for prompt in prompts), default=0.0)

    def _cost_for_sure(self, line: Judgement) -> float:
        """What a line cost; where that is not known, the most that it can have cost."""
        if self.price is None or line.cost is not None:
            return line.cost or 0.0
        known = self.price.cost(line.prompt_tokens, line.completion_tokens)
        if known is not None:
            return known
        return 0.0 if line.status is Status.API_ERROR else self._most(line.key)
