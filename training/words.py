"""What a GRPO run can be told about words: whom credit goes to, and how many different ones shall be kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import setting
from sozo.training.config import CommonArguments

_NO_WORDS = "needs a reward that says what each word earned, such as sozo.rewards.make_dat_distance in reward_funcs"


@dataclass
class WordArguments(CommonArguments):
    """Settings of `sozo.training.word_trainer`; the defaults are TRL's GRPO."""

    credit: str = setting("response", "response, or word: each word's tokens get the advantage of its own share.")
    word_entropy: float = setting(0.0, "Paid per nat of the mean entropy of tokens that write words of valid lists.")
    unique_words: int | None = setting(None, "Keep so many different words: word_entropy and rarity follow the count.")
    unique_words_of: int | None = setting(None, "Among how many words (the last ones drawn) unique_words are counted.")

    @property
    def about_words(self) -> bool:
        """Whether words matter at all."""
        return self.credit != "response" or self.word_entropy != 0 or self.unique_words is not None

    def check_words(self, rewards: Sequence[Any], training: Any) -> None:
        """Refuse what cannot work together with a run's `rewards` and with TRL's settings."""
        if self.credit not in ("response", "word"):
            raise UserError(f"credit must be response or word, not {self.credit}")
        if (self.unique_words is None) != (self.unique_words_of is None):
            raise UserError("unique_words and unique_words_of belong together: 590 different ones of 640, for example")
        if not self.about_words:
            return
        if not any(getattr(reward, "in_parts", False) for reward in rewards):
            raise UserError(f"{self._first} {_NO_WORDS}")
        if self.credit == "word" and (training.loss_type == "vespo" or training.off_policy_mask_threshold is not None):
            raise UserError("credit word has an advantage for each token; take another loss_type, no off_policy_mask")
        if self.unique_words is None:
            return
        if not 0 < self.unique_words <= int(self.unique_words_of or 0):
            raise UserError(f"unique_words {self.unique_words} must be 1 to unique_words_of {self.unique_words_of}")
        if self.word_entropy == 0 and not any(getattr(reward, "keeps_words", False) for reward in rewards):
            raise UserError("unique_words has nothing to turn: set word_entropy, or add sozo.rewards.make_dat_rarity")

    @property
    def _first(self) -> str:
        return "credit word" if self.credit == "word" else "word_entropy" if self.word_entropy else "unique_words"
