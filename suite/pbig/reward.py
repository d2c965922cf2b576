"""Ideas as GRPO is paid for them: what a judge says of them; the form apart."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sozo.rewards.judge import JudgeReward, StatusScores, question_of
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.suite.pbig.ideas import idea_text, parse_idea
from sozo.suite.pbig.rows import CRITERIA, worth
from sozo.suite.rubrics.criterion import criteria_rubric
from sozo.tasks.task import Answer, Item


class IdeaReward(JudgeReward):
    """Reward function: what an idea is worth to a judge (`sozo.suite.pbig.rows.worth`), 0 to `scale`.

    The judge is asked by all axes at once, about each distinct idea once. A text that is no idea gets None and nobody
    is asked: its form is `idea_format_reward`'s. An idea whose judgement failed gets the mean of its group's others,
    which favours nobody. The rest is as in `JudgeReward`: a ledger, nothing is paid twice, and `stop_failed_share`.

    Args:
        ledger: Path of the file of judgements; one run at a time may have it.
        rank: Pay the rank within the group, 0 to 1, and not the worth: judges that give whole scores tie often.
        options: `judge` and `make_judge`, and fields of `JudgeSettings`.
    """

    unasked = "invalid"  # no idea

    def __init__(
        self,
        *,
        ledger: str | Path,
        rank: bool = False,
        scale: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(
            criteria_rubric(CRITERIA), ledger=ledger, scale=scale, **options
        )
        self.__name__ = "idea_reward"
        self.rank = rank

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """The ideas of the texts; the first process judges for all."""
        completions = []
        for item, answer in zip(items, answers, strict=True):
            idea, patent = parse_idea(answer.text), question_of(item)
            text = idea.fields and f"{patent}\n{idea_text(idea.fields)}"
            facts = {"question": patent, "prompt": item.prompt, "idea": text}
            completions.append(
                self.scored(
                    item, answer.text, None, idea.reason and str(idea.reason), **facts
                )
            )
        return completions

    def about(self, completion: ScoredCompletion) -> tuple[str, str] | None:
        return ("", completion.facts["idea"]) if completion.facts["idea"] else None

    def paid(
        self, completion: ScoredCompletion, verdict: StatusScores | None
    ) -> ScoredCompletion:
        status, scores = verdict or (self.unasked, None)
        facts = {**completion.facts, "status": status, "scores": scores}
        score = worth(scores or {})
        if score is None:
            reason = completion.reason or (status if scores is None else None)
            return replace(completion, reason=reason, reward=None, facts=facts)
        return replace(completion, score=score, reward=self.scale * score, facts=facts)

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        paid = super().among(completions)
        if not self.rank:
            return paid
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for completion in paid:
            if completion.score is not None:
                groups[completion.group].append(completion.score)
        ranks = [
            self.scale * _rank(completion.score, groups[completion.group])
            for completion in paid
        ]
        return [
            c if c.reward is None else replace(c, reward=rank)
            for c, rank in zip(paid, ranks, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"rank": self.rank}


def _rank(score: float | None, scores: Sequence[float]) -> float:
    """The place of a score among its group's, 0 to 1, equal ones in the middle of their places; 0.5 of one alone.

    >>> [_rank(score, [0.2, 0.5, 0.5, 0.9]) for score in (0.2, 0.5, 0.9)], _rank(None, [0.2, 0.5]), _rank(0.2, [0.2])
    ([0.0, 0.5, 1.0], 0.5, 0.5)
    """
    if score is None or len(scores) < 2:
        return 0.5
    below = sum(other < score for other in scores)
    equal = sum(other == score for other in scores) - 1
    return (below + equal / 2) / (len(scores) - 1)


class IdeaFormat(Reward):
    """Reward function: 1 for a text that is an idea, else 0. Summed into one with its worth, it would drown that.

    >>> IdeaFormat()(completions=['{"title": "枕"}'])
    [0.0]
    """

    def __init__(self) -> None:
        super().__init__("idea_format_reward", "idea_format")

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        parsed = [parse_idea(answer.text) for answer in answers]
        return [
            self.scored(
                item,
                answer.text,
                1.0 if idea.fields else None,
                idea.reason and str(idea.reason),
            )
            for item, answer, idea in zip(items, answers, parsed, strict=True)
        ]


make_idea_reward = IdeaReward
idea_format_reward = IdeaFormat()
