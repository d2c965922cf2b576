"""A judge as a reward: what it says of each completion by a rubric, for as much money as was allowed."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.processes import rank
from sozo.data.settings import deciding, load_dotted, settings_of
from sozo.rewards.reward import Reward, ScoredCompletion, gather_made
from sozo.scoring.endpoint.bill import check_limit
from sozo.scoring.final_text import judged_part
from sozo.scoring.judges.endpoint import endpoint_judge
from sozo.scoring.judges.ledger import Ledger
from sozo.scoring.judges.protocol import (
    Judge,
    JudgeSettings,
    Rubric,
    Scores,
    Status,
    ToJudge,
)
from sozo.scoring.judges.run import judge_answers
from sozo.tasks import find_rubric, refuse_training
from sozo.tasks.held_out import fingerprint
from sozo.tasks.task import Answer, Item

# Fewer judgements say nothing about the share of failures.
_LEAST_JUDGED = 20

# Those that this process has open: several rewards of a run may share one.
_LEDGERS: dict[Path, Ledger] = {}
# A judgement's status, and its scores if it has any
StatusScores = tuple[str, Scores | None]
# By question and answer; what all judging cost at most
_Verdicts = tuple[dict[tuple[str, str], StatusScores], float]


class JudgeReward(Reward):
    """Reward function: the mean of a judge's scores, or one of them, times `scale`.

    The question is the dataset's column `question`, or else the user's last turn; the answer is the completion without
    its reasoning. A judgement that failed (refused, unparseable, truncated, no reply) gives its completion the mean of
    its group's others, which favours nobody, and None if the whole group failed. An empty answer gets the rubric's
    lowest score and nobody is asked. Of several processes the first one asks, about each distinct answer once; every
    judgement is a line of the ledger at once, so that a run that is killed and resumed pays nothing twice.

    Args:
        rubric: A rubric, or the name of a task's, such as `jcq-v1-guarded-2`.
        ledger: Path of the file of judgements; one run at a time may have it.
        judge: Who judges; None has `make_judge` make the one that `settings` name, when it is first needed.
        make_judge: A function, or a dotted path of one. Rewards know endpoints only; `sozo.models.judges.make_judge`
            knows models on this machine.
        criterion: The score that is paid; None pays the mean of all.
        stop_failed_share: The run ends when more than this share of a call's judgements failed, or of the last 20 where
            a call has fewer.
        settings: Fields of `JudgeSettings`; `max_cost` is for all judgements in the ledger by this judge and rubric.

    Logged through TRL's `log_metric`, over all processes: `judge/mean` (of what was judged), `judge/failed_share`,
    `judge/status/<status>` (counts), `judge/cost` (so far, at most; with prices only) and `judge/seconds`; through
    `log_extra` the columns judge_status and judge_scores.

    >>> make_judge_reward("sat-v1", ledger="judgements.jsonl", judge_model="gpt-4o").rubric.criteria
    ('creativity',)
    """

    # The status of a completion that nobody is asked about, since it has no text: a judge might refuse it, and then it
    # would be paid what its group is paid.
    unasked = "empty"
    free = frozenset(
        {"ledger", "stop_failed_share", *asdict(JudgeSettings())}
        - deciding(JudgeSettings()).keys()
    )
    loaded = "judge"
    console = (
        ("mean of the judge", "judge/mean", ".3f"),
        ("judgements failed", "judge/failed_share", "6.1%"),
    )

    def __init__(
        self,
        rubric: Rubric | str = "jcq-v1",
        *,
        ledger: str | Path,
        judge: Judge | None = None,
        make_judge: Callable[[JudgeSettings], Judge] | str = endpoint_judge,
        criterion: str | None = None,
        scale: float = 1.0,
        stop_failed_share: float = 0.5,
        **settings: Any,
    ) -> None:
        if "judge_prompt" in settings:
            raise UserError(
                "judge_prompt is the evaluation's; give the reward a rubric"
            )
        self.rubric = find_rubric(rubric) if isinstance(rubric, str) else rubric
        if criterion not in (None, *(known := self.rubric.criteria)):
            raise UserError(
                f"{self.rubric.name} has no criterion {criterion}; it has {', '.join(known)}"
            )
        # The name is the same whatever the settings: it is the key in W&B.
        super().__init__("judge_reward", "judge", scale=scale)
        self.ledger = Path(ledger)
        self.settings = settings_of(JudgeSettings, settings)
        self.price = self.settings.price()
        self.criterion = criterion
        self.stop_failed_share = stop_failed_share
        self._given = judge
        self._make_judge = (
            load_dotted(make_judge, "make_judge")
            if isinstance(make_judge, str)
            else make_judge
        )
        self.cost = 0.0  # of all judging so far, at most
        self._failed: list[bool] = []  # of the last judgements

    @cached_property
    def judge(self) -> Judge:
        """Who judges, made when first asked for; one that was made holds its key, and goes to no other process."""
        judge = self._given or self._make_judge(self.settings)
        limit, price = self.settings.max_cost, self.settings.price()
        check_limit(limit, "judge", price, judge.max_tokens)
        return judge

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """Nothing yet: the first process judges for all."""
        questions = list(map(question_of, items))
        return [
            self.scored(
                item,
                judged_part(answer.text),
                None,
                question=question,
                prompt=item.prompt,
            )
            for item, answer, question in zip(items, answers, questions, strict=True)
        ]

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        """Each with what its judgement is worth, or what its group is."""
        verdicts, self.cost = self._verdicts(completions)
        judged, groups = [], defaultdict[str, list[float]](list)
        for completion in completions:
            pair = self.about(completion)
            paid = self.paid(completion, verdicts[pair] if pair else None)
            judged.append(paid)
            if paid.reward is not None:
                groups[paid.group].append(paid.reward)
        means = {group: fmean(rewards) for group, rewards in groups.items()}
        # What nobody was asked about is worth what it is worth, and not what its group is.
        failed = [
            c.reward is None and c.facts["status"] != self.unasked for c in judged
        ]
        return [
            replace(c, reward=means.get(c.group)) if f else c
            for c, f in zip(judged, failed, strict=True)
        ]

    def about(self, completion: ScoredCompletion) -> tuple[str, str] | None:
        """The question and the answer that the judge is asked about; None of an empty answer."""
        return (
            (completion.facts["question"], completion.text)
            if completion.text.strip()
            else None
        )

    def paid(
        self, completion: ScoredCompletion, verdict: StatusScores | None
    ) -> ScoredCompletion:
        """The completion with its worth by the `verdict` on what it is `about`; a reward of None if that is not known.

        Without one, it is worth the least that the rubric knows.
        """
        lowest = dict.fromkeys(self.rubric.criteria, self.rubric.lowest)
        status, scores = verdict or (self.unasked, lowest)
        facts = {**completion.facts, "status": status, "scores": scores}
        if scores is None:
            return replace(completion, reason=status, reward=None, facts=facts)
        score = (
            fmean(scores.values())
            if self.criterion is None
            else float(scores[self.criterion])
        )
        reason = None if verdict else self.unasked
        reward = self.scale * score
        return replace(
            completion, score=score, reason=reason, reward=reward, facts=facts
        )

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        statuses = Counter(completion.facts["status"] for completion in completions)
        scores = [
            completion.score
            for completion in completions
            if completion.score is not None
        ]
        metrics = {
            f"judge/status/{status}": float(statuses[status])
            for status in (*map(str, Status), self.unasked)
        }
        # What nobody was asked about and is worth nothing has not failed.
        counted = sum(
            c.score is not None or c.facts["status"] != self.unasked
            for c in completions
        )
        metrics["judge/failed_share"] = 1 - len(scores) / counted if counted else 0.0
        if scores:
            metrics["judge/mean"] = fmean(scores)
        return metrics | {"judge/cost": self.cost} if self.price else metrics

    def columns(self, completion: ScoredCompletion) -> dict[str, Any]:
        return {
            f"judge_{name}": completion.facts.get(name) for name in ("status", "scores")
        }

    def describe(self) -> dict[str, Any]:
        """What decides the rewards, for the run's record: not where the judge or the ledger is, which may move.

        Each line of the ledger says what replied, and another server's judgements have other keys.
        """
        decides = {
            name: value
            for name, value in self.judge.parameters.items()
            if name != "server"
        }
        judge = {"model": self.judge.name, **decides}
        return {
            "rubric": self.rubric.name,
            "criterion": self.criterion,
            "scale": self.scale,
            "judge": judge,
        }

    def close(self) -> None:
        """Let another run have the ledger; the next call opens it again."""
        if ledger := _LEDGERS.pop(self.ledger.resolve(), None):
            ledger.close()

    def _verdicts(self, completions: Sequence[ScoredCompletion]) -> _Verdicts:
        """The first process's judgements, in every process."""
        first, *_ = gather_made(
            "the judge reward", lambda: self._ask(completions) if rank() == 0 else None
        )
        assert first is not None
        return first

    def _ask(self, completions: Sequence[ScoredCompletion]) -> _Verdicts:
        refuse_training(
            Item("", c.facts["prompt"], {"question": c.facts["question"]})
            for c in completions
        )
        path = self.ledger.resolve()
        if path not in _LEDGERS:
            _LEDGERS[path] = Ledger(self.ledger, (self.rubric,))
        pairs = dict.fromkeys(
            pair for completion in completions if (pair := self.about(completion))
        )
        answers = [
            ToJudge(fingerprint(f"{q}\0{text}"), fingerprint(q), q, text)
            for q, text in pairs
        ]
        judging = judge_answers(
            self.judge, self.rubric, answers, _LEDGERS[path], self.settings
        )
        if judging.stopped:
            raise UserError(
                f"judging ended: {judging.stopped}; allow more (max_cost) and resume the run"
            )
        statuses = [
            str(judgement.status) for judgement in judging.judgements if judgement
        ]
        scores = [
            judgement.scores if judgement else None for judgement in judging.judgements
        ]
        self._stop_if_failing(statuses)
        return dict(
            zip(pairs, zip(statuses, scores, strict=True), strict=True)
        ), judging.cost_at_most

    def _stop_if_failing(self, statuses: Sequence[str]) -> None:
        """Raise UserError if too many judgements failed; `statuses` are those of one call."""
        failed = [status != Status.OK for status in statuses]
        self._failed = [*self._failed, *failed][-max(_LEAST_JUDGED, len(failed)) :]
        count = len(self._failed)
        if (
            count >= _LEAST_JUDGED
            and sum(self._failed) > self.stop_failed_share * count
        ):
            failures = Counter(status for status in statuses if status != Status.OK)
            how = (
                ", ".join(
                    f"{number} {status}" for status, number in failures.most_common()
                )
                or "none"
            )
            what = f"{sum(self._failed)} of the last {count} judgements failed ({how} just now)"
            remedy = "take another judge or rubric, or raise stop_failed_share"
            raise UserError(f"{what}: {self.ledger} holds the replies; {remedy}")


def question_of(item: Item) -> str:
    """The question that a judge is shown: the column `question`, or else the prompt. UserError if there is none."""
    question = item.columns.get("question") or item.prompt.strip()
    if not isinstance(question, str):
        raise UserError(f"a question must be text, not {quoted(question)}")
    if not question.strip():
        raise UserError(
            "a judge needs the question that is answered: give prompts, or a column question"
        )
    return question


make_judge_reward = JudgeReward
