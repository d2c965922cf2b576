"""Run a step's command so that its output is kept, is seen where somebody looks, and nothing outlives this process."""

import fcntl
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sozo.data.processes import end_with_parent
from sozo.data.secrets import without_credentials

ACCELERATE = ["accelerate", "launch"]
_MINUTE = 60.0  # seconds
GRACE = 120  # seconds that a training has to write a checkpoint


def launched(launch: list[str]) -> list[str]:
    """The words that start a command: by default those of this Python's own accelerate, whatever the shell's PATH says."""
    own = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"]
    return own if launch == ACCELERATE else launch


def run_logged(
    command: list[str],
    log: Path,
    tell: Callable[[], None] = lambda: None,
    grace: int = GRACE,
) -> int:
    """Run `command` with its output added to `log`; its exit status (negative: the signal that ended it).

    `tell` is called once a minute where nobody sees the output; `grace` are the seconds for a checkpoint.

    The command ends, with time for a checkpoint, when this process ends in any way, so that nothing stays unseen on
    the GPUs (kill -9 of this process: on Linux only). Where standard error is a terminal the output is shown there
    too, with moving progress bars, of which the log has only the last state.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    terminal = output = None
    if sys.stderr.isatty():
        terminal, output = pty.openpty()  # progress bars move on a terminal only
        fcntl.ioctl(
            output,
            termios.TIOCSWINSZ,
            fcntl.ioctl(sys.stderr, termios.TIOCGWINSZ, bytes(8)),
        )
    with log.open("ab") as file:
        file.write(
            f"{'' if file.tell() == 0 else chr(10)}$ {without_credentials(shlex.join(command))}\n".encode()
        )
        file.flush()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file if output is None else output,
            stderr=subprocess.STDOUT,
            env=os.environ
            | {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(grace)},  # accelerate's, too
            start_new_session=True,  # Ctrl-C reaches this process alone, which then ends the command
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
        )
        try:
            if terminal is not None and output is not None:
                os.close(output)
                _copy(terminal, file)
            while True:
                try:
                    return child.wait(_MINUTE)
                except subprocess.TimeoutExpired:
                    tell()
        finally:
            _end(child, grace, by_slurm=command[0].endswith("srun"))


def _end(child: subprocess.Popen[bytes], grace: int, by_slurm: bool) -> None:
    """End what is left of the command and of the processes that it started; a launcher may end before a training."""
    with suppress(ProcessLookupError):
        job = os.environ.get("SLURM_JOB_ID")
        if by_slurm and job and child.poll() is None:
            # srun kills its tasks when it gets SIGTERM itself; scancel hands it to them.
            subprocess.run(["scancel", "--signal=TERM", job], check=False)  # noqa: S607
        else:
            os.killpg(child.pid, signal.SIGTERM)
        until = time.monotonic() + grace
        while (child.poll() is None or _lives(child.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)


def _lives(group: int) -> bool:
    """Whether any process of a group has not ended; False where there is no /proc."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, of, *_ = (
                file.read_text("utf-8", "replace").rpartition(")")[2].split()
            )
            if of == str(group) and state not in "ZX":
                return True
    return False


def tail(log: Path, lines: int) -> str:
    """The last lines of a log, without control characters."""
    text = log.read_bytes()[-64_000:].decode("utf-8", "replace")
    kept = [line for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join(
        "".join(c for c in line if c.isprintable() or c == "\t") for line in kept
    )


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
