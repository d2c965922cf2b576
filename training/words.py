"""Whom a GRPO run credits for words: a setting, and what it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import setting


@dataclass
class WordArguments:
    """The setting of `sozo.training.word_trainer`; the default is TRL's GRPO."""

    credit: str = setting(
        "answer",
        "answer, or word: each word's tokens get the advantage of its own share.",
    )

    def decide_words(self, of_entries: Sequence[Sequence[Any]], training: Any) -> bool:
        """Whether words are credited; refuses what cannot work with the rewards of each entry and with TRL's settings."""
        if self.credit not in ("answer", "word"):
            raise UserError(f"credit must be answer or word, not {self.credit}")
        if self.credit == "answer":
            return False
        in_parts = [
            [getattr(reward, "in_parts", False) for reward in of_entry]
            for of_entry in of_entries
        ]
        if not any(map(any, in_parts)):
            raise UserError(
                "credit word needs a reward that says what each word earned, such as sozo.rewards.make_dat_distance in "
                "reward_funcs"
            )
        if any(map(all, in_parts)):
            raise UserError(
                "credit word rewards words of usable lists, so an unusable list teaches nothing; "
                "add a reward of the answer beside it, such as sozo.rewards.make_dat_usable in reward_funcs"
            )
        if (
            training.loss_type == "vespo"
            or training.off_policy_mask_threshold is not None
        ):
            raise UserError(
                "credit word has an advantage for each token; take another loss_type, no off_policy_mask"
            )
        return True
