"""Run a step's command so that its output is kept, is told of, and nothing outlives this process."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from sozo.data.preemption import PREEMPTED
from sozo.data.processes import end_with_parent
from sozo.data.secrets import without_credentials

_GRACE = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"  # accelerate's, too: seconds that a training has to write a checkpoint
# This Python's own, whatever the shell's PATH says.
_OWN = {"sozo": "sozo", "accelerate": "accelerate.commands.accelerate_cli"}


def end_preempted(*_: Any) -> NoReturn:
    """End by SIGTERM with the step under way, which may write a checkpoint; another SIGTERM changes nothing."""
    signal.signal(signal.SIGTERM, _came_before)
    sys.exit(PREEMPTED)


def _came_before(*_: Any) -> None:
    pass


def run_logged(
    command: list[str],
    log: Path,
    tell: Callable[[], None],
) -> int:
    """Run `command` with its output added to `log`; its exit status (negative: the signal that ended it).

    `tell` is called now and then. The command ends, with time for a
    checkpoint, when this process ends in any way, so that nothing stays unseen on the GPUs (kill -9 of this process: on
    Linux only).
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    program, *words = command
    if module := _OWN.get(program):
        command = [sys.executable, "-m", module, *words]
    with log.open("ab") as file:
        file.write(f"$ {without_credentials(shlex.join([program, *words]))}\n".encode())
        file.flush()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={_GRACE: "120"} | os.environ,
            start_new_session=True,  # Ctrl-C reaches this process alone, which then ends the command
            preexec_fn=partial(end_with_parent, signal.SIGTERM),
        )
        try:
            while True:
                # While it forks Python ignores an exception.
                if signal.getsignal(signal.SIGTERM) == _came_before:
                    sys.exit(PREEMPTED)
                try:
                    return child.wait(30)
                except subprocess.TimeoutExpired:
                    tell()
        finally:
            _end(child, by_slurm=program.endswith("srun"))


def _end(child: subprocess.Popen[bytes], by_slurm: bool) -> None:
    """End what is left of the command and of the processes that it started; a launcher may end before a training."""
    with suppress(ProcessLookupError):
        job = os.environ.get("SLURM_JOB_ID")
        if by_slurm and job and child.poll() is None:
            # srun kills its tasks when it gets SIGTERM itself; scancel hands it to them.
            subprocess.run(["scancel", "--signal=TERM", job], check=False)  # noqa: S607
        else:
            os.killpg(child.pid, signal.SIGTERM)
        until = time.monotonic() + float(os.environ.get(_GRACE, 120))
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
