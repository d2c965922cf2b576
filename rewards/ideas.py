"""Ideas as GRPO is paid for them: what one expert's judge says, or several experts' together; the form apart."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import hint, load_dotted
from sozo.rewards.judge import JudgeReward, StatusScores, question_of
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.scoring.judges.criterion import criteria_rubric
from sozo.scoring.judges.protocol import Status
from sozo.tasks.pbig.experts import Expert, load_experts
from sozo.tasks.pbig.ideas import idea_text, parse_idea
from sozo.tasks.pbig.rows import CRITERIA, worth
from sozo.tasks.pbig.settings import digest
from sozo.tasks.task import Answer, Item

# What several experts make of an idea: `one` is for a single one, `min` pleases everybody, `max` delights somebody.
AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {"one": fmean, "mean": fmean, "min": min, "max": max}
_CALLS = 3  # so many calls in a row with too many failures end a run


class IdeaReward(JudgeReward):
    """Reward function: what an idea is worth to one expert or to several (`sozo.tasks.pbig.rows.worth`), 0 to `scale`.

    The judge is asked by all axes at once, about each distinct idea once for each expert. A text that is no idea gets
    None and nobody is asked: its form is `idea_format_reward`'s. An idea of which a judgement failed gets the mean of
    its group's others, which favours nobody. More than `stop_failed_share` failed judgements in three calls in a row
    end the run. The rest is as in `JudgeReward`: a ledger, and nothing is paid twice.

    Args:
        ledger: Path of the file of judgements; one run at a time may have it.
        axes: Names of the criteria that count; None takes all that the experts rate.
        weights: By axis, 1 where nothing is said.
        experts: Names of raters, each with a judge of her own; None has a judge who imitates nobody.
        ratings: Their ratings (CSV or JSONL), `ideas` what they rated, `patents` from what (JSONL); None: the trial's.
        shots: How many of an expert's ratings her judge is shown at most, none of them of the same patent.
        aggregate: `one`, `mean`, `min` or `max` over the experts.
        rank: Pay the rank within the group, 0 to 1, and not the worth: judges that give whole scores tie often.
        make_judge: Who makes the judge of the settings, or a dotted path: `sozo.models.judges.make_judge` knows models
            on this machine.
        options: `judge`, and fields of `JudgeSettings`.
    """

    unasked = "invalid"  # no idea

    def __init__(
        self,
        *,
        ledger: str | Path,
        axes: Sequence[str] | None = None,
        weights: Mapping[str, float] | None = None,
        experts: Sequence[str] | None = None,
        ratings: str | None = None,
        ideas: str | None = None,
        patents: str | None = None,
        shots: int = 10,
        aggregate: str = "mean",
        rank: bool = False,
        scale: float = 1.0,
        stop_failed_share: float = 0.2,
        make_judge: str | None = None,
        **options: Any,
    ) -> None:
        names = [criterion.name for criterion in CRITERIA]
        for name in (*(axes or ()), *(weights or {})):
            if name not in names:
                raise UserError(f"idea_reward: no axis {name}" + hint(name, names, f"; {', '.join(names)} exist"))
        if aggregate not in AGGREGATES:
            raise UserError(f"idea_reward: aggregate must be one of {', '.join(AGGREGATES)}, not {aggregate}")
        if aggregate == "one" and len(experts or [""]) > 1:
            raise UserError(f"idea_reward: aggregate one is for one expert, not {len(experts or ())}; take mean")
        criteria = [criterion for criterion in CRITERIA if axes is None or criterion.name in axes]
        files = {"ratings": ratings, "ideas": ideas, "patents": patents}
        self.experts: Sequence[Expert] = load_experts(experts or None, criteria, shots, **files)
        # What none of them rates is not asked.
        criteria = [criterion for criterion in criteria if any(criterion in e.criteria for e in self.experts)]
        if not criteria:
            raise UserError(f"idea_reward: the experts rated none of the axes {', '.join(axes or ())}; take others")
        if make_judge is not None:
            options["make_judge"] = load_dotted(make_judge, "make_judge")
        super().__init__(
            criteria_rubric(criteria), ledger=ledger, scale=scale, stop_failed_share=stop_failed_share, **options
        )
        self.__name__ = "idea_reward"
        self.weights, self.aggregate, self.rank = dict(weights or {}), aggregate, rank
        self._bad_calls = 0

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        """The ideas of the texts; the first process judges for all."""
        completions = []
        for item, answer in zip(items, answers, strict=True):
            idea, patent = parse_idea(answer.text), question_of(item)
            text = idea.fields and f"{patent}\n{idea_text(idea.fields)}"
            facts = {"question": patent, "prompt": item.prompt, "idea": text, "patent": item.id}
            completions.append(self.scored(item, answer.text, None, idea.reason and str(idea.reason), **facts))
        return completions

    def about(self, completion: ScoredCompletion) -> list[tuple[str, str]]:
        idea, patent = completion.facts["idea"], completion.facts["patent"]
        return [(expert.examples(patent), idea) for expert in self.experts] if idea else []

    def paid(self, completion: ScoredCompletion, verdicts: Sequence[StatusScores]) -> ScoredCompletion:
        if not verdicts:
            return replace(completion, reward=None, facts={**completion.facts, "status": self.unasked, "scores": None})
        by_expert = {expert.name: scores for expert, (_, scores) in zip(self.experts, verdicts, strict=True)}
        failure = next((status for status, scores in verdicts if scores is None), None)
        facts = {**completion.facts, "status": failure or str(Status.OK), "scores": by_expert}
        worths = [worth(by_expert[expert.name] or {}, expert.criteria, self.weights) for expert in self.experts]
        known = [value for value in worths if value is not None]
        if failure or not known:
            return replace(completion, reason=failure, reward=None, facts=facts)
        score = AGGREGATES[self.aggregate](known)
        return replace(completion, score=score, reward=self.scale * score, facts=facts)

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        paid = super().among(completions)
        if not self.rank:
            return paid
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for completion in paid:
            if completion.score is not None:
                groups[completion.group].append(completion.score)
        ranks = [self.scale * _rank(completion.score, groups[completion.group]) for completion in paid]
        return [c if c.reward is None else replace(c, reward=rank) for c, rank in zip(paid, ranks, strict=True)]

    def describe(self) -> dict[str, Any]:
        described = super().describe() | {"weights": self.weights, "aggregate": self.aggregate, "rank": self.rank}
        described["experts"] = [expert.name for expert in self.experts]
        return described | {"history_sha256": digest(expert.describe() for expert in self.experts)}

    def stop_if_failing(self, statuses: Sequence[str]) -> None:
        failed = sum(status != Status.OK for status in statuses)
        bad = failed > self.stop_failed_share * len(statuses)
        self._bad_calls = self._bad_calls + 1 if bad else 0
        if self._bad_calls >= _CALLS:
            share = f"more than {self.stop_failed_share:.0%}"
            raise self.failing(f"{share} of the judgements failed in {_CALLS} calls in a row", statuses)


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

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        parsed = [parse_idea(answer.text) for answer in answers]
        return [
            self.scored(item, answer.text, 1.0 if idea.fields else None, idea.reason and str(idea.reason))
            for item, answer, idea in zip(items, answers, parsed, strict=True)
        ]


make_idea_reward = IdeaReward
idea_format_reward = IdeaFormat()
