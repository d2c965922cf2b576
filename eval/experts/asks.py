"""Asking a judge for every rating, condition and seed; what was answered before is in the ledger and asked no more."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sozo.data.progress import responses_bar
from sozo.data.rubrics import Criterion
from sozo.eval.experts.histories import Condition, Pools, Rated
from sozo.scoring.judges.criterion import Verdict, criterion_rubric, examples_text, read_verdict
from sozo.scoring.judges.ledger import Judgement, Ledger
from sozo.scoring.judges.protocol import Judge, JudgeSettings, Rubric, Status, ToJudge
from sozo.scoring.judges.run import NOT_ASKED, judge_answers


@dataclass
class Votes:
    """What came back: by condition and rating one vote for each seed that got a reply."""

    by_rating: dict[tuple[str, str], list[Verdict | None]] = field(default_factory=dict)  # None: it could not be read
    statuses: dict[str, Counter[str]] = field(default_factory=dict)  # by condition
    examples: Counter[str] = field(default_factory=Counter)  # shown in all prompts of a condition
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unknown_cost: int = 0
    requests: int = 0  # of this call; the others are what holds, earlier calls' too
    stopped: str | None = None  # why not everything was asked; None if it was

    def to_json(self) -> dict[str, Any]:
        """What a results file says of the asking: the same after any number of interruptions."""
        statuses = {name: dict(sorted(count.items())) for name, count in self.statuses.items()}
        names = ("prompt_tokens", "completion_tokens", "unknown_cost", "stopped")
        return {"statuses": statuses, "cost": round(self.cost, 9), **{name: getattr(self, name) for name in names}}


def asks(
    ratings: Sequence[Rated], of: Sequence[Rated], conditions: Sequence[Condition], seed: int
) -> Iterator[ToJudge]:
    """What a judge is asked with one seed about `of`, with examples from `ratings`; the question holds the examples."""
    pools = Pools(ratings)
    for condition in conditions:
        for rating in of:
            examples = pools.examples(rating, condition, seed)
            question = examples_text((one.text, one.score) for one in examples)
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
                rubric, asked = rubrics[criterion.name], list(asks(ratings, part, conditions, seed))
                # An open ledger brings what this rubric has cost to the bill: the other ones' is left out of the limit.
                others = sum(cost for name, cost in spent.items() if name != rubric.name)
                limited = settings
                if settings.max_cost is not None:
                    limited = replace(settings, max_cost=max(0.0, settings.max_cost - others))
                judged = judge_answers(
                    judge,
                    rubric,
                    asked,
                    lines,
                    limited,
                    on_judgement=lambda judgement: advance(1, int(judgement.scores is not None)),
                )
                spent[rubric.name] = judged.cost_at_most
                for name in ("prompt_tokens", "completion_tokens", "cost", "unknown_cost", "requests"):
                    setattr(result, name, getattr(result, name) + getattr(judged, name))
                result.stopped = result.stopped or judged.stopped
                targets = [(condition, rating) for condition in conditions for rating in part]
                for (condition, rating), one, judgement in zip(targets, asked, judged.judgements, strict=True):
                    result.examples[condition.name] += one.question.count("\nScore: ")
                    _note(result, condition, rating, criterion, judgement)
                if result.stopped:
                    return result
    return result


def _note(
    result: Votes, condition: Condition, rating: Rated, criterion: Criterion, judgement: Judgement | None
) -> None:
    status = NOT_ASKED if judgement is None else str(judgement.status)
    result.statuses.setdefault(condition.name, Counter())[status] += 1
    if judgement is not None and judgement.status is not Status.API_ERROR:
        vote = read_verdict(judgement.reply or "", criterion) if judgement.status is Status.OK else None
        result.by_rating.setdefault((condition.name, rating.id), []).append(vote)


def _known_cost(lines: Ledger, rubric: Rubric, judge: Judge) -> float:
    return sum(line.cost or 0.0 for line in lines.judgements if (line.judge, line.prompt) == (judge.name, rubric.name))
