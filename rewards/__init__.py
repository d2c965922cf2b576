"""What an answer is worth: `dat_reward` (ready made), `make_dat_reward(...)` (or its two halves,
`make_dat_usable(...)` and `make_dat_distance(...)`), `make_sat_reward(...)`,
`make_judge_reward(...)`, `make_idea_reward(...)`, `make_task_reward(...)` and what they are built from.

torch, models and dictionaries are loaded when the first text is scored.
"""

if __name__ != "sozo.rewards":
    raise ImportError(
        f"{__name__} is a folder of sozo's repository; import it as sozo.rewards"
    )

from sozo.rewards.dat import (
    DatReward,
    dat_reward,
    make_dat_distance,
    make_dat_pairing,
    make_dat_placebo,
    make_dat_rarity,
    make_dat_reward,
    make_dat_usable,
)
from sozo.rewards.duplicates import SeenAnswers
from sozo.rewards.ideas import IdeaReward, idea_format_reward, make_idea_reward
from sozo.rewards.judge import JudgeReward, make_judge_reward
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.rewards.sat import SatReward, make_sat_reward
from sozo.rewards.task import TaskReward, make_task_reward
from sozo.tasks.dat.scorer import DatResult, DatScorer, DatScores
from sozo.tasks.dat.words import DatRules

__all__ = [
    *(
        "DatReward",
        "DatResult",
        "DatRules",
        "DatScorer",
        "DatScores",
        "IdeaReward",
        "JudgeReward",
        "Reward",
    ),
    *(
        "SatReward",
        "ScoredCompletion",
        "SeenAnswers",
        "TaskReward",
        "dat_reward",
        "idea_format_reward",
    ),
    *(
        "make_dat_distance",
        "make_dat_pairing",
        "make_dat_placebo",
        "make_dat_rarity",
        "make_dat_reward",
    ),
    *(
        "make_dat_usable",
        "make_idea_reward",
        "make_judge_reward",
        "make_sat_reward",
        "make_task_reward",
    ),
]
