"""What an answer is worth: `dat_reward` (by the default settings), `make_dat_reward(...)` (or its two halves,
`make_dat_usable(...)` and `make_dat_distance(...)`), `make_sat_reward(...)`,
`make_judge_reward(...)`, `make_diverse_reward(...)`, `make_placebo(...)`, `make_task_reward(...)` and what they are built from.

torch, models and dictionaries are loaded when the first text is scored.
"""

if __name__ != "sozo.rewards":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.rewards"
    )

from sozo.rewards.dat import (
    dat_reward,
    make_dat_distance,
    make_dat_pairing,
    make_dat_rarity,
    make_dat_reward,
    make_dat_usable,
)
from sozo.rewards.diverse import make_diverse_reward
from sozo.rewards.duplicates import SeenAnswers
from sozo.rewards.judge import make_judge_reward
from sozo.rewards.placebo import make_placebo
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.rewards.sat import make_sat_reward
from sozo.rewards.task import make_task_reward

__all__ = [
    "Reward",
    "ScoredCompletion",
    "SeenAnswers",
    "dat_reward",
    "make_dat_distance",
    "make_dat_pairing",
    "make_dat_rarity",
    "make_dat_reward",
    "make_dat_usable",
    "make_diverse_reward",
    "make_judge_reward",
    "make_placebo",
    "make_sat_reward",
    "make_task_reward",
]
