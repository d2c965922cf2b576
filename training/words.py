"""Whom a GRPO run credits for words: a setting, and what it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sozo.data.errors import UserError
from sozo.data.settings import setting


@dataclass
class WordArguments:
    """The setting of `sozo.training.word_trainer`; the default is TRL's GRPO."""

    credit: Literal["answer", "word"] = setting(
        "answer",
        "answer, or word: each word's tokens get the advantage of its own share.",
    )

    def decide_words(self, rewards: Sequence[Any], training: Any) -> bool:
        """Whether words are credited; refuses what cannot work with the rewards and with TRL's settings."""
        if self.credit == "answer":
            return False
        if not any(getattr(reward, "in_parts", False) for reward in rewards):
            raise UserError(
                "credit word needs a reward that says what each word earned, such as sozo.rewards.make_dat_distance in "
                "reward_funcs"
            )
        if (
            training.loss_type == "vespo"
            or training.off_policy_mask_threshold is not None
        ):
            raise UserError(
                "credit word has an advantage for each token; take another loss_type, no off_policy_mask"
            )
        return True
