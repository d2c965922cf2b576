"""A consensus of encoders is an encoder: one longer vector, whose distance is the weighted mean of their distances."""

from collections.abc import Sequence

import numpy as np

from sozo.scoring.embeddings.encoders import Matrix
from sozo.scoring.embeddings.reference import reference_scores
from sozo.scoring.embeddings.word_vectors import WordVectors


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
        self.servers = tuple(server for part in parts for server in part.servers)
        self.revision = " + ".join(f"{weight:.4f} * {encoder.revision}" for weight, encoder in weighted)

    def encode(self, words: Sequence[str]) -> Matrix:
        """Vectors of length 1, float32 of shape (len(words), the parts' dimensions together)."""
        units = [part.unit(words) for part in self._parts]
        vectors = np.hstack([np.float32(weight**0.5) * unit for weight, unit in zip(self.weights, units, strict=True)])
        vectors[~np.all([unit.any(axis=1) for unit in units], axis=0)] = 0.0
        return vectors


def consensus_weights(parts: Sequence[WordVectors], nouns: Sequence[str]) -> tuple[float, ...]:
    """Weights that give each part an equal say: 1 / the standard deviation of its scores of random lists.

    They add up to 1 and have four decimals, so that rounding on another machine does not make another encoder.
    """
    inverse = np.array([1 / reference_scores(part, nouns).std(ddof=1, dtype=np.float64) for part in parts])
    first = [round(float(share), 4) for share in (inverse / inverse.sum())[:-1]]
    return *first, round(1 - sum(first), 4)
