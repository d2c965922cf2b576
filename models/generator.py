"""What a generator is: completions as a function of prompts, seed and batch index; the simplest one is random nouns."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Completion

_NUM_WORDS = 10
_AT_ONCE, _IN_VAIN = 64, 16  # lists drawn anew at least, and how often without one that can be scored

Accepts = Callable[[Sequence[str]], Sequence[bool]]


class Generator(Protocol):
    """Anything that writes responses."""

    name: str  # the responses' source

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None where there is none."""

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One completion for each of `prompts`, equal or not: the same for the same arguments, in any process."""

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: how the texts came about."""


def entropy(seed: int, batch: int) -> list[int]:
    """What seeds batch number `batch`, for `numpy.random.SeedSequence`."""
    if seed < 0 or batch < 0:
        raise UserError(f"seed and batch must not be negative, but are {seed} and {batch}")
    return [seed, batch]


def request_seeds(n: int, seed: int, batch: int) -> list[int]:
    """One seed for each row of a batch, for engines that take one per request. Any JSON reader keeps its 53 bits.

    >>> request_seeds(3, seed=0, batch=1)[:2] == request_seeds(2, seed=0, batch=1)
    True
    """
    state = np.random.SeedSequence(entropy(seed, batch)).generate_state(n, np.uint64)
    return [int(value) >> 11 for value in state]


class RandomNouns:
    """The paper's random baseline (section 5.1.1): ten distinct ones of `nouns`, every ordered choice equally likely.

    With `accepts`, which says of texts whether each can be scored, every choice that can, for the paper's 131,072 lists
    were all valid.

    >>> generator = RandomNouns("犬 猫 水 山 川 本 車 空 海 石 鳥 花".split())
    >>> first, second = generator.answer([""] * 2, seed=1, batch=0)
    >>> len(first.text.splitlines()), generator.answer([""] * 2, seed=1, batch=0) == [first, second]
    (10, True)
    """

    temperature = None

    def __init__(self, nouns: Sequence[str], *, name: str = "random", accepts: Accepts | None = None) -> None:
        if len(nouns) < _NUM_WORDS or len(set(nouns)) < len(nouns):
            raise UserError(f"the random baseline needs {_NUM_WORDS} distinct nouns at least, each given once")
        self.name, self._nouns, self._accepts = name, np.array(nouns, dtype=object), accepts

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """A list of ten nouns for each of `prompts`, whatever they say."""
        rng = np.random.default_rng(entropy(seed, batch))
        lists = self._draw(len(prompts), rng)
        if self._accepts is None:
            return lists
        kept, in_vain = self._accepted(lists), 0
        while len(kept) < len(prompts):
            more = self._accepted(self._draw(max(len(prompts) - len(kept), _AT_ONCE), rng))
            kept, in_vain = kept + more, 0 if more else in_vain + 1
            if in_vain == _IN_VAIN:
                raise UserError(f"hardly any list of these {len(self._nouns):,} nouns can be scored; give other nouns")
        return kept[: len(prompts)]

    def _accepted(self, lists: list[Completion]) -> list[Completion]:
        accepts = self._accepts([one.text for one in lists]) if self._accepts else [True] * len(lists)
        return [one for one, good in zip(lists, accepts, strict=True) if good]

    def _draw(self, count: int, rng: np.random.Generator) -> list[Completion]:
        # No draw is rejected: the k-th is among the nouns left; stepping over the earlier ones, in order, numbers it.
        left = len(self._nouns) - np.arange(_NUM_WORDS)
        numbers = rng.integers(0, left, size=(count, _NUM_WORDS))
        for k in range(1, _NUM_WORDS):
            for earlier in np.sort(numbers[:, :k], axis=1).T:
                numbers[:, k] += numbers[:, k] >= earlier
        return numbered(self._nouns[numbers].tolist())

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"generator": "random", "nouns": len(self._nouns)} | ({"valid_only": True} if self._accepts else {})


def numbered(lists: Sequence[Sequence[str]]) -> list[Completion]:
    """Lists of ten words as the numbered lists that the prompt asks for.

    >>> numbered(["ABCDEFGHIJ"])[0].text.splitlines()[-1]
    '10. J'
    """
    form = "\n".join(f"{k}. %s" for k in range(1, _NUM_WORDS + 1))
    return [Completion(form % tuple(words)) for words in lists]
