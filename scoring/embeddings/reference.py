"""What an encoder makes of random lists of nouns: the yardstick of its scores, which are on a scale of its own."""

from collections.abc import Sequence

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings.word_vectors import WordVectors
from sozo.scoring.parse import NUM_WORDS

NUM_LISTS = 4000


def random_lists(words: int, lists: int, seed: int | np.random.Generator, size: int = NUM_WORDS) -> np.ndarray:
    """Lists of `size` different words, uniformly: int64 of shape (lists, size), numbers below `words`.

    >>> random_lists(22128, 2, seed=0).shape
    (2, 10)
    """
    if words < size:
        raise ValueError(f"no list of {size} different words has {words}")
    rng = np.random.default_rng(seed)
    drawn = rng.integers(words, size=(lists, size))
    while (again := (np.diff(np.sort(drawn)) == 0).any(axis=1)).any():
        drawn[again] = rng.integers(words, size=(int(again.sum()), size))
    return drawn


def reference_scores(vectors: WordVectors, nouns: Sequence[str], lists: int = NUM_LISTS, seed: int = 0) -> np.ndarray:
    """DAT scores of random lists of those `nouns` that have a vector, float32 of shape (lists,), 0 to 2."""
    rows = np.array([row for row in vectors.rows(nouns) if row >= 0], np.int64)
    return mean_pairwise_distance(vectors.matrix, rows[random_lists(len(rows), lists, seed)])
