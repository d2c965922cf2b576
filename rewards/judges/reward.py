"""A judge as a reward: what it says of each completion by a rubric, for as much money as was allowed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from data.errors import UserError
from data.held_out import fingerprint
from data.processes import gather, rank
from data.settings import settings_of
from rewards.judges.endpoint import endpoint_judge
from rewards.judges.ledger import Ledger
from rewards.judges.options import JudgeSettings
from rewards.judges.protocol import Judge, Status
from rewards.judges.rubric import Asked, Rubric, Scores, judged_part
from rewards.judges.run import check_budget, judge_answers
from rewards.reward import Reward, ScoredCompletion
from rewards.task import Answer, Item

# Fewer judgements say nothing about the share of failures.
_LEAST_JUDGED = 20
# Nobody is asked about an answer without a text, which might be refused and so be paid what its group is paid.
_EMPTY = "empty"
_OK = (str(Status.OK), _EMPTY)

# Of each question and answer: its status, and its scores if it has any; then what all judging cost.
_Verdicts = tuple[dict[tuple[str, str], tuple[str, Scores | None]], float]


class JudgeReward(Reward):
    """Reward function: the mean of a judge's scores, or one of them, times `scale`.

    The question is the dataset's column `question`, or else the user's last turn; the answer is the completion without
    its reasoning. A judgement that failed (refused, unparseable, truncated, no reply) gives its completion the mean of
    its group's others, so that it changes no advantage, and None if the whole group failed. An empty answer gets the
    rubric's lowest score. Of several processes the first one asks the judge, about each distinct answer once; every
    judgement is a line of the ledger at once, so that a run that is killed and resumed pays nothing twice.

    Args:
        build: Makes the judge at the first call, in the process that asks it.
        rubric: What it is asked, and how its replies are read.
        ledger: The file of judgements; one run at a time may have it.
        settings: Of these `max_cost` (for all this judge's and rubric's judgements in the ledger), the prices and
            `retry_failed` count here.
        criterion: The score that is paid; None pays the mean of all.
        scale: Reward per unit of it.
        stop_failed_share: The run ends when more than this share of the judgements of one call failed (and of the last
            20, where a call has fewer).

    Logged through TRL's `log_metric`, over all processes: `judge/mean` (of what was judged), `judge/failed_share`,
    `judge/status/<status>` (counts), `judge/cost` (at most, so far; with prices only) and `judge/seconds`; through
    `log_extra` the columns judge_status and judge_scores.
    """

    console = (("mean of the judge", "judge/mean", ".3f"), ("judgements failed", "judge/failed_share", "6.1%"))

    def __init__(
        self,
        build: Callable[[], Judge],
        rubric: Rubric,
        ledger: Path,
        settings: JudgeSettings,
        *,
        criterion: str | None = None,
        scale: float = 1.0,
        stop_failed_share: float = 0.5,
    ) -> None:
        if criterion not in (None, *rubric.criteria):
            raise UserError(f"{rubric.name} has no criterion {criterion}; it has {', '.join(rubric.criteria)}")
        # The name is the same whatever the settings: it is the key in W&B.
        super().__init__("judge_reward", "judge", scale=scale)
        self.rubric, self.ledger, self.criterion, self.settings = rubric, ledger, criterion, settings
        self.stop_failed_share = stop_failed_share
        self.price = settings.price()
        self.cost: float | None = None
        self._build = build
        self._judge: Judge | None = None
        self._opened: Ledger | None = None
        self._failed: list[bool] = []

    @property
    def judge(self) -> Judge:
        """The judge, made when first asked for."""
        if self._judge is None:
            self._judge = self._build()
            check_budget(self._judge, self.price, self.settings.max_cost)
        return self._judge

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        """Nothing yet: the first process judges for all."""
        pending = []
        for item, answer in zip(items, answers, strict=True):
            question = str(item.columns.get("question") or item.prompt.strip())
            pending.append(self.scored(item, judged_part(answer.text), None, question=question, prompt=item.prompt))
        return pending

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        """Each with its judgement, or with what its group is paid."""
        verdicts, spent = self._verdicts(completions)
        self.cost = spent if self.price else None
        judged = [self._paid(c, *verdicts[c.facts["question"], c.text]) for c in completions]
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for completion in judged:
            if completion.reward is not None:
                groups[completion.group].append(completion.reward)
        return [
            replace(completion, reward=fmean(groups[completion.group]))
            if completion.reward is None and groups[completion.group]
            else completion
            for completion in judged
        ]

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        """See the class."""
        statuses = Counter(completion.facts["status"] for completion in completions)
        scores = [completion.score for completion in completions if completion.score is not None]
        metrics = {f"judge/status/{status}": float(statuses[status]) for status in (*map(str, Status), _EMPTY)}
        metrics["judge/failed_share"] = 1 - len(scores) / len(completions)
        if scores:
            metrics["judge/mean"] = fmean(scores)
        return metrics if self.cost is None else metrics | {"judge/cost": self.cost}

    def shown(self, completion: ScoredCompletion) -> dict[str, Any]:
        """Status and scores."""
        return {f"judge_{name}": completion.facts.get(name) for name in ("status", "scores")}

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        own = {"rubric": self.rubric.name, "criterion": self.criterion, "scale": self.scale}
        return own | {"ledger": str(self.ledger), "judge": self.judge.describe()}

    def close(self) -> None:
        """Let another run have the ledger; the next call opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __getstate__(self) -> dict[str, Any]:
        # A ledger belongs to one process, and connections to none: another process makes its own.
        return {**super().__getstate__(), "_judge": None, "_opened": None}

    def _verdicts(self, completions: Sequence[ScoredCompletion]) -> _Verdicts:
        """The first process's judgements, in every process; its failure is everybody's."""
        result: _Verdicts | Exception | None = None
        if rank() == 0:
            try:
                result = self._ask(completions)
            except Exception as error:
                result = error
        # Told to all before it is raised: they would wait for ever. Other packages' errors may not survive pickling.
        known = not isinstance(result, Exception) or isinstance(result, UserError)
        first = gather(result if known else RuntimeError(f"the judge reward failed on process 0: {result!r}"))[0]
        for failure in (result, first):
            if isinstance(failure, Exception):
                raise failure
        verdicts: _Verdicts = first
        return verdicts

    def _ask(self, completions: Sequence[ScoredCompletion]) -> _Verdicts:
        if self.rubric.refuse:
            self.rubric.refuse(text for c in completions for text in (c.facts["question"], c.facts["prompt"]))
        if self._opened is None:
            self._opened = Ledger(self.ledger, (self.rubric,))
        pairs = dict.fromkeys((completion.facts["question"], completion.text) for completion in completions)
        lowest = dict.fromkeys(self.rubric.criteria, self.rubric.lowest)
        verdicts: dict[tuple[str, str], tuple[str, Scores | None]] = {
            pair: (_EMPTY, lowest) for pair in pairs if not pair[1].strip()
        }
        asked = [
            Asked(fingerprint(f"{question}\0{text}"), fingerprint(question), question, text)
            for question, text in pairs
            if text.strip()
        ]
        judging = judge_answers(
            self.judge,
            self.rubric,
            asked,
            self._opened,
            price=self.price,
            max_cost=self.settings.max_cost,
            retry_failed=self.settings.retry_failed,
        )
        if judging.stopped:
            raise UserError(f"judging ended: {judging.stopped}; allow more (max_cost) and resume the run")
        for answer, judgement in zip(asked, judging.judgements, strict=True):
            assert judgement is not None  # all were asked
            verdicts[answer.question, answer.answer] = (str(judgement.status), judgement.scores)
        self._stop_if_failing([status for status, _ in verdicts.values()])
        return verdicts, judging.cost_at_most

    def _stop_if_failing(self, statuses: Sequence[str]) -> None:
        failed = [status not in _OK for status in statuses]
        self._failed = [*self._failed, *failed][-max(_LEAST_JUDGED, len(failed)) :]
        share = fmean(self._failed) if self._failed else 0.0
        if len(self._failed) >= _LEAST_JUDGED and share > self.stop_failed_share:
            count = Counter(status for status in statuses if status not in _OK)
            raise UserError(
                f"{share:.0%} of the last {len(self._failed)} judgements failed "
                f"({', '.join(f'{number} {status}' for status, number in count.most_common())}): "
                f"{self.ledger} holds the replies; take another judge or rubric, or raise stop_failed_share"
            )

    def _paid(self, completion: ScoredCompletion, status: str, scores: Scores | None) -> ScoredCompletion:
        facts = {**completion.facts, "status": status, "scores": scores}
        if scores is None:
            return replace(completion, reason=status, reward=None, facts=facts)
        score = fmean(scores.values()) if self.criterion is None else float(scores[self.criterion])
        return replace(completion, score=score, reward=self.scale * score, facts=facts)


def make_judge_reward(
    rubric: Rubric | str = "jcq-v1",
    *,
    ledger: str | Path,
    judge: Judge | None = None,
    make_judge: Callable[[JudgeSettings], Judge] = endpoint_judge,
    criterion: str | None = None,
    scale: float = 1.0,
    stop_failed_share: float = 0.5,
    **settings: Any,
) -> JudgeReward:
    """A judge's scores as a reward; see `JudgeReward`. Nobody is asked before the first call.

    Args:
        rubric: A rubric, or the name of a task's, such as `jcq-v1-guarded`.
        ledger: Path of the file of judgements.
        judge: Who judges; None makes the one that `settings` name.
        make_judge: How. Rewards know endpoints only; `generate.judges.make_judge_reward` knows models on this machine.
        criterion: The score that is paid; None pays the mean of all.
        scale: Reward per unit of it.
        stop_failed_share: See `JudgeReward`.
        settings: Fields of `rewards.judges.options.JudgeSettings`.

    Raises:
        UserError: There is no such rubric, criterion or setting, or a value cannot be.

    >>> make_judge_reward("sat-v1", ledger="judgements.jsonl", judge_model="gpt-4o", max_cost=5, price_in=2, price_out=8
    ... ).rubric.criteria
    ('creativity',)
    """
    if "judge_prompt" in settings:
        raise UserError("judge_prompt is the evaluation's; give the reward a rubric")
    values = settings_of(JudgeSettings, settings)
    build = partial(make_judge, values) if judge is None else partial(_handed_in, judge)
    return JudgeReward(
        build,
        rubric_called(rubric) if isinstance(rubric, str) else rubric,
        Path(ledger),
        values,
        criterion=criterion,
        scale=scale,
        stop_failed_share=stop_failed_share,
    )


def rubric_called(name: str) -> Rubric:
    """The tasks' rubric of this name.

    Raises:
        UserError: There is none.
    """
    from rewards.tasks import task_types

    rubrics = {rubric.name: rubric for task in task_types().values() for rubric in task.rubrics}
    if name not in rubrics:
        raise UserError(f"there is no rubric {name}; there are {', '.join(rubrics)}")
    return rubrics[name]


def _handed_in(judge: Judge) -> Judge:
    return judge
