"""Every word is encoded once per process: a cache of unit vectors in one growing matrix, optionally kept on disk."""

import hashlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.cache import NO_CACHE, make_cache
from sozo.data.errors import UserError
from sozo.data.record import room
from sozo.data.run_folder import NEAR, PROBE
from sozo.scoring.embeddings.encoders import SERVED, UNKNOWN, Encoder, Matrix

# What a server behind an encoder, or behind a part of one (`SERVED` in its revision), is known by; and so a model in a
# folder, which has no revision and may be trained anew where it lies.
_PROBE = ("水", "理論", "走り")
_SERVED = re.compile(rf"\b({SERVED}|{UNKNOWN})\b")
_NEAR_ONE = 1e-3  # a unit vector's length, squared
_COMMON = ["水", "山", "人", "犬", "本", "water", "mountain", "person", "dog", "book"]


class WordVectors:
    """Unit vectors of words, by row; in `cache_dir`, which processes may share, a SQLite file for each encoder."""

    def __init__(self, encoder: Encoder, cache_dir: Path | None = None) -> None:
        self.encoder = encoder
        self._rows: dict[str, int] = {}
        self._size = 0
        self._buffer = np.empty((0, 0), np.float32)
        self._disk = (
            _DiskCache(cache_dir, encoder, self.probe)
            if cache_dir and cache_dir != NO_CACHE
            else None
        )

    @cached_property
    def probe(self) -> Matrix | None:
        """Unit vectors of three words, asked for anew; None where name and revision say all about the encoder."""
        if not _SERVED.search(self.encoder.revision):
            return None
        vectors = np.asarray(self.encoder.encode(_PROBE), dtype=np.float64)
        return (
            vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-30)
        ).astype(np.float32)

    @property
    def servers(self) -> tuple[dict[str, Any], ...]:
        """Where an encoder's or its parts' servers are; they may move, if their vectors stay."""
        return tuple(getattr(self.encoder, "servers", ()))

    def describe(self) -> dict[str, Any]:
        """What a result must say of its encoder, and of the server behind it, to be compared."""
        described: dict[str, Any] = {
            "embedding_model": self.encoder.name,
            "embedding_revision": self.encoder.revision,
        }
        if self.probe is None:
            return described
        numbers = (
            " ".join(f"{value:.4f}" for value in vector)
            for vector in self.probe.tolist()
        )
        probe = dict(zip(_PROBE, numbers, strict=True))
        return {**described, "embedding_dimensions": self.probe.shape[1], PROBE: probe}

    @property
    def matrix(self) -> Matrix:
        """Float32 unit vectors of all words that have one, shape (words, dimensions)."""
        return self._buffer[: self._size]

    def rows(self, words: Sequence[str]) -> list[int]:
        """Row of each word in `matrix`; -1 where the encoder gives a zero or non-finite vector.

        A UserError if ten or more new words and not one got a vector, nor does any common word: rare ones are no error.
        """
        new = list(dict.fromkeys(word for word in words if word not in self._rows))
        if new and self._disk:
            self._add(self._disk.load(new))
            new = [word for word in new if word not in self._rows]
        if new:
            self._add(self._encode(new))
        return [self._rows[word] for word in words]

    def table(self, lists: Sequence[Sequence[str]]) -> np.ndarray:
        """Rows of the words of lists of equal length, int64 of shape (lists, words)."""
        rows = self.rows([word for words in lists for word in words])
        return np.array(rows, np.int64).reshape(len(lists), -1)

    def unit(self, words: Sequence[str]) -> Matrix:
        """Unit vectors of `words`, float32 of shape (len(words), dimensions); zeros where a word has none."""
        rows = np.array(self.rows(words), np.int64)
        unit = np.zeros((len(rows), max(1, self._buffer.shape[1])), np.float32)
        if (known := rows >= 0).any():  # without a vector the matrix has no dimensions
            unit[known] = self.matrix[rows[known]]
        return unit

    def _encode(self, words: list[str]) -> dict[str, np.ndarray]:
        words.sort(key=len)  # neighbours of one length need little padding
        vectors = np.asarray(self.encoder.encode(words), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(words):
            shape = vectors.shape
            name = self.encoder.name
            raise UserError(
                f"the encoder {name} returned shape {shape} for {len(words)} words; take another"
            )
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        finite = np.isfinite(norms)
        usable = finite & (norms > 0)
        # No word of a batch has a vector: a broken encoder, or only rare words?
        suspect = len(words) >= 10 and not usable.any()
        if suspect and (
            not finite.all()
            or (not self._size and not np.asarray(self.encoder.encode(_COMMON)).any())
        ):
            which = (
                f"any of {len(words)} words such as {words[-1][:40]!r}; check the model"
            )
            raise UserError(
                f"the encoder {self.encoder.name} gave no usable vector (all zero or not finite) for {which}"
            )
        unit = (vectors / np.where(usable, norms, 1.0)[:, None]).astype(np.float32)
        unit[~usable] = 0.0
        unit_vectors = dict(zip(words, unit, strict=True))
        if self._disk:
            # Numbers that are not finite may be a fault of the moment: they are not kept for the next run.
            self._disk.store(
                (word, unit_vectors[word])
                for word, kept in zip(words, finite, strict=True)
                if kept
            )
        return unit_vectors

    def _add(self, vectors: dict[str, np.ndarray]) -> None:
        # A zero vector stands for a word that has none.
        for word, vector in vectors.items():
            if not vector.any():
                self._rows[word] = -1
                continue
            if self._size == len(self._buffer):
                larger = np.empty((max(1024, 2 * self._size), len(vector)), np.float32)
                # At first it has no dimensions
                larger[: self._size] = self._buffer.reshape(self._size, len(vector))
                self._buffer = larger
            self._buffer[self._size] = vector
            self._rows[word] = self._size
            self._size += 1


class _DiskCache:
    """Unit vectors in SQLite: safe to kill, safe to share between processes."""

    def __init__(self, folder: Path, encoder: Encoder, probe: Matrix | None) -> None:
        make_cache(folder)
        key = f"{encoder.name}@{encoder.revision}"
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", key).strip("-")[:80]
        stem = f"{slug}-{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}"
        self.path = folder / f"{stem}.sqlite"
        if probe is not None:
            # One name can be many servers: theirs is the file whose vectors of the three words are near.
            for self.path in sorted(folder.glob(f"{stem}-*.sqlite")):
                if _near(self.load(_PROBE), probe):
                    return
            self.path = (
                folder
                / f"{stem}-{hashlib.blake2b(probe.tobytes(), digest_size=6).hexdigest()}.sqlite"
            )
        with self._open() as db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS vectors (word TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID"
            )
        if probe is not None:
            self.store(zip(_PROBE, probe, strict=True))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            # Its own `with` commits, and does not close.
            with (
                room(self.path, 0),
                closing(sqlite3.connect(self.path, timeout=60)) as db,
                db,
            ):
                yield db
        except sqlite3.Error as error:
            raise UserError(
                f"{self.path}: cannot be used as a cache of vectors ({error}); "
                "name another folder by embedding_cache, or by SOZO_CACHE"
            ) from error

    def load(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        vectors: dict[str, bytes] = {}
        with self._open() as db:
            for start in range(0, len(words), 500):
                batch = words[start : start + 500]
                marks = ",".join("?" * len(batch))
                for word, blob in db.execute(
                    f"SELECT word, vector FROM vectors WHERE word IN ({marks})",  # noqa: S608
                    batch,
                ):
                    vectors[word] = blob
        return dict(_whole_vectors(vectors))

    def store(self, vectors: Iterable[tuple[str, np.ndarray]]) -> None:
        rows = [(word, vector.astype("<f4").tobytes()) for word, vector in vectors]
        with (
            room(self.path, sum(len(vector) for _, vector in rows)),
            self._open() as db,
        ):
            db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def _whole_vectors(blobs: dict[str, bytes]) -> Iterator[tuple[str, np.ndarray]]:
    """Those of unit length, of the size that most have, or zero: a damaged one is encoded again."""
    sizes = Counter(len(blob) for blob in blobs.values() if isinstance(blob, bytes))
    (size, _), *_ = sizes.most_common(1) or [(0, 0)]
    for word, blob in blobs.items():
        if not isinstance(blob, bytes) or len(blob) != size or size % 4:
            continue
        vector = np.frombuffer(blob, "<f4")
        length = float(vector.astype(np.float64) @ vector)
        if abs(length - 1) < _NEAR_ONE or not vector.any():
            yield word, vector


def _near(vectors: dict[str, np.ndarray], probe: Matrix) -> bool:
    """Whether these are the probe's vectors, to `NEAR` in each number."""
    known = [vectors.get(word, np.zeros(0)) for word in _PROBE]
    return all(
        len(a) == len(b) and np.abs(a - b).max() <= NEAR
        for a, b in zip(known, probe, strict=True)
    )
