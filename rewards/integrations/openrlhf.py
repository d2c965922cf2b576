"""OpenRLHF: a file with `reward_func = make_reward_func("dat")` is its `--reward.remote_url` (docs/integrations.md)."""

from collections.abc import Callable, Sequence
from typing import Any

from sozo.rewards.integrations.core import Integration
from sozo.rewards.reward import ScoredCompletion


def make_reward_func(
    task: str = "dat", **settings: Any
) -> Callable[..., dict[str, Any]]:
    """A `reward_func(queries, prompts, labels)` of its own history, as OpenRLHF calls it with lists of one.

    A label is empty, an item's id, or JSON with the item's columns and `split`. See `reply_of` for what it returns.

    >>> reward_func = make_reward_func("dat", noun_checker="jumandic")
    >>> reward_func(["[INST] 名詞を? [/INST] 1. 犬</s>"], ["[INST] 名詞を? [/INST]"], [""])["reasons"]
    ['format']
    """
    integration = Integration(task, **settings)

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
    ) -> dict[str, Any]:
        return reply_of(integration.pay(queries, labels, prompts, whole=True))

    return reward_func


def reply_of(paid: Sequence[ScoredCompletion]) -> dict[str, Any]:
    """`rewards`; `scores`, the task's measure and 0 without one; `extra_logs`, shares; and `reasons`, not logged.

    OpenRLHF makes tensors of all extra logs, so that a reason's text cannot be one.
    """
    logs = {
        "usable": [float(completion.score is not None) for completion in paid],
        "duplicate": [float(completion.duplicate) for completion in paid],
    }
    return {
        "rewards": [completion.reward for completion in paid],
        "scores": [completion.score or 0.0 for completion in paid],
        "extra_logs": logs,
        "reasons": [completion.reason for completion in paid],
    }
