"""What a GRPO run can be told about words: whom credit goes to, and how many different ones shall be kept."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import setting

_LOWEST = 0.01
_HIGHEST = 100.0


class KeepWords:
    """A multiplier that rises while fewer than `unique` of the last `window` words of all processes are different.

    The words are counted from the first full window on; before that nothing moves. Being 5% short raises the
    multiplier by 5% a step, 5% too many lower it as much; it stays within 0.01 and 100.

    >>> keep = KeepWords(unique=4, window=4)
    >>> keep.update("犬猫"), keep.update("犬海")
    ((None, 1.0), (3, 1.25))
    """

    def __init__(self, unique: int, window: int) -> None:
        self._unique = unique
        self._window = window
        self._last = deque[str](maxlen=window)
        self.multiplier = 1.0

    def update(self, words: Iterable[str]) -> tuple[int | None, float]:
        """The different words in the window after these were drawn (None until it is full), and the multiplier."""
        self._last.extend(words)
        if len(self._last) < self._window:
            return None, self.multiplier
        unique = len(set(self._last))
        moved = self.multiplier * (1 + (self._unique - unique) / self._unique)
        self.multiplier = min(max(moved, _LOWEST), _HIGHEST)
        return unique, self.multiplier

    def state(self) -> dict[str, Any]:
        """The state that a checkpoint must keep."""
        return {"multiplier": self.multiplier, "last": list(self._last)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` gave."""
        self.multiplier, self._last = (
            state["multiplier"],
            deque(state["last"], maxlen=self._window),
        )


@dataclass(frozen=True)
class Words:
    """What `sozo.training.word_trainer` does, decided."""

    by_word: bool  # each word's tokens get the advantage of its own share
    entropy: float  # paid per nat of the mean entropy of tokens that write words
    keep: KeepWords | None = None  # turns the weights of entropy and rarity


@dataclass
class WordArguments:
    """Settings of `sozo.training.word_trainer`; the defaults are TRL's GRPO."""

    credit: str = setting(
        "answer",
        "answer, or word: each word's tokens get the advantage of its own share.",
    )
    word_entropy: float = setting(
        0.0,
        "Reward per nat of the mean entropy of tokens that write words of usable lists.",
    )
    different_words: int | None = setting(
        None, "Keep so many different words: word_entropy and rarity follow the count."
    )
    different_words_of: int | None = setting(
        None, "Among how many words (the last ones drawn) different_words are counted."
    )

    def decide_words(
        self, of_entries: Sequence[Sequence[Any]], training: Any
    ) -> Words | None:
        """What is done about words; None where it is TRL's GRPO.

        Refuses what cannot work together with the rewards of a run's entries and with TRL's settings.
        """
        rewards = [reward for of_entry in of_entries for reward in of_entry]
        unique = self.different_words
        window = self.different_words_of
        if self.credit not in ("answer", "word"):
            raise UserError(f"credit must be answer or word, not {self.credit}")
        if (unique is None) != (window is None):
            raise UserError(
                "different_words and different_words_of belong together: 590 different ones of 640, for example"
            )
        by_word = self.credit == "word"
        if not by_word and not self.word_entropy and unique is None:
            return None
        if not any(getattr(reward, "in_parts", False) for reward in rewards):
            name = (
                "credit word"
                if by_word
                else "word_entropy"
                if self.word_entropy
                else "different_words"
            )
            example = "such as sozo.rewards.make_dat_distance in reward_funcs"
            raise UserError(
                f"{name} needs a reward that says what each word earned, {example}"
            )
        if by_word and any(
            all(getattr(reward, "in_parts", False) for reward in of_entry)
            for of_entry in of_entries
        ):
            raise UserError(
                "credit word rewards words of usable lists, so an unusable list teaches nothing; "
                "add a reward of the answer beside it, such as sozo.rewards.make_dat_usable in reward_funcs"
            )
        if by_word and (
            training.loss_type == "vespo"
            or training.off_policy_mask_threshold is not None
        ):
            raise UserError(
                "credit word has an advantage for each token; take another loss_type, no off_policy_mask"
            )
        if unique is None or window is None:
            return Words(by_word, self.word_entropy)
        if not 0 < unique <= window:
            raise UserError(
                f"different_words {unique} must be 1 to different_words_of {window}"
            )
        if not self.word_entropy and not any(
            getattr(reward, "keeps_words", False) for reward in rewards
        ):
            raise UserError(
                "different_words has nothing to turn: set word_entropy, or add sozo.rewards.make_dat_rarity"
            )
        return Words(by_word, self.word_entropy, KeepWords(unique, window))
