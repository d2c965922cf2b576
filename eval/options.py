"""What the commands of evaluation can be told beside a task's and a generator's own settings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from data.errors import UserError
from data.settings import setting
from rewards.task import Item, Task


@dataclass(frozen=True)
class SamplingOptions:
    """How many answers, and from which randomness. A task that asks one thing takes responses or trials."""

    num_responses: int | None = setting(None, "Answers in all, valid or not (DAT; the paper's Table 11: 131072).")
    trials: int | None = setting(None, "Valid answers: the benchmark (DAT; the paper: 100, which is the default).")
    num_answers: int = setting(1, "Answers to each item (JCQ's questions, SAT's stories).")
    seed: int = setting(0, "Seed; a batch's randomness is a function of this and the batch's number.")
    batch_size: int = setting(0, "Answers per batch and per parquet part (0: the task's own).")

    def settled(self, task: Task, items: Sequence[Item]) -> Self:
        """With the task's defaults filled in: of one item 100 trials, and no batch larger than the trials."""
        for name, least in (("num_responses", 1), ("trials", 1), ("num_answers", 1), ("seed", 0), ("batch_size", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UserError(f"{name} must be at least {least}, not {value}")
        if self.num_responses is not None and self.trials is not None:
            raise UserError("give either num_responses (in all) or trials (valid ones), not both")
        batch_size = self.batch_size or task.batch_size
        if len(items) > 1:
            return replace(self, num_responses=None, trials=None, batch_size=batch_size)
        trials = 100 if self.num_responses is None and self.trials is None else self.trials
        return replace(self, trials=trials, num_answers=1, batch_size=min(batch_size, trials or batch_size))

    def count(self, items: Sequence[Item]) -> int:
        """Answers to draw, of a benchmark of trials at the most."""
        if len(items) > 1:
            return len(items) * self.num_answers
        return self.num_responses or max(20 * (self.trials or 0), 2048)


@dataclass(frozen=True)
class ResultOptions:
    """Where results go beside their folder."""

    wandb: bool | None = setting(
        None, "Log results into the W&B run that trained the model (default: if there is one; --wandb: else a new run)."
    )
    model_card: bool = setting(
        False, "Put results into the metadata of README.md in the model's folder, in place of its earlier ones."
    )
