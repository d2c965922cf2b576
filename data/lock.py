"""A folder's lock: held by a process until it gives it back or ends, however it ends."""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import socket
from pathlib import Path
from typing import IO

from data.errors import UserError

_NAME = "_lock"  # TRL's push_to_hub leaves "_*" out
_held: dict[Path, IO[str]] = {}
os.register_at_fork(after_in_child=_held.clear)  # a child's end must not remove its parent's lock


def lock(folder: Path) -> None:
    """Let no other process work in `folder`, which is made if it is missing; taken twice, it is still one lock."""
    path = folder.resolve() / _NAME
    while path not in _held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+")
        except OSError as error:
            raise UserError(f"{folder}: cannot be written ({error.strerror}); give another output folder") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read() or "another process"
            raise UserError(f"{folder}: {holder} is at work here; wait for it or end it, and try again") from error
        except OSError as error:  # some network file systems have no locks
            logging.getLogger(__name__).warning("%s: cannot be locked (%s)", folder, error.strerror)
        # The last holder may have removed the file between our opening and locking it: then it is not the lock.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}")
            file.flush()
            _held[path] = file
            atexit.register(unlock, folder.resolve())


def unlock(folder: Path) -> None:
    """Give the lock back, if this process has it."""
    path = folder.resolve() / _NAME
    if file := _held.pop(path, None):
        path.unlink(missing_ok=True)  # before others can lock it: afterwards it would be theirs
        file.close()
