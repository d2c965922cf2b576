"""DAT rewards: `dat_reward` (ready made), `make_dat_reward(...)` (configured) and what they are built from.

Importing this costs nothing: a name is imported when it is first used; torch, models and dictionaries when the first
text is scored.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewards.dat import DatResult, DatRules, DatScorer, DatScores
    from rewards.duplicates import SeenResponses
    from rewards.reward_funcs import DatReward, dat_reward, make_dat_reward

_HOMES = {
    "DatResult": "rewards.dat",
    "DatReward": "rewards.reward_funcs",
    "DatRules": "rewards.dat",
    "DatScorer": "rewards.dat",
    "DatScores": "rewards.dat",
    "SeenResponses": "rewards.duplicates",
    "dat_reward": "rewards.reward_funcs",
    "make_dat_reward": "rewards.reward_funcs",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
