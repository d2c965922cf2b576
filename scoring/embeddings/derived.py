"""Encoders made of others: one without its common direction, and a consensus of several, weighted by random lists."""

from collections.abc import Sequence

import numpy as np

from sozo.data.errors import UserError
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings.encoders import Matrix
from sozo.scoring.embeddings.word_vectors import WordVectors
from sozo.scoring.parse import NUM_WORDS

NUM_LISTS = 4000  # random lists, by which encoders' scales are compared


class CentredEncoder:
    """`centred:NAME`: NAME's unit vectors minus their mean over the nouns of random lists.

    The vectors of an encoder share a direction, and a word that leans away from it is far from every other word; with
    the direction gone, distance is between words. A word that NAME lacks has no vector here either.

    Args:
        vectors: NAME's.
        nouns: Whose mean is taken out; those that NAME lacks do not count.
    """

    def __init__(self, vectors: WordVectors, nouns: Sequence[str]) -> None:
        self.vectors = vectors
        unit = vectors.unit(nouns)
        if not unit.any():
            raise UserError(
                f"the encoder {vectors.encoder.name} knows none of the {len(nouns):,} nouns to centre it on"
            )
        self.mean = unit[unit.any(axis=1)].mean(axis=0)
        self.name = f"centred:{vectors.encoder.name}"
        self.servers = vectors.servers
        self.forms = getattr(vectors.encoder, "forms", None)
        self.revision = f"{vectors.encoder.revision}-{len(nouns)}-nouns"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Centred vectors, float32 of shape (len(words), dimensions), not of length 1."""
        unit = self.vectors.unit(words)
        return unit - self.mean * unit.any(axis=1, keepdims=True)


class ConsensusEncoder:
    """`A+B+...`: the parts' unit vectors side by side, part i times the square root of its weight.

    So the cosine of two words is the weighted mean of their cosines in the parts, and a list's DAT score that of its
    scores. A word that one part lacks has no vector: were it left to the other parts, a word that no dictionary has
    would be far from all others for nothing.

    Args:
        parts: The encoders' vectors.
        weights: One for each part, adding up to 1; see `consensus_weights`.
    """

    def __init__(self, parts: Sequence[WordVectors], weights: Sequence[float]) -> None:
        self.weights = tuple(weights)
        self._parts = tuple(parts)
        encoders = [part.encoder for part in parts]
        self.name = "+".join(encoder.name for encoder in encoders)
        weighted = zip(weights, encoders, strict=True)
        self.forms = None
        for encoder in encoders:
            self.forms = self.forms or getattr(encoder, "forms", None)
        self.servers = tuple(server for part in parts for server in part.servers)
        self.revision = " + ".join(
            f"{weight:.4f} * {encoder.revision}" for weight, encoder in weighted
        )

    def encode(self, words: Sequence[str]) -> Matrix:
        """Vectors of length 1, float32 of shape (len(words), the parts' dimensions together)."""
        units = [part.unit(words) for part in self._parts]
        vectors = np.hstack(
            [
                np.float32(weight**0.5) * unit
                for weight, unit in zip(self.weights, units, strict=True)
            ]
        )
        vectors[~np.all([unit.any(axis=1) for unit in units], axis=0)] = 0.0
        return vectors


def consensus_weights(
    parts: Sequence[WordVectors], nouns: Sequence[str]
) -> tuple[float, ...]:
    """Weights that give each part an equal say: 1 / the standard deviation of its scores of random lists.

    They add up to 1 and have four decimals, so that rounding on another machine does not make another encoder.
    """
    inverse = np.array(
        [
            1 / reference_scores(part, nouns).std(ddof=1, dtype=np.float64)
            for part in parts
        ]
    )
    first = [round(float(share), 4) for share in (inverse / inverse.sum())[:-1]]
    return *first, round(1 - sum(first), 4)


def random_lists(
    words: int, lists: int, seed: int | np.random.Generator, size: int = NUM_WORDS
) -> np.ndarray:
    """Lists of `size` different words, uniformly: int64 of shape (lists, size), numbers below `words`.

    >>> random_lists(22128, 2, seed=0).shape
    (2, 10)
    """
    if words < size:
        raise ValueError(f"no list of {size} different words has {words}")
    rng = np.random.default_rng(seed)
    rows = rng.integers(words, size=(lists, size))
    while (repeats := (np.diff(np.sort(rows)) == 0).any(axis=1)).any():
        rows[repeats] = rng.integers(words, size=(int(repeats.sum()), size))
    return rows


def reference_scores(vectors: WordVectors, nouns: Sequence[str]) -> np.ndarray:
    """DAT scores of `NUM_LISTS` random lists of those `nouns` that have a vector, float32 of shape (lists,), 0 to 2."""
    rows = np.array([row for row in vectors.rows(nouns) if row >= 0], np.int64)
    return mean_pairwise_distance(
        vectors.matrix, rows[random_lists(len(rows), NUM_LISTS, seed=0)]
    )
