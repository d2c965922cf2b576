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
from sozo.tasks.task import Answer, Item, Task

RewardFunc = Callable[..., list[float | None]]
# Of tasks whose reward is more than a measure: what makes it of their settings and its own keyword arguments.
_MAKERS: dict[type[Task], Callable[..., Reward]] = {Dat: make_dat_reward, Sat: make_sat_reward}


class TaskReward(Reward):
    """A measure of a task, times `scale`, and `offset`; 0 for an answer without a value. See `make_task_reward`.

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
        self.offset = offset
        names = [known.name for known in task.measures]
        self.task, self.measure = task, measure or names[0]
        if self.measure not in names:
            raise UserError(f"{task.name} has no measure {self.measure}; it has {', '.join(names)}")
        self.console = (
            (f"mean {self.measure}", f"{task.name}/mean_score", ".4f"),
            (f"{task.name} valid", f"{task.name}/valid_rate", "6.1%"),
        )
        super().__init__(f"{task.name}_reward", task.name, scale=scale, penalise_duplicates=penalise_duplicates)

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        completions = []
        for item, answer, row in zip(items, answers, self.task.score(items, answers), strict=True):
            completion = self.scored(item, answer.text, row.values.get(self.measure), row.reason, **row.facts)
            if completion.score is not None:
                completion = replace(completion, reward=self.scale * completion.score + self.offset)
            completions.append(completion)
        return completions

    def describe(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "offset": self.offset,
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

    `scale` is paid per unit of it, and `offset` besides. Where a valid answer can be worth less than 0, as in cue DAT
    and one-kana DAT, training without an offset makes answers invalid, since those are paid 0. `penalise_duplicates`:
    an answer that this run has given to the same prompt before is paid 0. `settings` are the task's.

    >>> make_task_reward("sat", "sat/compliant", scale=2.0).__name__
    'sat_reward'
    """
    kind = task_type(task)
    built = kind(settings_of(kind.Settings, settings))
    return TaskReward(built, measure, scale=scale, offset=offset, penalise_duplicates=penalise_duplicates)


def reward_options(kind: type[Task]) -> set[str] | None:
    """Names of the keyword arguments of `reward_of` for tasks of this class; None if no answer is worth anything alone.

    >>> sorted(reward_options(Dat))
    ['penalise_duplicates', 'scale']
    """
    maker = _maker(kind)
    if maker is None:
        return None
    parameters = inspect.signature(maker).parameters.values()
    return {known.name for known in parameters if known.kind is not known.VAR_KEYWORD} - {"self", "task"}


def reward_of(task: Task, **options: Any) -> RewardFunc:
    """The reward of a task: what its own method `reward` gives, or sozo's of this task, or else its first measure."""
    maker = _maker(type(task))
    if maker is None:
        raise UserError(f"{task.name}: no answer is worth anything alone; take another reward, such as a judge's")
    return maker(**asdict(task.settings), **options) if maker in _MAKERS.values() else maker(task, **options)


def _maker(kind: type[Task]) -> Callable[..., RewardFunc] | None:
    """What is called with a task, or with its settings if it is one of `_MAKERS`."""
    own = getattr(kind, "reward", None)
    ready = next((make for known, make in _MAKERS.items() if issubclass(kind, known)), None)
    return own or ready or (None if kind.score is Task.score else TaskReward)
