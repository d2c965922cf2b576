"""DAT rewards: `dat_reward` (ready made), `make_dat_reward(...)` (configured) and what they are built from.

Importing this is cheap: no torch, no model, no dictionary until the first text is scored.
"""

from __future__ import annotations

from rewards.dat import DatResult, DatRules, DatScorer, DatScores
from rewards.duplicates import SeenResponses
from rewards.reward_funcs import DatReward, dat_reward, make_dat_reward

__all__ = [
    "DatResult",
    "DatReward",
    "DatRules",
    "DatScorer",
    "DatScores",
    "SeenResponses",
    "dat_reward",
    "make_dat_reward",
]
