"""SIGTERM, by which a scheduler says that a training must make room: it ends with status 75, to be started again.

While nothing is there to save the process ends at once. From `note_sigterm` on the signal is noted, and the training
looks for it where it can stop.
"""

import os
import signal
import sys
import threading
from typing import Any, NoReturn

from sozo.data.processes import is_first

PREEMPTED = 75  # the system's EX_TEMPFAIL: start it again
_phase = {"saves": False, "asked": False}


def obey_sigterm() -> None:
    """From now on SIGTERM ends this process with PREEMPTED, unless somebody else has use for the signal."""
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    ):
        signal.signal(signal.SIGTERM, _on_sigterm)
        os.register_at_fork(after_in_child=_obey_no_more)


def note_sigterm() -> None:
    """From now on a SIGTERM changes nothing but `sigterm_came`."""
    _phase["saves"] = True


def sigterm_came() -> bool:
    """Whether this process got a SIGTERM since `note_sigterm`; others may have got one and not this."""
    return _phase["asked"]


def end_preempted(what: str) -> NoReturn:
    """Say what became of the run, and end."""
    _say(what)
    sys.exit(PREEMPTED)  # which W&B watches: the run is not marked as finished


def _say(what: str) -> None:
    if is_first():
        os.write(2, f"SIGTERM: {what} (exit status {PREEMPTED})\n".encode())


def _obey_no_more() -> None:
    """A forked child, such as a worker of a data set, is ended by its parent as ever."""
    if signal.getsignal(signal.SIGTERM) == _on_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _on_sigterm(*_: Any) -> None:
    if _phase["saves"]:
        _phase["asked"] = True
        return
    _say("this start had not trained yet; the same command goes on")
    # No exception: a library may swallow it, and a process that waits for others on its way out may wait for ever.
    os._exit(PREEMPTED)
