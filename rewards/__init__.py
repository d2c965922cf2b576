"""What an answer is worth: `dat_reward` (ready made), `make_dat_reward(...)`, `make_sat_reward(...)`,
`make_judge_reward(...)`, `make_task_reward(...)` and what they are built from.

Importing this costs nothing: a name is imported when it is first used; torch, models and dictionaries when the first
text is scored.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewards.duplicates import SeenResponses
    from rewards.judges.reward import JudgeReward, make_judge_reward
    from rewards.reward import Reward, ScoredCompletion
    from rewards.task_reward import TaskReward, make_task_reward
    from rewards.tasks.dat.reward import DatReward, dat_reward, make_dat_reward
    from rewards.tasks.dat.scorer import DatResult, DatScorer, DatScores
    from rewards.tasks.dat.settings import DatRules
    from rewards.tasks.sat.reward import SatReward, make_sat_reward

_HOMES = {
    "DatResult": "rewards.tasks.dat.scorer",
    "DatReward": "rewards.tasks.dat.reward",
    "DatRules": "rewards.tasks.dat.settings",
    "DatScorer": "rewards.tasks.dat.scorer",
    "DatScores": "rewards.tasks.dat.scorer",
    "JudgeReward": "rewards.judges.reward",
    "Reward": "rewards.reward",
    "SatReward": "rewards.tasks.sat.reward",
    "ScoredCompletion": "rewards.reward",
    "SeenResponses": "rewards.duplicates",
    "TaskReward": "rewards.task_reward",
    "dat_reward": "rewards.tasks.dat.reward",
    "make_dat_reward": "rewards.tasks.dat.reward",
    "make_judge_reward": "rewards.judges.reward",
    "make_sat_reward": "rewards.tasks.sat.reward",
    "make_task_reward": "rewards.task_reward",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
