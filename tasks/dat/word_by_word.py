"""Lists drawn word by word, each word away from those before it, with a chosen use of the words.

Where `frontier.free_lists` lets strength choose words and their company at once, here the use of words is given, and
strength says only how they are combined. Each word's distribution, given the words before it, is known: a model can be
taught it whole (`sozo.training.word_targets`), of which one drawn word tells next to nothing.
"""

from dataclasses import dataclass

import numpy as np

from sozo.scoring.parse import NUM_WORDS

_CHAINS, _ROUNDS, _CHUNK = 2048, 3, 512


@dataclass(frozen=True)
class WordByWord:
    """p(word k | words before) ~ exp(bias[k, word] - pull x the sum of its cosines with them), and no word twice."""

    unit: np.ndarray  # float32 unit vectors of the nouns, shape (nouns, dimensions)
    pull: float
    bias: np.ndarray  # float32, shape (places, nouns)

    @classmethod
    def fit(cls, unit: np.ndarray, use: np.ndarray, strength: float, size: int = NUM_WORDS) -> "WordByWord":
        """Biases such that in every place words come as often as `use`, shape (nouns,), says, up to sampling.

        `strength` is that of `free_lists`: per unit of the DAT score.
        """
        log_use = np.log(np.maximum(use, 1e-12)).astype(np.float32)
        words = cls(unit, 2 * strength / (size * (size - 1)), np.tile(log_use, (size, 1)))
        rng, lists = np.random.default_rng(0), np.empty((_CHAINS, 0), np.int64)
        for k in range(size):
            for _ in range(_ROUNDS):
                shares = words._next(lists).mean(axis=0)
                words.bias[k] += log_use - np.log(np.maximum(shares, 1e-12))
            lists = np.column_stack([lists, _draw(words._next(lists), rng)])
        return words

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Lists as numbers of nouns, int64, shape (count, places)."""
        chunks = []
        for start in range(0, count, _CHUNK):
            lists = np.empty((min(_CHUNK, count - start), 0), np.int64)
            for _ in self.bias:
                lists = np.column_stack([lists, _draw(self._next(lists), rng)])
            chunks.append(lists)
        return np.concatenate([np.empty((0, len(self.bias)), np.int64), *chunks])

    def targets(self, lists: np.ndarray) -> np.ndarray:
        """The distribution that each word of `lists`, shape (lists, places), was drawn from: (lists, places, nouns).

        >>> words = WordByWord.fit(np.eye(3, dtype=np.float32), np.full(3, 1 / 3), 1.0, size=2)
        >>> words.targets(np.array([[0, 1]])).astype(float).round(1).tolist()
        [[[0.3, 0.3, 0.3], [0.0, 0.5, 0.5]]]
        """
        return np.stack([self._next(lists[:, :k]) for k in range(len(self.bias))], axis=1)

    def _next(self, before: np.ndarray) -> np.ndarray:
        """The distribution of the word that follows, float32, shape (lists, nouns)."""
        exponents = self.unit[before].sum(axis=1) @ (-self.pull * self.unit.T) + self.bias[before.shape[1]]
        np.put_along_axis(exponents, before, -np.inf, axis=1)
        exponents -= exponents.max(axis=1, keepdims=True)
        weights = np.exp(exponents, out=exponents)
        return weights / weights.sum(axis=1, keepdims=True)


def _draw(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    summed = np.cumsum(shares, axis=1, dtype=np.float64)
    # Above 0 and at most the sum: a word of share 0 is never taken.
    drawn = (1 - rng.random(len(shares))) * summed[:, -1]
    return np.count_nonzero(summed < drawn[:, None], axis=1)
