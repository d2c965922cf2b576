"""Any task's measure as a reward: for whoever brings a task, and for the tasks that pay nothing but a measure."""

from collections.abc import Sequence
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.tasks import task_type
from sozo.tasks.task import Answer, Item, Task


class TaskReward(Reward):
    """A measure of a task, times `scale`; 0 for an answer without a value. See `make_task_reward` for the arguments.

    The items come with the completions: prompts, a column `item` (ids), and the columns that the task's items have.
    """

    def __init__(
        self, task: Task, measure: str | None = None, *, scale: float = 1.0, penalise_duplicates: bool = False
    ) -> None:
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
        rows = self.task.score(items, answers)
        return [
            self.scored(item, answer.text, row.values.get(self.measure), row.reason, **row.facts)
            for item, answer, row in zip(items, answers, rows, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        return {"measure": self.measure, **super().describe(), **self.task.deciding(), **self.task.describe()}


def make_task_reward(
    task: str, measure: str | None = None, *, scale: float = 1.0, penalise_duplicates: bool = False, **settings: Any
) -> TaskReward:
    """A measure of the task with this name as a reward; None takes the task's first measure.

    `scale` is paid per unit of it; with `penalise_duplicates` an answer that this run has given to the same prompt
    before is paid 0; `settings` are fields of the task's `Settings`.

    >>> make_task_reward("sat", "sat/compliant", scale=2.0).__name__
    'sat_reward'
    """
    kind = task_type(task)
    built = kind(settings_of(kind.Settings, settings))
    return TaskReward(built, measure, scale=scale, penalise_duplicates=penalise_duplicates)
