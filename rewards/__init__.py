"""What an answer is worth: `dat_reward` (ready made), `make_dat_reward(...)` (or its two halves,
`make_dat_validity(...)` and `make_dat_distance(...)`), `make_sat_reward(...)`,
`make_judge_reward(...)`, `make_idea_reward(...)`, `make_task_reward(...)` and what they are built from.

A name is imported when it is first used; torch, models and dictionaries when the first text is scored.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewards.duplicates import SeenResponses
    from rewards.judges.reward import JudgeReward, make_judge_reward
    from rewards.reward import Reward, ScoredCompletion
    from rewards.task_reward import TaskReward, make_task_reward
    from rewards.tasks.dat.apart import make_dat_distance, make_dat_validity
    from rewards.tasks.dat.combination import make_dat_combination
    from rewards.tasks.dat.rarity import make_dat_rarity
    from rewards.tasks.dat.reward import DatReward, dat_reward, make_dat_reward
    from rewards.tasks.dat.scorer import DatResult, DatRules, DatScorer, DatScores
    from rewards.tasks.pbig.reward import IdeaReward, idea_format_reward, make_idea_reward
    from rewards.tasks.sat.reward import SatReward, make_sat_reward

_NAMES = {
    "rewards.duplicates": ("SeenResponses",),
    "rewards.judges.reward": ("JudgeReward", "make_judge_reward"),
    "rewards.reward": ("Reward", "ScoredCompletion"),
    "rewards.task_reward": ("TaskReward", "make_task_reward"),
    "rewards.tasks.dat.apart": ("make_dat_distance", "make_dat_validity"),
    "rewards.tasks.dat.combination": ("make_dat_combination",),
    "rewards.tasks.dat.rarity": ("make_dat_rarity",),
    "rewards.tasks.dat.reward": ("DatReward", "dat_reward", "make_dat_reward"),
    "rewards.tasks.dat.scorer": ("DatResult", "DatRules", "DatScorer", "DatScores"),
    "rewards.tasks.pbig.reward": ("IdeaReward", "idea_format_reward", "make_idea_reward"),
    "rewards.tasks.sat.reward": ("SatReward", "make_sat_reward"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
