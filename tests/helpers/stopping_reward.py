"""A reward of nothing that sends its process a signal at one of its calls: a run is stopped where a test wants it."""

import os
import signal

_calls = 0


def stop(completions, **kwargs):
    """STOP_AT: at which call, `3 3` for twice; STOP_BY: which signal; STOP_RANK: of one process; STOP_PARENT: its launcher."""
    global _calls
    _calls += 1
    mine = os.environ.get("RANK", "0")
    if os.environ.get("STOP_RANK", mine) == mine:
        to = os.getppid() if "STOP_PARENT" in os.environ else os.getpid()
        for at in os.environ.get("STOP_AT", "").split():
            if int(at) == _calls:
                os.kill(to, getattr(signal, os.environ.get("STOP_BY", "SIGTERM")))
    return [0.0 for _ in completions]
