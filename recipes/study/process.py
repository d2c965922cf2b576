"""Run a step's command so that its output is kept, is seen where somebody looks, and nothing outlives this process."""

from __future__ import annotations

import fcntl
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
from functools import partial
from pathlib import Path
from typing import BinaryIO

_PATIENCE = 20.0


def run_logged(command: list[str], log: Path, *, show: bool) -> int:
    """Run `command` with its output added to `log`; its exit status (negative: the signal that ended it).

    The command gets a session and a terminal of its own. When this process ends, in whatever way, that terminal hangs
    up and the kernel tells the command's processes so: nothing goes on unseen on the GPUs. Their output goes to the
    log, and if `show` to this terminal too, where progress bars move; the log then has their last state only.

    Args:
        command: Words; no shell sees them.
        log: The file to add to.
        show: Whether standard error of this process is a terminal that somebody looks at.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal, own_end = pty.openpty()
    with log.open("ab") as file:
        try:
            if show:
                fcntl.ioctl(own_end, termios.TIOCSWINSZ, fcntl.ioctl(sys.stderr, termios.TIOCGWINSZ, bytes(8)))
            file.write(f"{'' if file.tell() == 0 else chr(10)}$ {shlex.join(command)}\n".encode())
            file.flush()
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=own_end if show else file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(own_end,),  # with nobody holding it the terminal would be gone, and could not hang up
                preexec_fn=partial(fcntl.ioctl, own_end, termios.TIOCSCTTY, 0),
            )
            os.close(own_end)
            own_end = -1
            try:
                if show:
                    _copy(terminal, file)
                return child.wait()
            except BaseException:
                _end(child)
                raise
        finally:
            os.close(terminal)
            if own_end >= 0:
                os.close(own_end)


def tail(log: Path, lines: int) -> str:
    """The last lines of a log, without control characters."""
    text = log.read_bytes()[-64_000:].decode("utf-8", "replace")
    kept = [line for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join("".join(c for c in line if c.isprintable() or c == "\t") for line in kept)


def _copy(terminal: int, log: BinaryIO) -> None:
    """The command's output to standard error as it is, and to the log line by line."""
    line = b""
    while True:
        try:
            read = os.read(terminal, 65_536)
        except OSError:  # how Linux says that the other end is closed
            read = b""
        if not read:
            break
        sys.stderr.buffer.write(read)
        sys.stderr.buffer.flush()
        *whole, line = (line + read).split(b"\n")
        for text in whole:
            log.write(_last_state(text) + b"\n")
        log.flush()
    log.write(_last_state(line))


def _last_state(line: bytes) -> bytes:
    """A line without what was written over: a progress bar's earlier states."""
    return line.rstrip(b"\r").rpartition(b"\r")[2]


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the command and its children, politely first: torchrun ends its workers itself when asked."""
    for ask in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, ask)
            child.wait(_PATIENCE)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
