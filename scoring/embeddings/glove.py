"""English word vectors: for English words as they are, for Japanese ones through a dictionary."""

import gzip
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, cast
from xml.etree import ElementTree

import numpy as np

from sozo.data.english import noun_lemmas
from sozo.data.errors import UserError
from sozo.scoring.embeddings.encoders import Matrix

_ASIDE = re.compile(r"\([^()]*\)|\{[^{}]*\}")
_NESTED = 10  # parentheses within each other; what is nested deeper is no dictionary's
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEFT_OUT = frozenset({"an", "the", "to", "of"})
_EDICT = re.compile(r"(\S+) (?:\[(\S+)\] )?/(.+)/")
_NOUN = re.compile(r"\((?:[\w-]+,)*n[,)-]")
_SECOND = re.compile(r"(?:\([^)]*\) )*\(2\)")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


# An entry of a dictionary: how it is written and read, whether it is no noun, whether it is rare, its first sense.
_Entry = tuple[list[str], list[str], tuple[bool, bool], list[str]]


class GloveEncoder:
    """`glove:VECTORS`, of English nouns; `glove:VECTORS@DICTIONARY`, the mean of the words of a Japanese noun's sense.

    VECTORS is a text file in GloVe's format. Of English words, those that the noun checker knows have a vector.

    DICTIONARY is JMdict or EDICT, both files as they are or as .gz. The mean is of unit vectors, over the first sense.
    Of entries of one spelling nouns come first, then common ones, then those that are written so rather than read. What
    stands in parentheses, single letters and an, the, to, of are no words. A noun without a known word has no vector.
    """

    def __init__(self, paths: str) -> None:
        vectors, at, dictionary = paths.partition("@")
        if not vectors or (at and not dictionary):
            example = "glove:VECTORS (English) or glove:VECTORS@DICTIONARY, such as glove:glove.6B.100d.txt@JMdict_e.gz"
            raise UserError(f"glove:{paths}: give {example}")
        self.name = f"glove:{paths}"
        self._words = _first_senses(Path(dictionary)) if at else {word: [word] for word in noun_lemmas()}
        needed = {word for words in self._words.values() for word in words}
        self._vectors = _read_vectors(Path(vectors), needed)
        matrix = np.array(list(self._vectors.values()))
        self._size = matrix.shape[1]
        read = hashlib.blake2b(repr(self._words).encode() + matrix.tobytes(), digest_size=6)
        self.revision = f"{self._size}d-{read.hexdigest()}"

    def encode(self, words: Sequence[str]) -> Matrix:
        """Vectors, float32 of shape (len(words), dimensions); zeros for a word that has none."""
        vectors = np.zeros((len(words), self._size), np.float32)
        for row, word in enumerate(words):
            known = [self._vectors[english] for english in self._words.get(word, ()) if english in self._vectors]
            if known:
                vectors[row] = np.mean(known, axis=0)
        return vectors


def gloss_words(glosses: Sequence[str]) -> list[str]:
    """The words that count, in order.

    >>> gloss_words(["(n) (1) the song of a bird (esp. at dawn)", "birdsong"])
    ['song', 'bird', 'birdsong']
    """
    text = "/".join(glosses)
    for _ in range(_NESTED):
        text = _ASIDE.sub(" ", text)
    return [word for word in _WORD.findall(text.lower()) if word not in _LEFT_OUT]


@contextmanager
def _reading(path: Path, what: str) -> Iterator[IO[bytes]]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield cast("IO[bytes]", file)
    except (ElementTree.ParseError, ValueError, EOFError, OSError) as error:
        raise UserError(f"{path}: cannot be read as {what} ({error})") from error


def spellings(path: Path) -> dict[str, bool]:
    """How a dictionary (JMdict or EDICT) spells its entries, and whether one so spelt is common."""
    common: dict[str, bool] = {}
    for spelt, _, (_, rare), _ in _entries(path):
        for form in spelt:
            common[form] = common.get(form, False) or not rare
    return common


def _first_senses(path: Path) -> dict[str, list[str]]:
    """The words of the first sense of each spelling and reading of a dictionary."""
    best: dict[str, tuple[tuple[bool, bool, bool], list[str]]] = {}
    for *both, (odd, rare), glosses in _entries(path):
        words = gloss_words(glosses)
        for by_reading, forms in enumerate(both):
            entry = (odd, rare, bool(by_reading)), words
            for form in forms if words else ():
                best[form] = min(best.get(form, entry), entry, key=lambda ranked: ranked[0])
    return {form: words for form, (_, words) in best.items()}


def _entries(path: Path) -> list[_Entry]:
    with _reading(path, "JMdict (XML) or EDICT (EUC-JP or UTF-8)") as file:
        content = file.read()
        entries = list(_jmdict(content) if content.startswith(b"<") else _edict(content))
        if not any(glosses for *_, glosses in entries):
            raise ValueError("it has no entry")
    return entries


def _jmdict(content: bytes) -> Iterator[_Entry]:
    for _, entry in ElementTree.iterparse(BytesIO(content)):  # noqa: S314 - expat itself stops entities that blow up
        if entry.tag != "entry":
            continue
        spelt, read, sorts = ([form.text or "" for form in entry.iter(name)] for name in ("keb", "reb", "pos"))
        noun = any(sort.startswith("noun") for sort in sorts)
        common = any(entry.find(f".//{name}") is not None for name in ("ke_pri", "re_pri"))
        glosses = entry.iterfind("sense[1]/gloss")
        english = [gloss.text or "" for gloss in glosses if gloss.get(_LANGUAGE, "eng") == "eng"]
        yield spelt, read, (not noun, not common), english
        entry.clear()


def _edict(content: bytes) -> Iterator[_Entry]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("euc_jp")
    for line in text.splitlines():
        if match := _EDICT.match(line):
            spelt, read = (_ASIDE.sub("", forms or "").split(";") for forms in match.groups()[:2])
            glosses = [gloss for gloss in match[3].split("/") if not gloss.startswith("EntL")]
            second = next((k for k, gloss in enumerate(glosses) if _SECOND.match(gloss)), len(glosses))
            yield spelt, read, (not _NOUN.search(match[3]), "(P)" not in line), glosses[:second]


def _read_vectors(path: Path, needed: set[str]) -> dict[str, np.ndarray]:
    """Unit vectors, all of one size, of those of the `needed` words that a file has; other lines are skipped."""
    vectors: dict[str, np.ndarray] = {}
    wanted, size = {word.encode(): word for word in needed}, 0
    with _reading(path, "word vectors in GloVe's text format") as file:
        for line in file:
            name, _, numbers = line.partition(b" ")
            if size and name not in wanted:
                continue
            fields = numbers.split()
            if 0 < size < len(fields):  # of two words, such as `contact name@domain.com` of GloVe 840B
                continue
            vector = np.array(fields, np.float32)
            size = size or len(vector) * (len(vector) > 1)  # one number: how many lines and dimensions there are
            if name in wanted and size:
                vectors[wanted[name]] = (vector / np.linalg.norm(vector)).reshape(size)
        if not vectors:
            raise ValueError("no vector of a word that is looked for")
    return vectors
