"""Judging: which answers a judge is asked about, and which again; what that may cost; what holds in the end."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.progress import answers_bar, note
from sozo.scoring.endpoint.bill import Budget, OverBudgetError, Price, check_limit
from sozo.scoring.endpoint.client import Endpoint, Reply
from sozo.scoring.endpoint.pace import (
    GIVE_UP_AFTER,
    CircuitBreaker,
    for_each,
    run_to_end,
)
from sozo.scoring.final_text import Ending, ending
from sozo.scoring.judges.ledger import (
    Judgement,
    Ledger,
    judgement_key,
    latest,
    read_judgements,
)
from sozo.scoring.judges.protocol import (
    Judge,
    JudgeSettings,
    Rubric,
    Scores,
    Status,
    ToJudge,
)

NOT_ASKED = "not_asked"
_SUMS = ("prompt_tokens", "completion_tokens", "unknown_cost", "cost_at_most", "cost")


@dataclass
class Judging:
    """What became of answers that were to be judged, and what all their judgements cost, earlier runs' too."""

    # Status (or NOT_ASKED) -> number of answers, those of zero too; they add up to all answers.
    statuses: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((*map(str, Status), NOT_ASKED), 0)
    )
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unknown_cost: int = 0  # replies whose cost is not known
    cost_at_most: float = 0.0  # all that counts towards `max_cost`, an unknown cost at the most that it can be
    cost: float = 0.0  # as it was written down; without what is not known
    # For each answer, in order, the one that holds; None: not asked
    judgements: tuple[Judgement | None, ...] = ()
    requests: int = 0  # prompts asked in this run, second asks too
    stopped: str | None = None  # why not everything was asked; None if it was

    def add(self, other: "Judging") -> None:
        """Count the answers, the requests and the cost of another one, too, which may have stopped."""
        self.stopped = self.stopped or other.stopped
        for status, count in other.statuses.items():
            self.statuses[status] += count
        for name in (*_SUMS, "requests"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_json(self) -> dict[str, Any]:
        """What became of the answers, and the cost, for `metrics.json`."""
        # The order in which replies arrived shows in the last digits.
        return {
            "statuses": self.statuses,
            **{name: round(getattr(self, name), 9) for name in _SUMS},
        }


class JudgeSession:
    """A judge as one command asks it, about the answers of several models, with progress bars.

    A `budget` holds what was paid before, and is for all that the session is asked.
    """

    def __init__(
        self, judge: Judge, settings: JudgeSettings, budget: Budget | None = None
    ) -> None:
        self.judge = judge
        self.settings = settings
        self.budget = budget

    def judge_answers(
        self, rubric: Rubric, answers: Sequence[ToJudge], ledger: Path
    ) -> Judging:
        """What the function `judge_answers` does, for as much money as is left."""
        judge = self.judge
        keys = set(answer_keys(answers, judge.name, rubric.name, judge.parameters))
        lines = read_judgements(ledger, ()) if ledger.is_file() else []
        known = {
            key
            for key, line in latest(lines).items()
            if not self.settings.retry_unjudged or line.status is Status.OK
        }
        done = keys & known
        bar = f"judging by {judge.name}", len(keys), len(done)
        with answers_bar(*bar) as advance:

            def show(judgement: Judgement) -> None:
                note(failed=judgement.status is Status.API_ERROR)
                # A second ask, after a reply that could not be read, is of the same answer.
                advance(int(judgement.key not in done), judgement.scores is not None)
                done.add(judgement.key)

            how: dict[str, Any] = {"on_judgement": show, "budget": self.budget}
            return judge_answers(
                self.judge, rubric, answers, ledger, self.settings, **how
            )


def judge_answers(
    judge: Judge,
    rubric: Rubric,
    answers: Sequence[ToJudge],
    ledger: Path | Ledger,
    settings: JudgeSettings | None = None,
    *,
    budget: Budget | None = None,
    on_judgement: Callable[[Judgement], None] | None = None,
) -> Judging:
    """Ask the judge about every answer that the ledger has no judgement for.

    Equal answers to one question are asked once. An unparseable reply is asked for once more, then stays unscored.

    Args:
        ledger: The file (JSONL), which may hold other judgements too; or one that is open, for a run of many calls:
            then what became of them is told with all that this judge was paid for by this rubric.
        settings: The prices, and what follows.
            max_cost: Nothing is sent that could bring the cost of this judge's judgements in the file, earlier runs'
            included, above this, by its bytes and the judge's `max_tokens`; of a reply the tokens that the server
            counted hold. An attempt that never answered is not counted: only the server knows whether it was paid for.
            retry_unjudged: Ask again for everything that has no scores.
        budget: In place of `max_cost`, with what was paid before.
        on_judgement: Called with each judgement as soon as it is in the ledger.
    """
    settings = settings or JudgeSettings()
    check_limit(settings.max_cost, "judge", settings.price(), judge.max_tokens)
    keys = answer_keys(answers, judge.name, rubric.name, judge.parameters)
    by_key: dict[str, ToJudge] = {}
    for key, answer in zip(keys, answers, strict=True):
        by_key.setdefault(key, answer)
    with (
        Ledger(ledger, (rubric,))
        if isinstance(ledger, Path)
        else nullcontext(ledger) as opened
    ):
        lines = opened.judgements
        asking = _Asking(judge, rubric, opened, by_key, settings, budget, on_judgement)
        run_to_end(asking.ask_all(_due(lines, by_key, settings.retry_unjudged)))
    judging = judging_of(lines, keys, asking.price)
    judging.requests = asking.requests
    judging.stopped = asking.stopped
    many = isinstance(ledger, Ledger)  # calls, which are told together
    judging.cost_at_most = sum(
        asking.cost_at_most(line)
        for line in asking.of_judge()
        if line.key in by_key or (many and line.prompt == rubric.name)
    )
    return judging


def answer_keys(
    answers: Sequence[ToJudge], judge: str, prompt: str, parameters: dict[str, Any]
) -> tuple[str, ...]:
    """`judgement_key` of each answer; UserError if an id comes twice."""
    for answer_id, number in Counter(answer.id for answer in answers).items():
        if number > 1:
            raise UserError(f"the answer id {answer_id!r} comes twice; make ids unique")
    return tuple(
        judgement_key(answer.question, answer.answer, judge, prompt, parameters)
        for answer in answers
    )


def judging_of(
    lines: Iterable[Judgement],
    keys: Sequence[str],
    price: Price | None = None,
) -> Judging:
    """What holds of the answers with these keys, by the lines of a ledger; `price` is for lines that have no cost."""
    wanted = set(keys)
    lines = [line for line in lines if line.key in wanted]
    by_key = latest(lines)
    judging = Judging(judgements=tuple(by_key.get(key) for key in keys))
    for judgement in judging.judgements:
        judging.statuses[str(judgement.status) if judgement else NOT_ASKED] += 1
    for line in lines:
        judging.prompt_tokens += line.prompt_tokens or 0
        judging.completion_tokens += line.completion_tokens or 0
        cost = _cost_of(line, price)
        judging.cost += cost or 0.0
        judging.unknown_cost += cost is None and line.status is not Status.API_ERROR
    return judging


def _cost_of(line: Judgement, price: Price | None) -> float | None:
    """What a line cost as it says, or where it does not, by the price; None if that is not known."""
    if price is None or line.cost is not None:
        return line.cost
    return price.cost(line.prompt_tokens, line.completion_tokens)


def _due(
    lines: Iterable[Judgement], answers: Mapping[str, ToJudge], retry_unjudged: bool
) -> list[tuple[str, bool]]:
    """Keys of the answers to ask about, and whether that is the second ask after an unparseable reply.

    The first answers of all groups come first, then their second ones, and so on.
    """
    history: defaultdict[str, list[Status]] = defaultdict(list)
    for line in lines:
        history[line.key].append(line.status)
    places: Counter[str] = Counter()  # by group
    due = []
    for key, answer in answers.items():
        statuses = history[key]
        # Unparseable replies come in twos, unless the process ended between the first and the second.
        unparseable = list(
            takewhile(lambda status: status is Status.UNPARSEABLE, reversed(statuses))
        )
        is_second = len(unparseable) % 2 == 1
        if (
            not statuses
            or is_second
            or (retry_unjudged and statuses[-1] is not Status.OK)
        ):
            due.append((places[answer.group], key, is_second))
            places[answer.group] += 1
    due.sort(key=lambda ask: ask[0])
    return [(key, is_second) for _, key, is_second in due]


class _Asking:
    """As many workers as the judge takes prompts at once, and what they share: ledger, budget, the reason to stop.

    `answers` are by their judgements' keys.
    """

    def __init__(
        self,
        judge: Judge,
        rubric: Rubric,
        ledger: Ledger,
        answers: Mapping[str, ToJudge],
        settings: JudgeSettings,
        budget: Budget | None,
        on_judgement: Callable[[Judgement], None] | None,
    ) -> None:
        self.judge = judge
        self.rubric = rubric
        self.ledger = ledger
        self.answers = answers
        self.price = settings.price()
        self.on_judgement = on_judgement
        self.requests = 0  # prompts asked so far
        self.stopped: str | None = None  # why not all are
        self._prompts = {
            key: rubric.prompt(answer.question, answer.answer)
            for key, answer in answers.items()
        }
        if isinstance(judge, Endpoint) and judge.bill:
            budget = Budget(None)  # each of its requests is held against the bill's
        elif budget is None:
            spent = sum(map(self.cost_at_most, self.of_judge()))
            budget = Budget(settings.max_cost, spent, settings.budget_file)
        self.budget = budget
        self._failed = False
        self._breaker = CircuitBreaker()
        if any(line.reply for line in self.of_judge()):
            judge.proven = True

    def of_judge(self) -> Iterator[Judgement]:
        """The judge's own lines of the ledger, earlier runs' too."""
        return (
            line for line in self.ledger.judgements if line.judge == self.judge.name
        )

    async def ask_all(self, due: Sequence[tuple[str, bool]]) -> None:
        """Ask all that is `_due`."""
        try:
            await for_each(due, self._judge_one, min(self.judge.concurrency, len(due)))
        finally:
            await self.judge.close()

    async def _judge_one(self, ask: tuple[str, bool]) -> None:
        key, is_second = ask
        if self.stopped:
            return
        try:
            status = await self._ask(key)
            if status is Status.UNPARSEABLE and not is_second and not self._failed:
                await self._ask(key)
        except Exception:
            self._failed = True
            raise

    async def _ask(self, key: str) -> Status | None:
        most = self._most(key)
        if not await self.budget.reserve(most):
            self.stopped = self.budget.used_up
            return None
        cost = 0.0
        try:
            # Even if there is room now: what freed it has ended the run.
            if self.stopped or self._failed:
                return None
            self.requests += 1
            judgement = self._judgement(key, await self.judge.ask(self._prompts[key]))
            cost = self.cost_at_most(judgement)
            self.ledger.append(judgement)
        except OverBudgetError as error:
            self.stopped = str(error)
            return None
        finally:
            self.budget.settle(most, cost)
        if self.on_judgement:
            self.on_judgement(judgement)
        if self._breaker.trips(key, judgement.status is not Status.API_ERROR):
            raise UserError(
                f"judge {self.judge.name}: {GIVE_UP_AFTER} prompts in a row got no reply "
                f"(the last: {judgement.error}); fix it and run again with --retry-unjudged"
            )
        return judgement.status

    def _read(self, reply: Reply) -> tuple[Status, Scores | None]:
        """How a reply ended, and its scores."""
        end = ending(reply.finish_reason)
        if reply.refused or end in (Ending.REFUSED, Ending.FILTERED):
            return Status.REFUSED, None
        if reply.error is not None:
            return Status.API_ERROR, None
        if end is Ending.CUT:  # and not read: what is missing might contradict
            return Status.TRUNCATED, None
        return (
            self.rubric.judged(reply.text or "")
            if end is Ending.WELL
            else (Status.UNPARSEABLE, None)
        )

    def _judgement(self, key: str, reply: Reply) -> Judgement:
        answer = self.answers[key]
        return Judgement(
            key,
            answer.question_id,
            answer.id,
            self.judge.name,
            self.rubric.name,
            *self._read(reply),
            reply.text,
            reply.id,
            reply.finish_reason,
            reply.prompt_tokens,
            reply.completion_tokens,
            self.price.cost(reply.prompt_tokens, reply.completion_tokens)
            if self.price
            else None,
            reply.error,
            _now(),
            reply.model,
            reply.fingerprint,
        )

    def _most(self, key: str) -> float:
        """The most that asking about this answer can cost; about one of an earlier run, what the longest one can."""
        if self.price is None:
            return 0.0
        prompts = (
            [self._prompts[key]] if key in self._prompts else self._prompts.values()
        )
        return max(
            (
                self.price.at_most(prompt, self.judge.max_tokens or 0)
                for prompt in prompts
            ),
            default=0.0,
        )

    def cost_at_most(self, line: Judgement) -> float:
        """What a line cost; where that is not known, the most that it can have cost."""
        cost = _cost_of(line, self.price)
        unpaid = line.status is Status.API_ERROR
        return self._most(line.key) if cost is None and not unpaid else cost or 0.0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
