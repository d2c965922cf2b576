"""Asking a judge for every rating, condition and seed, what that will cost, and the prediction that votes make.

What was answered before is in the ledger and asked no more.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import multimode
from typing import Any

from sozo.data.progress import answers_bar
from sozo.scoring.endpoint.bill import Price
from sozo.scoring.judges.ledger import Judgement, Ledger
from sozo.scoring.judges.protocol import Judge, JudgeSettings, Status, ToJudge
from sozo.scoring.judges.run import NOT_ASKED, Judging, judge_answers
from sozo.studies.experts.histories import Plan
from sozo.suite.rubrics import Criterion
from sozo.suite.rubrics.criterion import (
    CriterionVerdict,
    criterion_rubric,
    read_verdict,
)

NO_VOTES, UNPARSEABLE, LOW_CONFIDENCE, TIE = (
    "no_votes",
    "unparseable",
    "low_confidence",
    "tie",
)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A score, or the reason why there is none, and the votes that it comes of: one for each seed that got a reply."""

    votes: Sequence[CriterionVerdict | None]  # None: the reply could not be read
    score: int | None
    reason: str | None
    kept: int = 0  # votes that counted

    @property
    def unread(self) -> int:
        """Votes that could not be read."""
        return sum(vote is None for vote in self.votes)


Predictions = Mapping[str, Prediction]  # by `Condition.ask_id`


def predict(
    votes: Sequence[CriterionVerdict | None], min_confidence: int
) -> Prediction:
    """The majority of the votes that are sure enough: the score that most of them give; two such scores are a tie.

    `votes` has None where a reply could not be read, and nothing where none came.

    >>> sure = [CriterionVerdict(score, "", 90) for score in (2, 4, 4)]
    >>> predict(sure, 80).score, predict([sure[0], sure[1], CriterionVerdict(4, "", 70)], 80).reason
    (4, 'tie')
    """
    readable = [vote for vote in votes if vote is not None]
    kept = [vote.score for vote in readable if vote.confidence >= min_confidence]
    if not kept:
        return Prediction(
            votes,
            None,
            LOW_CONFIDENCE if readable else UNPARSEABLE if votes else NO_VOTES,
        )
    best = multimode(kept)
    score, reason = (best[0], None) if len(best) == 1 else (None, TIE)
    return Prediction(votes, score, reason, len(kept))


@dataclass
class Votes:
    """What came back, and for what."""

    # By `ask_id`.
    by_ask: defaultdict[str, list[CriterionVerdict | None]] = field(
        default_factory=lambda: defaultdict(list)
    )
    statuses: dict[str, Counter[str]] = field(default_factory=dict)  # by condition
    examples: Counter[str] = field(
        default_factory=Counter
    )  # shown in all prompts of a condition
    bill: Judging = field(default_factory=Judging)  # of all together

    def add(
        self, criterion: Criterion, questions: Sequence[ToJudge], judged: Judging
    ) -> None:
        """Count what came back for some questions about one criterion."""
        self.bill.add(judged)
        for question, judgement in zip(questions, judged.judgements, strict=True):
            self.examples[question.group] += question.question.count("\nScore: ")
            status = NOT_ASKED if judgement is None else str(judgement.status)
            self.statuses.setdefault(question.group, Counter())[status] += 1
            if judgement is not None and judgement.status is not Status.API_ERROR:
                vote = (
                    read_verdict(judgement.reply or "", criterion)
                    if judgement.status is Status.OK
                    else None
                )
                self.by_ask[question.id].append(vote)

    def to_json(self) -> dict[str, Any]:
        """What a results file says of the asking: the same after any number of interruptions."""
        statuses = {
            name: dict(sorted(count.items())) for name, count in self.statuses.items()
        }
        bill = self.bill.to_json()
        names = ("cost", "prompt_tokens", "completion_tokens", "unknown_cost")
        return {
            "statuses": statuses,
            **{name: bill[name] for name in names},
            "stopped": self.bill.stopped,
        }


def ask_for_all(
    plan: Plan, judges: Sequence[Judge], ledger: Path, settings: JudgeSettings
) -> Votes:
    """Have all ratings of a plan predicted under all its conditions, by a judge for each seed."""
    parts = [
        (criterion, criterion_rubric(criterion), part) for criterion, part in plan.parts
    ]
    result = Votes()
    total = len(plan.targets) * len(plan.conditions) * len(judges)
    with (
        Ledger(ledger, [rubric for _, rubric, _ in parts]) as lines,
        answers_bar("judging", total) as advance,
    ):

        def show(judgement: Judgement) -> None:
            advance(1, int(judgement.scores is not None))

        for (seed, judge), (criterion, rubric, part) in product(
            enumerate(judges), parts
        ):
            questions = list(plan.asks(part, seed))
            # An open ledger brings what this rubric has cost to the bill.
            others = [line for line in lines.judgements if line.prompt != rubric.name]
            how: dict[str, Any] = {"elsewhere": others, "on_judgement": show}
            judged = judge_answers(judge, rubric, questions, lines, settings, **how)
            result.add(criterion, questions, judged)
            if result.bill.stopped:
                break
    return result


def asking_size(
    plan: Plan, seeds: int, price: Price | None, max_tokens: int
) -> list[str]:
    """Requests, bytes of their prompts and the most that these can cost, before anybody is asked, in lines.

    Equal prompts of one seed are one request; what a ledger holds already is not taken off.
    """
    requests = size = 0
    cost = 0.0
    for seed, (criterion, part) in product(range(seeds), plan.parts):
        rubric = criterion_rubric(criterion)
        different = {(ask.question, ask.answer) for ask in plan.asks(part, seed)}
        requests += len(different)
        for question, answer in different:
            prompt = rubric.prompt(question, answer)
            size += len(prompt.encode())
            cost += price.at_most(prompt, max_tokens) if price else 0.0
    ratings, conditions = len(plan.targets), len(plan.conditions)
    predictions = ratings * conditions * seeds
    fewer = f"of which {predictions - requests:,} equal another one and are not sent"
    most = f"at most {cost:,.2f}; twice that if no reply can be read and each is asked for again"
    unknown = "not known without --judge-price-in and --judge-price-out"
    asked = f"{ratings:,} ratings x {conditions} conditions x {seeds} seeds = {predictions:,} requests"
    return [
        f"{asked}, {fewer}: {requests:,} are",
        f"prompts: {size / 1e6:,.1f} MB",
        f"cost: {most if price else unknown}",
    ]
