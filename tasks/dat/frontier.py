"""The frontier: lists of nouns that are as random as they can be at their mean distance, drawn at a chosen strength.

Among all ways of drawing lists with the same mean score, p(list) ~ exp(strength * score) has the greatest entropy. It
is a reference for how far lists can be without falling back on few words, not a bound on different words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.embeddings.derived import random_lists
from sozo.scoring.parse import NUM_WORDS

# Redraws of every word of a list: enough at strength 1000 over 6,144 nouns (ja-ginza), where lists that begin at random
# and lists that begin too far apart meet at a mean of 0.9526.
SWEEPS = 12
_GROUP = 512  # a word is redrawn among so many
_CHAINS, _ROUNDS, _CHUNK = 2048, 3, 512  # of lists that are drawn word by word


def free_lists(
    unit: np.ndarray,
    strength: float,
    count: int,
    rng: np.random.Generator,
    *,
    start: np.ndarray | None = None,
    sweeps: int = SWEEPS,
    size: int = NUM_WORDS,
) -> np.ndarray:
    """Lists of `size` different nouns with p(list) ~ exp(strength * DAT score): int64 rows, shape (count, size).

    `unit` are the nouns' float32 unit vectors, shape (nouns, dimensions), with more nouns than `size`. Words are
    redrawn one at a time, given the others of their list (Gibbs), from a random group of nouns that is the word's own:
    the distribution is kept exactly, and, whatever the groups were, no list depends on another. Lists begin at `start`
    (of the same shape), or at random and hurry at first: a third of the sweeps is at twice the strength. The words'
    order is random at the end.

    >>> free_lists(np.eye(12, dtype=np.float32), 100.0, 2, np.random.default_rng(0)).shape
    (2, 10)
    """
    lists = random_lists(len(unit), count, rng, size) if start is None else start
    total, hurried = unit[lists].sum(axis=1), sweeps // 3 if start is None else 0
    for sweep in range(sweeps):
        pull = np.float32(
            (2 if sweep < hurried else 1) * 2 * strength / (size * (size - 1))
        )
        order = rng.permutation(len(unit))
        place = np.empty_like(order)
        place[order] = np.arange(len(unit))
        # The nouns in the order of their groups, for one sweep
        words = place[lists]
        shuffled = unit[order]
        for k in range(size):
            total -= shuffled[words[:, k]]
            _redraw(shuffled, words, k, -pull * total, rng)
            total += shuffled[words[:, k]]
        lists = order[words]
    return rng.permuted(lists, axis=1)


def _redraw(
    unit: np.ndarray,
    words: np.ndarray,
    k: int,
    field: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Draw word `k` of every list anew among its group, p ~ exp(unit . field), but none of the list's other words."""
    group = words[:, k] // _GROUP
    by_group = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[by_group], np.arange(1, -(-len(unit) // _GROUP)))
    for number, rows in enumerate(np.split(by_group, ends)):
        first = number * _GROUP
        weights = field[rows] @ unit[first : first + _GROUP].T
        taken = words[rows] - first
        taken[:, k] = -1
        row, other = np.nonzero((taken >= 0) & (taken < _GROUP))
        weights[row, taken[row, other]] = -np.inf
        weights -= weights.max(axis=1, keepdims=True, initial=-np.inf)
        summed = np.cumsum(np.exp(weights, out=weights), axis=1, out=weights)
        # Above 0 and at most the sum: a word of weight 0 is never taken.
        threshold = (1 - rng.random(len(rows), np.float32))[:, None] * summed[:, -1:]
        words[rows, k] = first + (summed >= threshold).argmax(axis=1)


def independent_words(
    unit: np.ndarray, strength: float, size: int = NUM_WORDS
) -> np.ndarray:
    """Of lists whose words are drawn independently of one another, all from p, the p nearest to `free_lists`: (nouns,).

    Mean field: p(w) ~ exp(-(2 strength / size) u_w . m) with m the mean vector under p itself; the greatest entropy at
    its mean distance. This m is the minimum of a convex function, found by Newton's method (damped).

    >>> independent_words(np.eye(4, dtype=np.float32), 100.0).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    pull, mean = 2 * strength / size, unit.mean(axis=0, dtype=np.float64)

    def at(mean: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = -pull * (unit @ mean)
        weights = np.exp(exponents - exponents.max())
        value = np.log(weights.sum()) + exponents.max() + pull * mean @ mean / 2
        return float(value), weights / weights.sum()

    value, p = at(mean)
    for _ in range(100):
        expected = p @ unit
        gap = mean - expected
        if np.linalg.norm(gap) < 1e-8:
            break
        spread = (unit * p.astype(np.float32)[:, None]).T @ unit - np.outer(
            expected, expected
        )
        step = np.linalg.solve(np.eye(len(mean)) + pull * spread, gap)
        while (tried := at(mean - step))[0] > value + 1e-12 * abs(
            value
        ) and np.linalg.norm(step) > 1e-12:
            step /= 2
        mean, (value, p) = mean - step, tried
    return p


@dataclass(frozen=True)
class WordByWord:
    """p(word k | words before) ~ exp(bias[k, word] - pull x the sum of its cosines with them), and no word twice."""

    unit: np.ndarray  # float32 unit vectors of the nouns, shape (nouns, dimensions)
    pull: float
    bias: np.ndarray  # float32, shape (places, nouns)

    @classmethod
    def fit(
        cls, unit: np.ndarray, use: np.ndarray, strength: float, size: int = NUM_WORDS
    ) -> "WordByWord":
        """Biases such that in every place words come as often as `use`, shape (nouns,), says, up to sampling.

        `strength` is that of `free_lists`: per unit of the DAT score.
        """
        log_use = np.log(np.maximum(use, 1e-12)).astype(np.float32)
        words = cls(
            unit, 2 * strength / (size * (size - 1)), np.tile(log_use, (size, 1))
        )
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
        before = np.zeros((*lists.shape, self.unit.shape[1]), np.float32)
        before[:, 1:] = np.cumsum(self.unit[lists[:, :-1]], axis=1)
        # One product for all places: it reads the nouns' vectors once.
        cosines = before.reshape(lists.size, -1) @ self.unit.T
        exponents = self.bias - self.pull * cosines.reshape(*lists.shape, -1)
        for k in range(1, lists.shape[1]):
            np.put_along_axis(
                exponents[:, k:], lists[:, k - 1, None, None], -np.inf, axis=2
            )
        return _shares(exponents)

    def _next(self, before: np.ndarray) -> np.ndarray:
        """The distribution of the word that follows, float32, shape (lists, nouns)."""
        exponents = (
            -self.pull * self.unit[before].sum(axis=1)
        ) @ self.unit.T + self.bias[before.shape[1]]
        np.put_along_axis(exponents, before, -np.inf, axis=1)
        return _shares(exponents)


def _shares(exponents: np.ndarray) -> np.ndarray:
    """The softmax over the last axis, in place."""
    exponents -= exponents.max(axis=-1, keepdims=True)
    np.exp(exponents, out=exponents)
    exponents /= exponents.sum(axis=-1, keepdims=True)
    return exponents


def _draw(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    summed = np.cumsum(shares, axis=1, dtype=np.float64)
    # Above 0 and at most the sum: a word of share 0 is never taken.
    threshold = (1 - rng.random(len(shares))) * summed[:, -1]
    return np.count_nonzero(summed < threshold[:, None], axis=1)


class NounFrontier:
    """Those of `nouns` that have a vector, and lists of them; with `encoder`, it counts and not that of `vectors`."""

    def __init__(
        self,
        nouns: Sequence[str],
        vectors: WordVectors,
        encoder: str | None = None,
        language: str = "ja",
    ) -> None:
        vectors = (
            WordVectors(make_encoder(encoder, language=language))
            if encoder
            else vectors
        )
        rows = np.array(vectors.rows(nouns))
        self.nouns = [
            noun for noun, row in zip(nouns, rows.tolist(), strict=True) if row >= 0
        ]
        self.unit = vectors.matrix[rows[rows >= 0]]
        self._vectors, self._left_out = vectors, len(nouns) - len(self.nouns)
        if len(self.nouns) <= NUM_WORDS or len(set(self.nouns)) < len(self.nouns):
            needed = f"the frontier needs more than {NUM_WORDS} distinct nouns that have a vector, each given once"
            raise UserError(
                f"{needed}; {len(set(self.nouns))} of {len(nouns)} have one in {vectors.encoder.name}"
            )

    def draw(
        self, strength: float, count: int, rng: np.random.Generator
    ) -> list[list[str]]:
        """Lists of ten nouns, p(list) ~ exp(strength * score)."""
        return [
            [self.nouns[word] for word in row]
            for row in free_lists(self.unit, strength, count, rng).tolist()
        ]

    def word_by_word(self, strength: float, word_strength: float) -> WordByWord:
        """Lists whose words are used as independent words of `word_strength` are, combined at `strength`."""
        return WordByWord.fit(
            self.unit, independent_words(self.unit, word_strength), strength
        )

    def describe(self) -> dict[str, Any]:
        """What a record must hold to draw them again."""
        return {
            "nouns": len(self.nouns),
            "nouns_without_vector": self._left_out,
            **self._vectors.describe(),
        }
