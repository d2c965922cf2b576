"""What a GRPO run can be told about words: whom credit goes to, and how many different ones shall be kept."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_LOWEST, _HIGHEST = 0.01, 100.0


class KeepWords:
    """A multiplier that rises while fewer than `unique` of the last `window` words of all processes are different.

    The words are counted from the first full window on; before that nothing moves. Being 5% short raises the
    multiplier by 5% a step, 5% too many lower it as much; it stays within 0.01 and 100.

    >>> keep = KeepWords(unique=4, window=4)
    >>> keep.update("犬猫"), keep.update("犬海")
    ((None, 1.0), (3, 1.25))
    """

    def __init__(self, unique: int, window: int) -> None:
        self._unique, self._window = unique, window
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
