"""What an encoder makes of random lists of nouns: the yardstick of its scores, which are on a scale of its own."""

from collections.abc import Sequence

import numpy as np

from rewards.distance import mean_pairwise_distance
from rewards.embeddings.word_vectors import WordVectors
from rewards.parse import NUM_WORDS

NUM_LISTS = 4000


def random_lists(words: int, lists: int, seed: int) -> np.ndarray:
    """Lists of ten different words, uniformly: int64 of shape (lists, 10), numbers below `words`.

    >>> random_lists(22128, 2, seed=0).shape
    (2, 10)
    """
    if words < NUM_WORDS:
        raise ValueError(f"no list of {NUM_WORDS} different words has {words}")
    rng = np.random.default_rng(seed)
    drawn = rng.integers(words, size=(lists, NUM_WORDS))
    while (again := (np.diff(np.sort(drawn)) == 0).any(axis=1)).any():
        drawn[again] = rng.integers(words, size=(int(again.sum()), NUM_WORDS))
    return drawn


def reference_scores(vectors: WordVectors, nouns: Sequence[str], lists: int = NUM_LISTS, seed: int = 0) -> np.ndarray:
    """DAT scores of random lists of those `nouns` that have a vector, float32 of shape (lists,), 0 to 2."""
    rows = np.array([row for row in vectors.rows(nouns) if row >= 0], np.int64)
    return mean_pairwise_distance(vectors.matrix, rows[random_lists(len(rows), lists, seed)])
