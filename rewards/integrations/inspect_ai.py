"""inspect_ai: `inspect eval sozo/creativity -T name=dat`, or the scorer in a task of yours (docs/integrations.md)."""

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from sozo.rewards.integrations.core import open_integration


@scorer(metrics=[mean(), stderr()])
def creativity_scorer(name: str = "dat", **settings: Any) -> Scorer:
    """The task's first measure; an answer without one stays unscored, with its reason. Metadata hold all values.

    A sample's metadata say what it asks: `item`, an item's id, or the columns of one.
    """
    integration = open_integration(name, **settings)

    async def score(state: TaskState, target: Target) -> Score:
        (row,) = integration.measure(
            [state.output.completion], [state.metadata], [state.input_text]
        )
        metadata = {**row.values, "reason": row.reason}
        if integration.name not in row.values:
            return Score.unscored(
                reason=row.reason, answer=state.output.completion, metadata=metadata
            )
        return Score(
            value=row.values[integration.name],
            answer=state.output.completion,
            metadata=metadata,
        )

    return score


@task
def creativity(name: str = "dat", copies: int = 1, **settings: Any) -> Task:
    """The items of a task, each asked `copies` times (DAT has one item), at the task's own temperature."""
    integration = open_integration(name, **settings)
    items = list(integration.items.values()) * copies
    samples = [Sample(item.prompt, metadata={"item": item.id}) for item in items]
    config = GenerateConfig(
        temperature=integration.task.temperature,
        max_tokens=integration.task.max_new_tokens,
    )
    return Task(
        MemoryDataset(samples),
        scorer=creativity_scorer(name, **settings),
        config=config,
    )
