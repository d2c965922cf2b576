"""Any task's measure as a reward: for whoever brings a task, and for the tasks that pay nothing but a measure."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of
from sozo.rewards.dat import make_dat_reward
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.rewards.sat import make_sat_reward
from sozo.tasks import task_type
from sozo.tasks.dat.task import Dat
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer, Item, Row, Task

RewardFunc = Callable[..., list[float | None]]
# Of tasks whose reward is more than a measure: what makes it of their settings and its own keyword arguments.
_MAKERS: dict[type[Task], Callable[..., Reward]] = {
    Dat: make_dat_reward,
    Sat: make_sat_reward,
}


class TaskReward(Reward):
    """A measure of a task, times `scale`, and `offset`; 0 for an answer without a value. See `make_task_reward`.

    Of a measure with a scale of which less is better, it pays how far a value is from the most that it can be.

    Of a measure of answers that are judged together an answer is paid its own share. A group is all completions of one
    prompt in one call, whichever process wrote them; each process scores all groups. In GRPO, which subtracts the
    group's mean, groups of two earn nothing where both have the same share, and so do those of which fewer than two
    answers are usable.

    The items come with the completions: prompts, a column `item` (ids), and the columns that the task's items have.
    """

    def __init__(
        self,
        task: Task,
        measure: str | None = None,
        *,
        scale: float = 1.0,
        offset: float = 0.0,
        penalise_duplicates: bool = False,
    ) -> None:
        paid = task.measure_named(measure)
        self.task = task
        self.measure = paid.name
        self.together = paid.together
        self.offset = offset
        self._worst = paid.scale[1] if paid.scale and paid.better < 0 else None
        self.console = (
            (f"mean {self.measure}", f"{task.name}/score", ".4f"),
            (f"{task.name} usable", f"{task.name}/usable", "6.1%"),
        )
        super().__init__(
            f"{task.name}_reward",
            task.name,
            scale=scale,
            penalise_duplicates=penalise_duplicates,
        )

    @property
    def sees_others(self) -> bool:
        """Only where its measure is of answers that are judged together."""
        return self.together

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """See the class; a dataset without a column that the task reads is a UserError."""
        try:
            rows = self.task.score(items, answers)
        except UserError as error:
            raise UserError(f"the reward of {self.task.name}: {error}") from error
        if not self.together:
            return self._paid(items, answers, rows)
        scored = zip(items, answers, rows, strict=True)
        # A key that is taken away says that the answer is not to be remembered.
        return [
            ScoredCompletion(
                one[1].text, None, None, None, facts={"alone": one}, key=b""
            )
            for one in scored
        ]

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        if self.together and completions:
            items, answers, rows = zip(
                *(completion.facts["alone"] for completion in completions), strict=True
            )
            paid = self._paid(
                items, answers, self.task.with_others(items, answers, rows)
            )
            completions = [
                replace(one, key=None) if completion.key is None else one
                for completion, one in zip(completions, paid, strict=True)
            ]
        return super().among(completions)

    def _paid(
        self, items: Sequence[Item], answers: Sequence[Answer], rows: Sequence[Row]
    ) -> list[ScoredCompletion]:
        paid = []
        for item, answer, row in zip(items, answers, rows, strict=True):
            worth = row.values.get(self.measure)
            if worth is not None and self._worst is not None:
                worth = self._worst - worth
            paid.append(self.scored(item, answer.text, worth, row.reason, **row.facts))
        return paid

    def describe(self) -> dict[str, Any]:
        own = {"measure": self.measure, "offset": self.offset}
        return {
            **own,
            **super().describe(),
            **self.task.deciding(),
            **self.task.describe(),
        }


def make_task_reward(
    task: str,
    measure: str | None = None,
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    penalise_duplicates: bool = False,
    **settings: Any,
) -> TaskReward:
    """A measure of the task with this name as a reward; None takes the task's first measure.

    `scale` is paid per unit of it, and `offset` besides. Where a usable answer can be worth less than 0,
    training without an offset makes answers unusable, since those are paid 0. `penalise_duplicates`: an answer that
    this run has given to the same prompt before is paid 0. `settings` are the task's.

    >>> make_task_reward("sat", "sat/compliant", scale=2.0).__name__
    'sat_reward'
    """
    kind = task_type(task)
    built = kind(settings_of(kind.Settings, settings))
    return TaskReward(
        built,
        measure,
        scale=scale,
        offset=offset,
        penalise_duplicates=penalise_duplicates,
    )


def reward_options(kind: type[Task]) -> set[str] | None:
    """Names of the keyword arguments of `reward_of` for tasks of this class; None if no answer is worth anything alone.

    >>> sorted(reward_options(Dat))
    ['penalise_duplicates', 'scale', 'seen_as']
    """
    maker = _maker(kind)
    if maker is None:
        return None
    parameters = inspect.signature(maker).parameters.values()
    return {
        known.name for known in parameters if known.kind is not known.VAR_KEYWORD
    } - {"self", "task", "build"}


def reward_of(task: Task, **options: Any) -> RewardFunc:
    """The reward of a task: what its own method `reward` gives, or sozo's of this task, or else its first measure."""
    maker = _maker(type(task))
    if maker is None:
        raise UserError(
            f"{task.name}: no answer is worth anything alone; take another reward, such as a judge's"
        )
    return (
        maker(**asdict(task.settings), **options)
        if maker in _MAKERS.values()
        else maker(task, **options)
    )


def _maker(kind: type[Task]) -> Callable[..., RewardFunc] | None:
    """What is called with a task, or with its settings if it is one of `_MAKERS`."""
    own = getattr(kind, "reward", None)
    ready = next(
        (make for known, make in _MAKERS.items() if issubclass(kind, known)), None
    )
    return own or ready or (None if kind.score is Task.score else TaskReward)
