"""An encoder with its common direction taken out."""

from collections.abc import Sequence

from sozo.scoring.embeddings.encoders import Matrix
from sozo.scoring.embeddings.word_vectors import WordVectors


class CentredEncoder:
    """`centred:NAME`: NAME's unit vectors minus their mean over the nouns of the random baseline.

    The vectors of an encoder share a direction, and a word that leans away from it is far from every other word; with
    the direction gone, distance is between words. A word that NAME lacks has no vector here either.

    Args:
        vectors: NAME's.
        nouns: Whose mean is taken out; those that NAME lacks do not count.
    """

    def __init__(self, vectors: WordVectors, nouns: Sequence[str]) -> None:
        self._vectors = vectors
        unit = vectors.unit(nouns)
        self.mean = unit[unit.any(axis=1)].mean(axis=0)
        self.name = f"centred:{vectors.encoder.name}"
        self.servers = vectors.servers
        self.revision = f"{vectors.encoder.revision}-{len(nouns)}-nouns"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Centred vectors, float32 of shape (len(words), dimensions), not of length 1."""
        unit = self._vectors.unit(words)
        return unit - self.mean * unit.any(axis=1, keepdims=True)
