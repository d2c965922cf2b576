"""An encoder of one's own: word vectors from a text file, such as fastText's or chiVe's (`word number number ...`).

A reward or a scorer takes it as an object:

    scorer = DatScorer(make_noun_checker("jumandic"), VectorFile(Path("chive.txt")))
    reward = DatReward(lambda: scorer)
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np


class VectorFile:
    """Vectors of the words in a file.

    `name` and `revision` say which vectors these are: they are recorded with every result, and key the disk cache.

    Args:
        path: Lines `word number number ...`. A first line with two numbers (how many, how long) is skipped.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        self.name, self.revision = path.name, hashlib.sha256(content).hexdigest()[:12]
        rows = [line.split() for line in content.decode().splitlines()]
        self._vectors = {
            row[0]: np.array(row[1:], np.float32) for row in rows if len(row) > 2
        }
        self._none = np.zeros_like(next(iter(self._vectors.values())))

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """Float32 vectors, shape (len(words), dimensions); a row of zeros says: no vector for this word.

        Do not normalise and do not cache: `WordVectors`, which asks for each word once, does both.
        """
        return np.stack([self._vectors.get(word, self._none) for word in words])
