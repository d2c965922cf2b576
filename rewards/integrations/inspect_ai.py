"""inspect_ai: `inspect eval sozo/creativity -T name=dat`, or the scorer in a task of yours (docs/integrations.md)."""

from statistics import fmean
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import (
    Score,
    Scorer,
    ScoreReducer,
    Target,
    mean,
    score_reducer,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from sozo.rewards.integrations.core import open_integration


@scorer(metrics=[mean(), stderr()])
def creativity_scorer(name: str = "dat", **settings: Any) -> Scorer:
    """The task's first measure; an answer without one stays unscored, with its reason. Metadata hold all values.

    A sample's metadata say what it asks: `item`, an item's id, or the columns of one. Answers that the task judges
    together stay unscored, each by itself: `epochs_together` scores them.
    """
    integration = open_integration(name, **settings)

    async def score(state: TaskState, target: Target) -> Score:
        if integration.together:
            asked = {"asked": {**state.metadata}}
            return Score.unscored(answer=state.output.completion, metadata=asked)
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


@score_reducer
def epochs_together(name: str = "dat", **settings: Any) -> ScoreReducer:
    """The mean of the task's first measure over a sample's epochs, which are its group; unscored where none has it."""
    integration = open_integration(name, **settings)

    def reduce(scores: list[Score]) -> Score:
        asked = [(score.metadata or {}).get("asked") for score in scores]
        texts = [score.answer or "" for score in scores]
        rows = integration.measure(texts, asked, together=True)
        metadata = {"epochs": [{**row.values, "reason": row.reason} for row in rows]}
        measure = integration.name
        values = [row.values[measure] for row in rows if measure in row.values]
        if not values:
            return Score.unscored(reason=rows[0].reason, metadata=metadata)
        return Score(value=fmean(values), metadata=metadata)

    return reduce


@task
def creativity(name: str = "dat", copies: int = 1, **settings: Any) -> Task:
    """The items of a task, each asked `copies` times (DAT has one item), at the task's own temperature.

    Where answers are judged together, epochs are the group, as many as the task asks for.
    """
    integration = open_integration(name, **settings)
    items = list(integration.items.values()) * copies
    samples = [Sample(item.prompt, metadata={"item": item.id}) for item in items]
    config = GenerateConfig(
        temperature=integration.task.temperature,
        max_tokens=integration.task.max_new_tokens,
    )
    epochs = None
    if integration.together:
        reducer = epochs_together(name, **settings)
        epochs = Epochs(integration.task.answers_per_item, reducer)
    return Task(
        MemoryDataset(samples),
        scorer=creativity_scorer(name, **settings),
        epochs=epochs,
        config=config,
    )
