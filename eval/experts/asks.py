"""Asking a judge for every rating, condition and seed, what that will cost, and the prediction that votes make.

What was answered before is in the ledger and asked no more.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median_high, median_low
from typing import Any

from sozo.data.progress import responses_bar
from sozo.data.rubrics import Criterion
from sozo.eval.experts.histories import Condition, Pools
from sozo.scoring.judges.criterion import Verdict, criterion_rubric, examples_text, read_verdict
from sozo.scoring.judges.ledger import Ledger
from sozo.scoring.judges.protocol import Judge, JudgeSettings, Price, Rubric, Status, ToJudge
from sozo.scoring.judges.run import NOT_ASKED, Bill, judge_answers
from sozo.tasks.pbig.experts import Rated

NO_VOTES, UNPARSEABLE, LOW_CONFIDENCE, TIE = "no_votes", "unparseable", "low_confidence", "tie"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A score, or the reason why there is none."""

    score: int | None
    reason: str | None
    kept: int  # votes that counted
    unread: int = 0  # votes that could not be read


def predict(votes: Sequence[Verdict | None], min_confidence: int) -> Prediction:
    """The median of the votes that are sure enough; of three it is the majority wherever there is one.

    `votes` has None where a reply could not be read, and nothing where none came. An even number whose two
    middle votes differ is a tie.

    >>> sure = [Verdict(score, "", 90) for score in (2, 4, 4)]
    >>> predict(sure, 80), predict([sure[0], sure[1], Verdict(4, "", 70)], 80).reason
    (Prediction(score=4, reason=None, kept=3, unread=0), 'tie')
    """
    if not votes:
        return Prediction(None, NO_VOTES, 0)
    readable = [vote for vote in votes if vote is not None]
    unread = len(votes) - len(readable)
    kept = [vote.score for vote in readable if vote.confidence >= min_confidence]
    if not kept:
        return Prediction(None, LOW_CONFIDENCE if readable else UNPARSEABLE, 0, unread)
    low, high = median_low(kept), median_high(kept)
    return Prediction(low if low == high else None, None if low == high else TIE, len(kept), unread)


@dataclass
class Votes:
    """What came back: by condition and rating one vote for each seed that got a reply."""

    by_rating: dict[tuple[str, str], list[Verdict | None]] = field(default_factory=dict)  # None: it could not be read
    statuses: dict[str, Counter[str]] = field(default_factory=dict)  # by condition
    examples: Counter[str] = field(default_factory=Counter)  # shown in all prompts of a condition
    bill: Bill = field(default_factory=Bill)  # earlier calls' judgements too
    requests: int = 0  # of this call
    stopped: str | None = None  # why not everything was asked; None if it was

    def to_json(self) -> dict[str, Any]:
        """What a results file says of the asking: the same after any number of interruptions."""
        statuses = {name: dict(sorted(count.items())) for name, count in self.statuses.items()}
        bill = self.bill.to_json()
        names = ("cost", "prompt_tokens", "completion_tokens", "unknown_cost")
        return {"statuses": statuses, **{name: bill[name] for name in names}, "stopped": self.stopped}


def asks(
    ratings: Sequence[Rated], of: Sequence[Rated], conditions: Sequence[Condition], seed: int
) -> Iterator[ToJudge]:
    """What a judge is asked with one seed about `of`, with examples from `ratings`; the question holds the examples."""
    pools = Pools(ratings)
    for condition in conditions:
        for rating in of:
            examples = pools.examples(rating, condition, seed)
            question = examples_text((example.text, example.score) for example in examples)
            yield ToJudge(f"{rating.id} {condition.name}", rating.item, question, rating.text, condition.name)


def ask_for_all(
    ratings: Sequence[Rated],
    of: Sequence[Rated],
    conditions: Sequence[Condition],
    criteria: Sequence[Criterion],
    judges: Sequence[Judge],
    ledger: Path,
    settings: JudgeSettings,
) -> Votes:
    """Have the ratings `of` predicted under every condition, by a judge for each seed; examples are from `ratings`."""
    rubrics = {criterion.name: criterion_rubric(criterion) for criterion in criteria}
    result = Votes()
    total = len(of) * len(conditions) * len(judges)
    with Ledger(ledger, rubrics.values()) as lines, responses_bar("judging", total) as advance:
        spent = {rubric.name: _known_cost(lines, rubric, judges[0]) for rubric in rubrics.values()}
        for seed, judge in enumerate(judges):
            for criterion in criteria:
                part = [rating for rating in of if rating.criterion == criterion.name]
                rubric, questions = rubrics[criterion.name], list(asks(ratings, part, conditions, seed))
                # An open ledger brings what this rubric has cost to the bill: the other ones' is left out of the limit.
                others = sum(cost for name, cost in spent.items() if name != rubric.name)
                limited = settings
                if settings.max_cost is not None:
                    limited = replace(settings, max_cost=max(0.0, settings.max_cost - others))
                judged = judge_answers(
                    judge,
                    rubric,
                    questions,
                    lines,
                    limited,
                    on_judgement=lambda judgement: advance(1, int(judgement.scores is not None)),
                )
                spent[rubric.name] = judged.cost_at_most
                result.bill.add(judged)
                result.requests += judged.requests
                result.stopped = judged.stopped
                targets = [(condition.name, rating.id) for condition in conditions for rating in part]
                for target, question, judgement in zip(targets, questions, judged.judgements, strict=True):
                    condition_name = target[0]
                    result.examples[condition_name] += question.question.count("\nScore: ")
                    status = NOT_ASKED if judgement is None else str(judgement.status)
                    result.statuses.setdefault(condition_name, Counter())[status] += 1
                    if judgement is not None and judgement.status is not Status.API_ERROR:
                        vote = read_verdict(judgement.reply or "", criterion) if judgement.status is Status.OK else None
                        result.by_rating.setdefault(target, []).append(vote)
                if result.stopped:
                    return result
    return result


def _known_cost(lines: Ledger, rubric: Rubric, judge: Judge) -> float:
    return sum(line.cost or 0.0 for line in lines.judgements if (line.judge, line.prompt) == (judge.name, rubric.name))


@dataclass(frozen=True, slots=True)
class AskingSize:
    """The size of a run; what a ledger holds already is not taken off."""

    ratings: int
    conditions: int
    seeds: int
    requests: int  # equal prompts of one seed are one request
    prompt_bytes: int
    cost: float | None  # at most, if every reply can be read at once; None without a price

    @property
    def predictions(self) -> int:
        """All that is predicted, equal prompts too."""
        return self.ratings * self.conditions * self.seeds

    def lines(self) -> list[str]:
        """What a terminal shows."""
        size = f"{self.ratings:,} ratings x {self.conditions} conditions x {self.seeds} seeds"
        fewer = f"of which {self.predictions - self.requests:,} equal another one and are not sent"
        lines = [f"{size} = {self.predictions:,} requests, {fewer}: {self.requests:,} are"]
        lines.append(f"prompts: {self.prompt_bytes / 1e6:,.1f} MB")
        if self.cost is None:
            return [*lines, "cost: not known without --price-in and --price-out"]
        most = f"cost: at most {self.cost:,.2f}; twice that if no reply can be read and each is asked for again"
        return [*lines, most]


def asking_size(
    ratings: Sequence[Rated],
    of: Sequence[Rated],
    conditions: Sequence[Condition],
    criteria: Sequence[Criterion],
    seeds: int,
    price: Price | None,
    max_tokens: int,
) -> AskingSize:
    """Requests, bytes of their prompts and the most that these can cost, before anybody is asked."""
    requests = size = 0
    cost = 0.0
    for seed in range(seeds):
        for criterion in criteria:
            rubric = criterion_rubric(criterion)
            part = [rating for rating in of if rating.criterion == criterion.name]
            different = {(prompt.question, prompt.answer) for prompt in asks(ratings, part, conditions, seed)}
            requests += len(different)
            for question, answer in different:
                prompt = rubric.prompt(question, answer)
                size += len(prompt.encode())
                cost += price.at_most(prompt, max_tokens) if price else 0.0
    return AskingSize(len(of), len(conditions), seeds, requests, size, cost if price else None)
