"""The frontier of a list of nouns under an encoder, for the generator `frontier` and `sozo frontier`."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.embeddings.reference import random_lists
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.dat.frontier import free_lists, independent_words
from sozo.tasks.dat.frontier_point import FrontierPoint, frontier_point, independent_place
from sozo.tasks.dat.word_by_word import WordByWord


class NounFrontier:
    """Those of `nouns` that have a vector, and lists of them; with `encoder`, it counts and not that of `vectors`."""

    def __init__(self, nouns: Sequence[str], vectors: WordVectors, encoder: str | None = None) -> None:
        vectors = WordVectors(make_encoder(encoder)) if encoder else vectors
        rows = np.array(vectors.rows(nouns))
        self.nouns = [noun for noun, row in zip(nouns, rows.tolist(), strict=True) if row >= 0]
        self.unit = vectors.matrix[rows[rows >= 0]]
        self._vectors, self._left_out = vectors, len(nouns) - len(self.nouns)
        if len(self.nouns) <= NUM_WORDS or len(set(self.nouns)) < len(self.nouns):
            needed = f"the frontier needs more than {NUM_WORDS} distinct nouns that have a vector, each given once"
            raise UserError(f"{needed}; {len(set(self.nouns))} of {len(nouns)} have one in {vectors.encoder.name}")

    def draw(self, strength: float, count: int, rng: np.random.Generator) -> list[list[str]]:
        """Lists of ten nouns, p(list) ~ exp(strength * score)."""
        return [[self.nouns[word] for word in row] for row in free_lists(self.unit, strength, count, rng).tolist()]

    def word_by_word(self, strength: float, word_strength: float) -> WordByWord:
        """Lists whose words are used as independent words of `word_strength` are, combined at `strength`."""
        return WordByWord.fit(self.unit, independent_words(self.unit, word_strength), strength)

    def strengths(self) -> list[float]:
        """What suits the encoder: multiples of 1 over the standard deviation of random lists' scores, up to 64."""
        lists = random_lists(len(self.nouns), 4096, np.random.default_rng(0))
        deviation = float(mean_pairwise_distance(self.unit, lists).std(dtype=np.float64))
        return [float(f"{times / deviation:.2g}") for times in (0, 1, 2, 4, 8, 16, 32, 64)]

    def point(self, strength: float, lists: int, seed: int, *, free: bool) -> FrontierPoint:
        """Both frontiers at this strength, or that of independent words alone, in tables of so many `lists`."""
        return frontier_point(self.unit, strength, lists, np.random.default_rng(seed), free=free)

    def mean_at(self, unique_words: float, lists: int) -> float | None:
        """Mean score of `lists` lists of independent words that have so many unique words; None beyond the curve.

        Between two strengths it is interpolated. Unique words grow with the lists: give the number of the model's.
        """
        if lists < 2:
            return None
        places = (independent_place(self.unit, p, lists, np.random.default_rng(0)) for p in self._independent)
        curve = sorted((place.unique_words, place.mean) for place in places if place)
        if not curve or not curve[0][0] <= unique_words <= curve[-1][0]:
            return None
        unique, means = np.array(curve).T
        return float(np.interp(unique_words, unique, means))

    @cached_property
    def _independent(self) -> list[np.ndarray]:
        """What independent words are drawn with, by strength: found once, it does for any number of lists."""
        return [independent_words(self.unit, strength) for strength in self.strengths()]

    def describe(self) -> dict[str, Any]:
        """What a record must hold to draw them again."""
        return {"nouns": len(self.nouns), "nouns_without_vector": self._left_out, **self._vectors.describe()}
