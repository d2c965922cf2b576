"""Run a step's command so that its output is kept, is seen where somebody looks, and nothing outlives this process."""

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

from sozo.data.secrets import without_credentials


def run_logged(command: list[str], log: Path) -> int:
    """Run `command` with its output added to `log`; its exit status (negative: the signal that ended it).

    The command gets a session and a terminal of its own, which hangs up when this process ends in any way, so nothing
    stays unseen on the GPUs. Where standard error is a terminal the output is shown there too, with moving progress
    bars, of which the log has only the last state.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    show, (terminal, own_end) = sys.stderr.isatty(), pty.openpty()
    if show:
        fcntl.ioctl(own_end, termios.TIOCSWINSZ, fcntl.ioctl(sys.stderr, termios.TIOCGWINSZ, bytes(8)))
    with log.open("ab") as file:
        file.write(f"{'' if file.tell() == 0 else chr(10)}$ {without_credentials(shlex.join(command))}\n".encode())
        file.flush()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=own_end if show else file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(own_end,),  # with nobody holding it the terminal would be gone, and could not hang up
            preexec_fn=partial(_take, own_end),
        )
        os.close(own_end)
        try:
            if show:
                _copy(terminal, file)
            return child.wait()
        finally:
            os.close(terminal)  # it hangs up, and what is left of the command ends; torchrun then ends its workers
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)


def tail(log: Path, lines: int) -> str:
    """The last lines of a log, without control characters."""
    text = log.read_bytes()[-64_000:].decode("utf-8", "replace")
    kept = [line for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join("".join(c for c in line if c.isprintable() or c == "\t") for line in kept)


def _take(terminal: int) -> None:
    """In the command's process: make `terminal` its own, and let it be ended by its hanging up even under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def _copy(terminal: int, log: BinaryIO) -> None:
    """The command's output to standard error as it is, and to the log line by line."""
    line = b""
    while output := _read(terminal):
        sys.stderr.buffer.write(output)
        sys.stderr.buffer.flush()
        *complete, line = (line + output).split(b"\n")
        log.writelines(_last_state(text) + b"\n" for text in complete)
        log.flush()
    log.write(_last_state(line))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def _last_state(line: bytes) -> bytes:
    """A line without what was written over: a progress bar's earlier states."""
    return line.rstrip(b"\r").rpartition(b"\r")[2]
