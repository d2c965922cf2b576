"""What an answer is worth: `dat_reward` (ready made), `make_dat_reward(...)` (or its two halves,
`make_dat_validity(...)` and `make_dat_distance(...)`), `make_sat_reward(...)`,
`make_judge_reward(...)`, `make_idea_reward(...)`, `make_task_reward(...)` and what they are built from.

A name is imported when it is first used; torch, models and dictionaries when the first text is scored.
"""

from __future__ import annotations

if __name__ != "sozo.rewards":
    raise ImportError(f"{__name__} is a folder of sozo's repository; import it as sozo.rewards")

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sozo.rewards.dat import (
        DatReward,
        dat_reward,
        make_dat_distance,
        make_dat_pairing,
        make_dat_rarity,
        make_dat_reward,
        make_dat_validity,
    )
    from sozo.rewards.duplicates import SeenResponses
    from sozo.rewards.ideas import IdeaReward, idea_format_reward, make_idea_reward
    from sozo.rewards.judge import JudgeReward, make_judge_reward
    from sozo.rewards.reward import Reward, ScoredCompletion
    from sozo.rewards.sat import SatReward, make_sat_reward
    from sozo.rewards.task import TaskReward, make_task_reward
    from sozo.tasks.dat.scorer import DatResult, DatScorer, DatScores
    from sozo.tasks.dat.words import DatRules

_NAMES = {
    "sozo.rewards.duplicates": ("SeenResponses",),
    "sozo.rewards.judge": ("JudgeReward", "make_judge_reward"),
    "sozo.rewards.reward": ("Reward", "ScoredCompletion"),
    "sozo.rewards.task": ("TaskReward", "make_task_reward"),
    "sozo.rewards.dat": (
        *("DatReward", "dat_reward", "make_dat_reward"),
        *("make_dat_validity", "make_dat_distance", "make_dat_pairing", "make_dat_rarity"),
    ),
    "sozo.tasks.dat.scorer": ("DatResult", "DatScorer", "DatScores"),
    "sozo.tasks.dat.words": ("DatRules",),
    "sozo.rewards.ideas": ("IdeaReward", "idea_format_reward", "make_idea_reward"),
    "sozo.rewards.sat": ("SatReward", "make_sat_reward"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
