"""Judging a set of answers: what is missing is asked, everything that arrives is written down at once."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.progress import responses_bar
from sozo.scoring.endpoint.pace import run_to_end
from sozo.scoring.judges.ledger import Judgement, Ledger, judgement_key, latest
from sozo.scoring.judges.options import JudgeSettings, Price
from sozo.scoring.judges.protocol import Asked, Judge, Rubric, Status
from sozo.scoring.judges.workers import Workers

NOT_ASKED = "not_asked"


@dataclass(frozen=True, slots=True)
class Judging:
    """What holds after judging, and what all judgements of these answers in the ledger cost, earlier runs' too."""

    judgements: tuple[Judgement | None, ...]  # for each answer, in order, the one that holds; None if it was not asked
    prompt_tokens: int
    completion_tokens: int
    cost: float  # as it was written down; without what is not known
    unknown_cost: int  # how many replies that is
    requests: int = 0  # prompts asked in this run, second asks too
    cost_at_most: float = 0.0  # all that counts towards `max_cost`, an unknown cost at the most that it can be
    stopped: str | None = None  # why not everything was asked; None if it was

    @property
    def statuses(self) -> dict[str, int]:
        """How many answers have which status, those of zero too; they add up to all answers."""
        count = Counter(str(judgement.status) if judgement else NOT_ASKED for judgement in self.judgements)
        return {name: count[name] for name in (*map(str, Status), NOT_ASKED)}


def judge_with_bar(
    judge: Judge,
    rubric: Rubric,
    answers: Sequence[Asked],
    ledger: Path,
    settings: JudgeSettings,
    max_cost: float | None,
) -> Judging:
    """`judge_answers` as a command does it: by its settings but for the budget that is left, with a progress bar."""
    with responses_bar(f"judging by {judge.name}", len(answers)) as advance:
        return judge_answers(
            judge,
            rubric,
            answers,
            ledger,
            price=settings.price(),
            max_cost=max_cost,
            retry_failed=settings.retry_failed,
            reparse=settings.reparse,
            on_judgement=lambda judgement: advance(1, int(judgement.scores is not None)),
        )


def judge_answers(
    judge: Judge,
    rubric: Rubric,
    answers: Sequence[Asked],
    ledger: Path | Ledger,
    *,
    price: Price | None = None,
    max_cost: float | None = None,
    retry_failed: bool = False,
    reparse: bool = False,
    on_judgement: Callable[[Judgement], None] | None = None,
) -> Judging:
    """Ask the judge about every answer that the ledger has no judgement for.

    Equal answers to one question are asked once. An unparseable reply is asked for once more, then stays unscored.

    Args:
        ledger: The file (JSONL), which may hold other judgements too; or one that is open, for a run of many calls:
            then all that this judge was paid for by this rubric counts towards `max_cost`, whichever the answers.
        max_cost: Nothing is sent that could bring the cost of these answers' judgements, earlier runs' included, above
            this, by its bytes and the judge's `max_tokens`; of a reply the tokens that the server counted hold. An
            attempt that never answered is not counted: only the server knows whether it was paid for.
        retry_failed: Ask again for everything that has no scores.
        reparse: Ask nobody; read the replies in the ledger once more, as they would be read today, and reckon their
            cost by `price`.
    """
    check_budget(judge, price, max_cost)
    keys = answer_keys(answers, judge.name, rubric.name, judge.parameters)
    first: dict[str, Asked] = {}
    for key, answer in zip(keys, answers, strict=True):
        first.setdefault(key, answer)
    with Ledger(ledger, (rubric,)) if isinstance(ledger, Path) else nullcontext(ledger) as opened:
        lines = opened.judgements
        by_this, alone = (judge.name, rubric.name), isinstance(ledger, Path)
        bill = [line for line in lines if (line.key in first if alone else (line.judge, line.prompt) == by_this)]
        workers = Workers(judge, rubric, opened, first, bill, price, max_cost, on_judgement)
        if reparse:
            workers.read_again(latest(lines))
        else:
            run_to_end(workers.ask_all(_in_turn(_due(lines, first, retry_failed), first)))
        judging = judging_of(lines, keys, price, again=reparse)
        return replace(judging, requests=workers.requests, cost_at_most=workers.budget.spent, stopped=workers.stopped)


def check_budget(judge: Judge, price: Price | None, max_cost: float | None) -> None:
    """Raise UserError if nobody could tell when `max_cost` is reached."""
    if max_cost is not None and (price is None or judge.max_tokens is None):
        needs = "the price of the judge's tokens and a limit on its replies (max_tokens)"
        raise UserError(f"max_cost needs {needs}; give both prices")


def answer_keys(answers: Sequence[Asked], judge: str, prompt: str, parameters: dict[str, Any]) -> tuple[str, ...]:
    """`judgement_key` of each answer; UserError if an id comes twice."""
    if repeated := [row_id for row_id, number in Counter(answer.id for answer in answers).items() if number > 1]:
        raise UserError(f"the answer id {repeated[0]!r} comes twice; make ids unique")
    return tuple(judgement_key(answer.question, answer.answer, judge, prompt, parameters) for answer in answers)


def judging_of(
    lines: Sequence[Judgement], keys: Sequence[str], price: Price | None = None, *, again: bool = False
) -> Judging:
    """What holds of the answers with these keys, by the lines of a ledger.

    `price` is for lines that have no cost; `again`, for all whose tokens are known.
    """
    now, wanted = latest(lines), set(keys)
    lines = [line for line in lines if line.key in wanted]
    costs = []
    for line in lines:
        now_worth = price.cost(line.prompt_tokens, line.completion_tokens) if price else None
        costs.append(now_worth if line.cost is None or (again and now_worth is not None) else line.cost)
    return Judging(
        judgements=tuple(now.get(key) for key in keys),
        prompt_tokens=sum(line.prompt_tokens or 0 for line in lines),
        completion_tokens=sum(line.completion_tokens or 0 for line in lines),
        cost=sum(cost or 0.0 for cost in costs),
        unknown_cost=sum(
            cost is None and line.status is not Status.API_ERROR for line, cost in zip(lines, costs, strict=True)
        ),
    )


def _in_turn(due: Sequence[tuple[str, bool]], answers: Mapping[str, Asked]) -> list[tuple[str, bool]]:
    """One of each group after the other, and within a group in order."""
    seen: Counter[str] = Counter()
    places = []
    for key, _ in due:
        group = answers[key].group
        places.append(seen[group])
        seen[group] += 1
    return [item for _, item in sorted(zip(places, due, strict=True), key=lambda pair: pair[0])]


def _due(lines: Iterable[Judgement], wanted: Iterable[str], retry_failed: bool) -> list[tuple[str, bool]]:
    history: defaultdict[str, list[Status]] = defaultdict(list)
    for line in lines:
        history[line.key].append(line.status)
    due = []
    for key in wanted:
        past = history[key]
        # They come in twos, unless the process ended between the first and the second.
        unparseable = takewhile(lambda status: status is Status.UNPARSEABLE, reversed(past))
        second = len(list(unparseable)) % 2 == 1
        if not past or second or (retry_failed and past[-1] is not Status.OK):
            due.append((key, second))
    return due
