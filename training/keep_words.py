"""A target for the number of different words: a multiplier that rises while there are too few."""

from collections import deque
from collections.abc import Iterable
from typing import Any

_LOWEST, _HIGHEST = 0.01, 100.0


class KeepWords:
    """Follows the different words among the last `of` that all processes drew, and wants `unique` of them.

    The count is at equal n from the first full window on; before that nothing moves. Being 5% short raises the
    multiplier by 5% a step, 5% too many lower it as much; it stays within 0.01 and 100.

    >>> keep = KeepWords(unique=4, of=4)
    >>> keep.update("犬猫"), keep.update("犬海")
    ((None, 1.0), (3, 1.25))
    """

    def __init__(self, unique: int, of: int) -> None:
        self._unique, self._last = unique, deque[str](maxlen=of)
        self.multiplier = 1.0

    def update(self, words: Iterable[str]) -> tuple[int | None, float]:
        """The different words in the window after these were drawn (None until it is full), and the multiplier."""
        self._last.extend(words)
        if len(self._last) < (self._last.maxlen or 0):
            return None, self.multiplier
        unique = len(set(self._last))
        moved = self.multiplier * (1 + (self._unique - unique) / self._unique)
        self.multiplier = min(max(moved, _LOWEST), _HIGHEST)
        return unique, self.multiplier

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep."""
        return {"multiplier": self.multiplier, "last": list(self._last)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from there."""
        self.multiplier = state["multiplier"]
        self._last.clear()
        self._last.extend(state["last"])
