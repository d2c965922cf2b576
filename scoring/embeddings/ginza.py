"""The packaged encoder `ja-ginza`: the word vectors of a spaCy model, read and looked up with numpy."""

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path

import numpy as np

from sozo.data.cache import kept
from sozo.data.errors import require
from sozo.data.jumandic import LOOKUP, lookup_forms
from sozo.scoring.embeddings.encoders import Matrix
from sozo.scoring.parse import HIRAGANA, JAPANESE, script_reason

_UNKNOWN = 0  # the row of zeros
_MOST_CHARS = 1000  # a longer word has no vector
_PIECES = re.compile(f"(?:(?![{HIRAGANA}])[{JAPANESE}])+")


class GinzaEncoder:
    """The packaged encoder `ja-ginza` of words, or `ja-ginza-texts` of whole texts.

    The PyPI package ja-ginza holds 480,443 words on 20,000 vectors of 300 numbers (pruned: rare words share the vector
    of a near one). A word has the mean of its `forms`: itself, another spelling, or parts of two characters.

    A whole text has the mean of its kanji and katakana, cut at everything else. Particles and endings would drown what
    it is about: with them, 47 of 112 other tales lie closer to Urashima Taro than a paraphrase of it; without, none. What is
    unknown is cut into the longest known words from the left, down to single characters.
    """

    def __init__(self, *, texts: bool = False) -> None:
        require("ja_ginza", "the embedding model ja-ginza")
        self.name = "ja-ginza-texts" if texts else "ja-ginza"
        self.revision = version("ja-ginza") + ("" if texts else LOOKUP)
        self._texts = texts
        self._row_of_word, self._longest_known, self._vectors = read_package()

    def encode(self, words: Sequence[str]) -> Matrix:
        """Raw vectors, float32 of shape (len(words), 300); zeros for a text without a vector."""
        encoded = np.zeros((len(words), self._vectors.shape[1]), np.float32)
        for number, text in enumerate(words):
            rows: list[int] = []
            if self._texts:
                for piece in _PIECES.findall(text):
                    rows += self._cut(piece)
            else:
                rows += map(self._row_of_word.__getitem__, self.forms(text))
            if rows:
                encoded[number] = self._vectors[rows].sum(axis=0) / np.float32(
                    len(rows)
                )
        return encoded

    def forms(self, word: str) -> tuple[str, ...]:
        """Under which words of the package a word is looked up (`lookup_forms`)."""
        known = self._row_of_word.__contains__
        return lookup_forms(word, known) if len(word) <= _MOST_CHARS else ()

    def _cut(self, piece: str) -> list[int]:
        """Rows of the longest known words from the left; [_UNKNOWN] if a character is unknown or the piece too long."""
        rows: list[int] = []
        start = 0
        if len(piece) > _MOST_CHARS:
            return [_UNKNOWN]
        while start < len(piece):
            end = min(len(piece), start + self._longest_known)
            while end > start and piece[start:end] not in self._row_of_word:
                end -= 1
            if end == start:
                return [_UNKNOWN]
            rows.append(self._row_of_word[piece[start:end]])
            start = end
        return rows


@cache
def read_package() -> tuple[dict[str, int], int, Matrix]:
    """The row of each word in Japanese script, the length of the longest, and the vectors below a row of zeros."""
    package = Path(str(distribution("ja-ginza").locate_file("ja_ginza")))
    vocab = next(package.glob("ja_ginza-*")) / "vocab"
    strings = (vocab / "strings.json").read_bytes()
    keys = (vocab / "key2row").read_bytes()
    # What is in Japanese script decides, too, which words there are.
    sources = strings + keys + JAPANESE.encode()
    rows = kept("ja-ginza", sources, lambda: _find_rows(strings, keys))
    vectors = np.load(vocab / "vectors", allow_pickle=False)
    longest = max(map(len, rows))
    none = np.zeros((1, vectors.shape[1]), np.float32)
    return rows, longest, np.vstack([none, vectors])


def _find_rows(strings: bytes, keys: bytes) -> dict[str, int]:
    """The row of each word in Japanese script, which takes seconds to find."""
    import srsly
    from spacy.strings import get_string_id

    row_of_key = srsly.msgpack_loads(keys)
    row_of_word = {}
    for word in json.loads(strings):
        key = get_string_id(word)
        if key in row_of_key and script_reason(word) is None:
            row_of_word[word] = row_of_key[key] + 1
    return row_of_word
