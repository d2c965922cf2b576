"""The paper's random baseline as a generator: whatever it is asked, it answers with a list of ten nouns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from data.errors import UserError
from data.schema import Completion
from generate.protocol import entropy

NUM_WORDS = 10
_LIST = "\n".join(f"{k}. %s" for k in range(1, NUM_WORDS + 1))


class RandomNouns:
    """The paper's random baseline (section 5.1.1): ten distinct ones of `nouns`, every ordered choice equally likely.

    >>> generator = RandomNouns("犬 猫 水 山 川 本 車 空 海 石 鳥 花".split())
    >>> first, second = generator.answer([""] * 2, seed=1, batch=0)
    >>> len(first.text.splitlines()), generator.answer([""] * 2, seed=1, batch=0) == [first, second]
    (10, True)
    """

    temperature = None

    def __init__(self, nouns: Sequence[str], *, name: str = "random") -> None:
        if len(nouns) < NUM_WORDS or len(set(nouns)) < len(nouns):
            raise UserError(f"the random baseline needs {NUM_WORDS} distinct nouns at least, each given once")
        self.name, self._nouns = name, np.array(nouns, dtype=object)

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """A list of ten nouns for each of `prompts`, whatever they say."""
        # Without rejecting any draw: the k-th is among the nouns that are left, and stepping over the earlier ones, in
        # order, gives its number.
        left = len(self._nouns) - np.arange(NUM_WORDS)
        numbers = np.random.default_rng(entropy(seed, batch)).integers(0, left, size=(len(prompts), NUM_WORDS))
        for k in range(1, NUM_WORDS):
            for earlier in np.sort(numbers[:, :k], axis=1).T:
                numbers[:, k] += numbers[:, k] >= earlier
        return [Completion(_LIST % tuple(row)) for row in self._nouns[numbers].tolist()]

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"generator": "random", "nouns": len(self._nouns)}
