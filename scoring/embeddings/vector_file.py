"""Word vectors out of a text file: those of GloVe, word2vec and fastText, and chiVe's."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from sozo.data.errors import UserError
from sozo.data.jumandic import LOOKUP, lookup_forms
from sozo.scoring.embeddings.encoders import Matrix
from sozo.scoring.parse import script_reason

_OTHERS = (".bin", ".kv", ".model", ".npy", ".magnitude", ".gz", ".tgz", ".tar", ".zip")
_LONGEST = 1 << 20  # bytes of a line
_AS_TEXT = "unpack it, or save it as text, such as by gensim's save_word2vec_format"


class VectorFile:
    """`vectors:FILE`: a text file with a word and its numbers a line.

    A Japanese word has the mean of its `forms`. An English noun DAT looks up by its checker's lemma, and where that has
    no vector as it was written (`by_lemma`). A first
    line with the numbers of words and dimensions is known, and lines of two words (`contact name@domain.com` in GloVe
    840B) are skipped; of a word that comes twice the last line counts.

    The file is read once for where each word stands, which takes some 150 bytes a word; vectors are read as they are
    asked for.
    """

    by_lemma = True

    def __init__(self, path: str) -> None:
        if not path:
            raise UserError(
                "vectors: give vectors:FILE, such as vectors:glove.840B.300d.txt"
            )
        self.name, self._path = f"vectors:{path}", Path(path)
        if self._path.suffix in _OTHERS:
            raise UserError(f"{path}: is no text file of word vectors; {_AS_TEXT}")
        if self._path.exists() and not self._path.is_file():
            raise UserError(f"{path}: is a pipe, a device or a folder; give a file")
        self._vectors: dict[str, np.ndarray] = {}
        with self._reading():
            self._places, self._size = self._read()
            with self._path.open("rb") as file:
                digest = hashlib.file_digest(
                    file, partial(hashlib.blake2b, digest_size=6)
                )
        self.revision = f"{self._size}d-{digest.hexdigest()}{LOOKUP}"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Vectors, float32 of shape (len(words), dimensions); zeros for a word that has none."""
        forms = list(map(self.forms, words))
        new = set().union(*forms) - self._vectors.keys()
        if found := {self._places[_name(form)]: form for form in new}:
            with self._reading(), self._path.open("rb") as file:
                for place in sorted(found):
                    file.seek(place)
                    fields = file.readline().split()[1:]
                    self._vectors[found[place]] = np.array(fields, np.float32)
        encoded = np.zeros((len(words), self._size), np.float32)
        for number, own in enumerate(forms):
            if own:
                vectors = list(map(self._vectors.__getitem__, own))
                encoded[number] = np.mean(vectors, axis=0)
        return encoded

    def forms(self, word: str) -> tuple[str, ...]:
        """Under which words of the file a word is looked up: itself, or what `lookup_forms` says of a Japanese one."""

        def known(form: str) -> bool:
            return _name(form) in self._places

        if script_reason(word) is None:
            return lookup_forms(word, known)
        return (word,) * known(word)

    def _read(self) -> tuple[dict[bytes, int], int]:
        """Where the line of each word begins, and how many numbers it has."""
        places: dict[bytes, int] = {}
        size = at = 0
        with self._path.open("rb") as file:
            for line in iter(partial(file.readline, _LONGEST), b""):
                if len(line) == _LONGEST:
                    raise ValueError(f"a line has more than {_LONGEST:,} bytes")
                spaces = line.rstrip().count(b" ")
                if size == 0 and spaces > 1:
                    np.array(line.split()[1:], np.float32)  # ValueError: no numbers
                    size = spaces
                if spaces == size > 0:
                    places[line.partition(b" ")[0]] = at
                at += len(line)
        if not places:
            raise ValueError("no line with a word and its numbers")
        return places, size

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, OSError) as error:
            raise UserError(
                f"{self._path}: cannot be read as a text file of word vectors ({error}); {_AS_TEXT}"
            ) from error


def _name(word: str) -> bytes:
    return word.encode("utf-8", "replace")
