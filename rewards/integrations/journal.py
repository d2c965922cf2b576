"""What `sozo serve` replied, by name, and which answers it has seen: written down before a reply goes out."""

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError

MOST_REPLIES = 10_000
_FILE = "journal.sqlite"
# What a new file holds, all or nothing. A write is in this one file, and on the disk, when it returns: a log beside it
# could be lost by itself. The lock is held until the process is dead, however it died.
_NEW = """
BEGIN;
CREATE TABLE replies (number INTEGER PRIMARY KEY, name TEXT UNIQUE, digest TEXT, reply BLOB, seal INTEGER);
CREATE TABLE seen (sealed BLOB PRIMARY KEY) WITHOUT ROWID;
PRAGMA user_version = {};
COMMIT;
"""
_SEAL = 4  # bytes behind a key of the history, by which a damaged one is known


class JournalError(Exception):
    """The journal cannot be used: its disk is full, or the file is gone, damaged or somebody else's by now."""


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise JournalError(f"the journal cannot be used ({error})") from error


class Journal:
    """Replies and the history of duplicates in `folder`, for one server at a time; without one they end with it.

    A name's reply is found unless 10,000 newer ones have come. `about` says which reward the folder belongs to (JSON
    values); a UserError if it is another's, is damaged, or cannot be used. Safe to call from several threads.

    >>> from contextlib import closing
    >>> with closing(Journal(None, {})) as journal:
    ...     journal.keep("key a", "digest", b"reply", [b"seen"])
    ...     journal.find("key a"), journal.find("key b"), journal.seen()
    (('digest', b'reply'), None, [b'seen'])
    """

    def __init__(self, folder: Path | None, about: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        self._path = folder and folder / _FILE
        # SQLite's own number for such a purpose; 0 is that of a file that says nothing of itself.
        words = json.dumps(about, sort_keys=True, default=str)
        mark = zlib.crc32(words.encode()) >> 1 or 1
        try:
            is_new = self._path is None or self._is_new(self._path, mark)
            self._db = sqlite3.connect(
                self._path or "", timeout=0, check_same_thread=False
            )
            self._db.executescript(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; BEGIN EXCLUSIVE; COMMIT"
            )
            if is_new:
                self._db.executescript(_NEW.format(mark))
            self._stamp = self._stamped()
            if not is_new:
                self._check()
        except (OSError, sqlite3.OperationalError) as error:
            remedy = "end the server that has it, or name another folder"
            raise UserError(
                f"{folder}: the journal cannot be opened ({error}); {remedy}"
            ) from error
        except (sqlite3.Error, JournalError) as error:
            remedy = "put a copy in its place, or name another folder"
            raise UserError(
                f"{folder}: {_FILE} is damaged ({error}), and was left as it is; {remedy}"
            ) from error

    @staticmethod
    def _is_new(path: Path, mark: int) -> bool:
        """Whether there is none yet; a UserError if what is there is not ours. It is not written to."""
        path.parent.mkdir(parents=True, exist_ok=True)
        if any(one.is_symlink() for one in path.parent.glob(f"{_FILE}*")):
            raise UserError(f"{path.parent}: {_FILE} is a link; name another folder")
        if not path.exists():
            return True
        if not path.is_file():
            raise UserError(f"{path}: is no file; name another folder")
        with path.open("rb") as file:
            head = file.read(100)
        if not head:
            line = "is empty, and what it held is lost; name another folder"
            raise UserError(f"{path}: {line}")
        if head[:16] != b"SQLite format 3\0" or head[60:64] == bytes(4):
            raise UserError(f"{path}: is no journal; name another folder")
        if int.from_bytes(head[60:64]) != mark:
            line = "the journal is of another task or reward"
            raise UserError(f"{path.parent}: {line}; name another folder")
        return False

    def _check(self) -> None:
        """Raise unless every page, key and reply is as it was written."""
        found = [line for (line,) in self._db.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise JournalError(" ".join(found[0].split()))
        self.seen()
        for name, *rest in self._db.execute(
            "SELECT name, digest, reply, seal FROM replies"
        ):
            _opened(name, *rest)

    def _stamped(self) -> tuple[int, ...]:
        """What shows that somebody else moved or wrote the file."""
        if self._path is None:
            return ()
        stat = self._path.stat()
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns

    def check_place(self) -> None:
        """Raise JournalError if the file is not the one, as it was left."""
        with _told():
            if self._stamped() != self._stamp:
                raise JournalError(f"{self._path} was moved or changed by another")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, _told():
            self.check_place()
            try:
                with self._db:
                    yield
            finally:
                now = self._stamped()
                # Of what was written here, too, the name must still be this file's.
                if now[:2] == self._stamp[:2]:
                    self._stamp = now

    def find(self, name: str) -> tuple[str, bytes] | None:
        """Digest of the body and reply, as `keep` was given them; None if there is none, or no longer."""
        query = "SELECT digest, reply, seal FROM replies WHERE name = ?"
        with self._lock, _told():
            self.check_place()
            row = self._db.execute(query, (name,)).fetchone()
            return row and _opened(name, *row)

    def keep(self, name: str, digest: str, reply: bytes, seen: Iterable[bytes]) -> None:
        """Write down a reply and the keys of the answers that it adds to the history; it is safe when this returns."""
        with self._writing():
            self._db.execute(
                "INSERT OR REPLACE INTO replies (name, digest, reply, seal) VALUES (?, ?, ?, ?)",
                (name, digest, reply, _seal(name, digest, reply)),
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO seen VALUES (?)",
                ((key + zlib.crc32(key).to_bytes(_SEAL),) for key in seen),
            )
            # By the order in which they came: a clock is set forward, and back.
            self._db.execute(
                "DELETE FROM replies WHERE number <= (SELECT number FROM replies ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (MOST_REPLIES,),
            )

    def drop(self, name: str) -> None:
        """Forget a reply."""
        with self._writing():
            self._db.execute("DELETE FROM replies WHERE name = ?", (name,))

    def seen(self) -> list[bytes]:
        """The keys of the history, in any order."""
        with self._lock, _told():
            sealed = [one for (one,) in self._db.execute("SELECT sealed FROM seen")]
            keys = [one[:-_SEAL] for one in sealed]
            for key, one in zip(keys, sealed, strict=True):
                if zlib.crc32(key).to_bytes(_SEAL) != one[-_SEAL:]:
                    raise JournalError("a key of the history is not as it was written")
            return keys

    def reset(self) -> None:
        """Begin the history anew; replies stay."""
        with self._writing():
            self._db.execute("DELETE FROM seen")

    def close(self) -> None:
        """Let another server have the folder."""
        self._db.close()


def _seal(name: str, digest: str, reply: bytes) -> int:
    return zlib.crc32(reply, zlib.crc32(f"{name} {digest}".encode()))


def _opened(name: str, digest: str, reply: bytes, seal: int) -> tuple[str, bytes]:
    if _seal(name, digest, reply) != seal:
        raise JournalError("a reply is not as it was written")
    return digest, reply
