"""What `sozo serve` replied, by name, and which answers it has seen: written down before a reply goes out."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.run_folder import first_difference

MOST_REPLIES, MOST_SECONDS = 10_000, 24 * 60 * 60
_FILE = "journal.sqlite"
# A write is in the log of SQLite, and on the disk, when it returns; the log's torn end is passed over. The lock is held
# until the process is dead, however it died.
_OPEN = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS door (about TEXT);
CREATE TABLE IF NOT EXISTS replies (name TEXT PRIMARY KEY, digest BLOB, reply BLOB, at REAL);
CREATE INDEX IF NOT EXISTS replies_at ON replies (at);
CREATE TABLE IF NOT EXISTS seen (key BLOB PRIMARY KEY) WITHOUT ROWID;
"""


class Journal:
    """Replies and the history of duplicates in `folder`, for one server at a time; without one they end with it.

    A name's reply is found for 24 hours, unless 10,000 newer ones have come. `about` says which reward the folder
    belongs to (JSON values); a UserError if it is another's, or cannot be used. Safe to call from several threads.

    >>> with closing(Journal(None, {})) as journal:
    ...     journal.keep("key a", b"digest", b"reply", [b"seen"])
    ...     journal.find("key a"), journal.find("key b"), journal.seen()
    ((b'digest', b'reply'), None, [b'seen'])
    """

    def __init__(self, folder: Path | None, about: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
                if any(path.is_symlink() for path in folder.glob(f"{_FILE}*")):
                    raise UserError(f"{folder}: {_FILE} is a link; name another folder")
            self._db = sqlite3.connect(folder / _FILE if folder else "", timeout=0, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{folder}: cannot hold a journal ({error}); name another folder") from error
        try:
            self._db.executescript(_OPEN)
            with self._db:
                about = json.loads(json.dumps(about, default=str))
                (known,) = self._db.execute("SELECT about FROM door").fetchone() or (None,)
                if known is None:
                    self._db.execute("INSERT INTO door VALUES (?)", (json.dumps(about),))
                elif difference := first_difference(json.loads(known), about):
                    key, old, new = difference
                    raise UserError(f"{folder}: the journal is of {key} {old!r}, not {new!r}; name another folder")
        except sqlite3.Error as error:
            self._db.close()
            remedy = "end the server that has it, or name another folder"
            raise UserError(f"{folder}: the journal cannot be opened ({error}); {remedy}") from error
        except UserError:
            self._db.close()
            raise

    def find(self, name: str) -> tuple[bytes, bytes] | None:
        """Digest of the body and reply, as `keep` was given them; None if there is none, or no longer."""
        query = "SELECT digest, reply FROM replies WHERE name = ? AND at > ?"
        with self._lock:
            found: tuple[bytes, bytes] | None
            found = self._db.execute(query, (name, time.time() - MOST_SECONDS)).fetchone()
        return found

    def keep(self, name: str, digest: bytes, reply: bytes, seen: Iterable[bytes]) -> None:
        """Write down a reply and the keys of the answers that it adds to the history; it is safe when this returns."""
        with self._lock, self._db:
            self._db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", (name, digest, reply, time.time()))
            self._db.executemany("INSERT OR IGNORE INTO seen VALUES (?)", ((key,) for key in seen))
            older = "SELECT rowid FROM replies ORDER BY at DESC LIMIT -1 OFFSET ?"
            stale = (time.time() - MOST_SECONDS, MOST_REPLIES)
            self._db.execute(f"DELETE FROM replies WHERE at <= ? OR rowid IN ({older})", stale)  # noqa: S608 - no input

    def drop(self, name: str) -> None:
        """Forget a reply."""
        with self._lock, self._db:
            self._db.execute("DELETE FROM replies WHERE name = ?", (name,))

    def seen(self) -> list[bytes]:
        """The keys of the history, in any order."""
        with self._lock:
            return [key for (key,) in self._db.execute("SELECT key FROM seen")]

    def reset(self) -> None:
        """Begin the history anew; replies stay."""
        with self._lock, self._db:
            self._db.execute("DELETE FROM seen")

    def close(self) -> None:
        """Let another server have the folder."""
        self._db.close()
