"""The paper's random baseline as a generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from data.completion import Completion
from generate.protocol import entropy

NUM_WORDS = 10
_LIST = "\n".join(f"{k}. %s" for k in range(1, NUM_WORDS + 1))


class RandomNouns:
    """The paper's random baseline (section 5.1.1): ten distinct nouns, every ordered choice equally likely.

    Args:
        nouns: Distinct nouns to choose from, ten at least (`data.nouns.load_nouns()`).
        name: The responses' source.

    Raises:
        ValueError: Fewer than ten nouns, or one comes twice.

    >>> generator = RandomNouns("犬 猫 水 山 川 本 車 空 海 石 鳥 花".split())
    >>> one, two = generator.generate(2, seed=1, batch=0)
    >>> len(one.text.splitlines()), generator.generate(2, seed=1, batch=0) == [one, two]
    (10, True)
    """

    temperature = None

    def __init__(self, nouns: Sequence[str], *, name: str = "random") -> None:
        if len(nouns) < NUM_WORDS or len(set(nouns)) < len(nouns):
            raise ValueError(f"the random baseline needs {NUM_WORDS} distinct nouns at least, each given once")
        self.name = name
        self._nouns = np.array(nouns, dtype=object)

    def generate(self, n: int, seed: int, batch: int) -> list[Completion]:
        """`n` lists of ten nouns."""
        rows = self._nouns[self._draw(n, np.random.default_rng(entropy(seed, batch)))]
        return [Completion(_LIST % tuple(row)) for row in rows.tolist()]

    def _draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Distinct numbers of nouns, shape (n, 10), without rejecting any draw.

        The k-th draw is among the nouns that are left; stepping over the earlier ones, in order, gives its number.
        """
        drawn = random.integers(0, len(self._nouns) - np.arange(NUM_WORDS), size=(n, NUM_WORDS))
        for k in range(1, NUM_WORDS):
            taken = np.sort(drawn[:, :k], axis=1)
            for j in range(k):
                drawn[:, k] += drawn[:, k] >= taken[:, j]
        return drawn

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"generator": "random", "nouns": len(self._nouns)}
