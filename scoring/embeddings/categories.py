"""Human labels as an encoder: JumanDIC's semantic categories."""

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from sozo.data.jumandic import CATEGORIES, categories, default_dictionary
from sozo.scoring.embeddings.encoders import Matrix

_AXIS = {name: axis for axis, name in enumerate(CATEGORIES)}


class CategoryEncoder:
    """`categories`: one axis for each of the 22 categories, 1 on all that a noun is sorted into.

    Two nouns of one category each are at distance 0 or 1, so a list's score is the share of its pairs that differ in
    kind: flexibility, which no trained encoder bends. A word without a category (`sozo.data.jumandic`) has no vector.
    """

    def __init__(self) -> None:
        default_dictionary()  # says what to install if it is not there
        self.name, self.revision = "categories", f"jumandic-{version('jumandic')}"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Ones and zeros, float32 of shape (len(words), 22); a row of zeros for a word without a category."""
        vectors = np.zeros((len(words), len(_AXIS)), np.float32)
        for row, word in enumerate(words):
            vectors[row, [_AXIS[name] for name in categories(word)]] = 1.0
        return vectors
