"""Many answers at once: which are ten lines `k. word` and nothing else, and hashes by which their words are known.

`split_list` (`sozo.scoring.parse`) reads any text, and is the rule. Nearly all texts are plain lists of words that were
seen before: these need no text of each word, which would be most of the work.
"""

import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sozo.data.foreign import LONGEST_WORD
from sozo.scoring.final_text import OUTER
from sozo.scoring.parse import NUM_WORDS

UNKNOWN = -100  # the code of a word that an index does not have
_AT_ONCE = 512  # texts, so that their characters stay in cache
_LONGEST = (LONGEST_WORD + 5) * NUM_WORDS  # characters of a plain list
_LANES = 2  # hashes of 64 bits
_NO_WORD = "\0<[◁" + OUTER  # what may be more than a character of a word
_TENS = np.array([ord(str(k)[0]) for k in range(1, NUM_WORDS + 1)], np.uint32)
# Two words share both hashes with probability below 2^-80; nobody outside of this process knows the base.
_BASES = [secrets.randbits(64) | 1 for _ in range(_LANES)]


@lru_cache(1)
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers of the bases and their inverses, shape (lanes, characters); and which characters make a text less plain."""
    size = _AT_ONCE * _LONGEST
    # From the first power on: a word of one character would else be in one of the first places of an index.
    forth = np.stack([_powers(base, base, size) for base in _BASES])
    back = np.stack([_powers(1, pow(base, -1, 1 << 64), size) for base in _BASES])
    odd = np.zeros(0x110000, bool)
    odd[[ord(character) for character in _NO_WORD]] = True
    return forth, back, odd


def _powers(first: int, base: int, size: int) -> np.ndarray:
    """A number times the powers of a base, modulo 2^64."""
    powers = np.full(size, base, np.uint64)
    powers[0] = first
    return np.multiply.accumulate(powers)


def _characters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def word_hashes(words: Sequence[str]) -> np.ndarray:
    """Hashes of words of at most 40 characters, none of them NUL, in this process: uint64 of shape (words, 2)."""
    forth, _, _ = _tables()
    return np.array(
        [(_characters(word) * forth[:, : len(word)]).sum(axis=1) for word in words],
        np.uint64,
    ).reshape(-1, _LANES)


def plain_lists(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Which texts are plain lists, ascending; and the hashes of their words, uint64 of shape (2, lists, 10)."""
    which = [
        k
        for k, text in enumerate(texts)
        if len(text) <= _LONGEST and text.count("\n") == NUM_WORDS - 1
    ]
    parts = [
        _plain([texts[k] for k in which[start : start + _AT_ONCE]])
        for start in range(0, len(which), _AT_ONCE)
    ]
    if not parts:
        return np.zeros(0, np.int64), np.zeros((_LANES, 0, NUM_WORDS), np.uint64)
    plain = np.concatenate([plain for plain, _ in parts])
    hashes = np.concatenate([hashes for _, hashes in parts], axis=1)
    return np.array(which, np.int64)[plain], hashes[:, plain]


def _plain(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Which of a few texts of ten lines are plain, bool of shape (texts,), and the hashes of all their words."""
    forth, back, odd = _tables()
    characters = _characters("\n".join(texts))
    ends = np.append(np.flatnonzero(characters == ord("\n")), len(characters))
    start = np.append(0, ends[:-1] + 1).reshape(-1, NUM_WORDS)
    end = ends.reshape(-1, NUM_WORDS)
    word = start + len("1. ")
    word[:, -1] += 1
    # A line that is too short for a number would look beyond the last one.
    whole = (end > word) & (end - word <= LONGEST_WORD)
    word = np.minimum(word, len(characters) - 1)
    space = characters[word - 1]
    whole &= (characters[start] == _TENS) & (characters[word - 2] == ord("."))
    whole &= (space == ord(" ")) | (space == ord("\u3000"))
    whole[:, -1] &= characters[
        np.minimum(start[:, -1] + 1, len(characters) - 1)
    ] == ord("0")
    counts = np.cumsum(odd[characters], dtype=np.int32)
    whole &= counts[end - 1] == counts[word - 1]
    sums = np.cumsum(characters * forth[:, : len(characters)], axis=1)
    hashes = (sums[:, end - 1] - sums[:, word - 1]) * back[:, word]
    return whole.all(axis=1), hashes


class WordIndex:
    """Codes of words by their hashes: a table with open addresses, which is asked about a hundred thousand at once."""

    def __init__(self) -> None:
        self._make(1 << 12)

    def _make(self, size: int) -> None:
        self._hashes = np.zeros((_LANES, size), np.uint64)
        self._codes = np.full(size, UNKNOWN, np.int32)
        self._shift = np.uint64(64 - size.bit_length() + 1)
        self._count = 0

    def add(self, hashes: np.ndarray, codes: np.ndarray) -> None:
        """Put in words that are not there, hashes of shape (words, 2), or others' codes for those that are."""
        size = len(self._codes)
        if 4 * (self._count + len(codes)) > size:
            there = self._codes != UNKNOWN
            hashes = np.concatenate([self._hashes[:, there].T, hashes])
            codes = np.concatenate([self._codes[there], codes])
            while 4 * len(codes) > size:
                size *= 2
            self._make(size)
        self._count += len(codes)
        places = (hashes[:, 0] >> self._shift).tolist()
        for place, own, code in zip(places, hashes, codes, strict=True):
            while (
                self._codes[place] != UNKNOWN and (self._hashes[:, place] != own).any()
            ):
                place = (place + 1) % size
            self._hashes[:, place] = own
            self._codes[place] = code

    def look_up(self, hashes: np.ndarray) -> np.ndarray:
        """The code of each word, UNKNOWN where it is not there: hashes of shape (2, ...), codes of the same (...)."""
        place = (hashes[0] >> self._shift).astype(np.int64)
        codes = self._codes[place]
        other = (self._hashes[0, place] != hashes[0]) | (
            self._hashes[1, place] != hashes[1]
        )
        left: Any = np.nonzero(other & (codes != UNKNOWN))
        while len(left[0]):
            at = (place[left] + 1) % len(self._codes)
            place[left] = at
            codes[left] = self._codes[at]
            own = hashes[(slice(None), *left)]
            go_on = (self._hashes[:, at] != own).any(axis=0) & (codes[left] != UNKNOWN)
            left = tuple(axis[go_on] for axis in left)
        return codes
