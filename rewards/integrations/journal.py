"""What `sozo serve` replied, by name, and which answers it has seen: written down before a reply goes out."""

import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError

MOST_REPLIES, MOST_SECONDS = 10_000, 24 * 60 * 60
_FILE = "journal.sqlite"
# A write is in the log of SQLite, and on the disk, when it returns; the log's torn end is passed over. The lock is held
# until the process is dead, however it died.
_OPEN = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS replies (name TEXT PRIMARY KEY, digest TEXT, reply BLOB, at REAL);
CREATE INDEX IF NOT EXISTS replies_at ON replies (at);
CREATE TABLE IF NOT EXISTS seen (key BLOB PRIMARY KEY) WITHOUT ROWID;
"""


class JournalError(Exception):
    """The journal cannot be written: its disk is full, or gone."""


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise JournalError(f"the journal cannot be written ({error})") from error


class Journal:
    """Replies and the history of duplicates in `folder`, for one server at a time; without one they end with it.

    A name's reply is found for 24 hours, unless 10,000 newer ones have come. `about` says which reward the folder
    belongs to (JSON values); a UserError if it is another's, or cannot be used. Safe to call from several threads.

    >>> from contextlib import closing
    >>> with closing(Journal(None, {})) as journal:
    ...     journal.keep("key a", "digest", b"reply", [b"seen"])
    ...     journal.find("key a"), journal.find("key b"), journal.seen()
    (('digest', b'reply'), None, [b'seen'])
    """

    def __init__(self, folder: Path | None, about: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        # SQLite's own number for such a purpose; 0 is that of a new file.
        mark = (
            zlib.crc32(json.dumps(about, sort_keys=True, default=str).encode()) >> 1
            or 1
        )
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
                if any(path.is_symlink() for path in folder.glob(f"{_FILE}*")):
                    raise UserError(f"{folder}: {_FILE} is a link; name another folder")
            self._db = sqlite3.connect(
                folder / _FILE if folder else "", timeout=0, check_same_thread=False
            )
            self._db.executescript(_OPEN)
            (known,) = self._db.execute("PRAGMA user_version").fetchone()
            if known not in (0, mark):
                raise UserError(
                    f"{folder}: the journal is of another task or reward; name another folder"
                )
            self._db.execute(f"PRAGMA user_version = {mark}")
        except (OSError, sqlite3.Error) as error:
            remedy = "end the server that has it, or name another folder"
            raise UserError(
                f"{folder}: the journal cannot be opened ({error}); {remedy}"
            ) from error

    def find(self, name: str) -> tuple[str, bytes] | None:
        """Digest of the body and reply, as `keep` was given them; None if there is none, or no longer."""
        query = "SELECT digest, reply FROM replies WHERE name = ? AND at > ?"
        with self._lock:
            return self._db.execute(
                query, (name, time.time() - MOST_SECONDS)
            ).fetchone()

    def keep(self, name: str, digest: str, reply: bytes, seen: Iterable[bytes]) -> None:
        """Write down a reply and the keys of the answers that it adds to the history; it is safe when this returns."""
        with self._lock, _told(), self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)",
                (name, digest, reply, time.time()),
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO seen VALUES (?)", ((key,) for key in seen)
            )
            older = "SELECT rowid FROM replies ORDER BY at DESC LIMIT -1 OFFSET ?"
            stale = (time.time() - MOST_SECONDS, MOST_REPLIES)
            self._db.execute(
                f"DELETE FROM replies WHERE at <= ? OR rowid IN ({older})",  # noqa: S608 - no input
                stale,
            )

    def drop(self, name: str) -> None:
        """Forget a reply."""
        with self._lock, _told(), self._db:
            self._db.execute("DELETE FROM replies WHERE name = ?", (name,))

    def seen(self) -> list[bytes]:
        """The keys of the history, in any order."""
        with self._lock:
            return [key for (key,) in self._db.execute("SELECT key FROM seen")]

    def reset(self) -> None:
        """Begin the history anew; replies stay."""
        with self._lock, _told(), self._db:
            self._db.execute("DELETE FROM seen")

    def close(self) -> None:
        """Let another server have the folder."""
        self._db.close()
