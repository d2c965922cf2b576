"""English word vectors out of a text file in GloVe's format."""

import gzip
import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from sozo.data.english import noun_lemmas
from sozo.data.errors import UserError
from sozo.scoring.embeddings.encoders import Matrix

_LONGEST = 1 << 20  # bytes of a line


class GloveEncoder:
    """`glove:VECTORS`, of those English words that the noun checker knows as nouns.

    VECTORS is a text file, a word and its numbers a line, as it is or as .gz. It is read once, line by line.
    """

    def __init__(self, path: str) -> None:
        if not path:
            raise UserError(
                "glove: give glove:VECTORS, such as glove:glove.840B.300d.txt"
            )
        self.name = f"glove:{path}"
        self._vectors = _read_vectors(Path(path), noun_lemmas())
        matrix = np.array(list(self._vectors.values()))
        self._size = matrix.shape[1]
        read = hashlib.blake2b(
            repr(list(self._vectors)).encode() + matrix.tobytes(), digest_size=6
        )
        self.revision = f"{self._size}d-{read.hexdigest()}"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Vectors, float32 of shape (len(words), dimensions); zeros for a word that has none."""
        none = np.zeros(self._size, np.float32)
        return np.array(
            [self._vectors.get(word, none) for word in words], np.float32
        ).reshape(-1, self._size)


def _read_vectors(path: Path, needed: Collection[str]) -> dict[str, np.ndarray]:
    """Unit vectors, all of one size, of those of the `needed` words that a file has; other lines are skipped."""
    vectors: dict[str, np.ndarray] = {}
    wanted, size = {word.encode(): word for word in needed}, 0
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: is a pipe, a device or a folder; give a file")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in iter(lambda: file.readline(_LONGEST), b""):
                if len(line) == _LONGEST:
                    raise ValueError(f"a line has more than {_LONGEST:,} bytes")
                name, _, numbers = line.partition(b" ")
                if size and name not in wanted:
                    continue
                fields = numbers.split()
                if (
                    0 < size < len(fields)
                ):  # of two words, such as `contact name@domain.com` of GloVe 840B
                    continue
                vector = np.array(fields, np.float32)
                size = size or len(vector) * (
                    len(vector) > 1
                )  # one number: how many lines and dimensions there are
                if name in wanted and size:
                    vectors[wanted[name]] = (vector / np.linalg.norm(vector)).reshape(
                        size
                    )
        if not vectors:
            raise ValueError("no vector of a word that is looked for")
    except (ValueError, EOFError, OSError) as error:
        raise UserError(
            f"{path}: cannot be read as word vectors in GloVe's text format ({error})"
        ) from error
    return vectors
