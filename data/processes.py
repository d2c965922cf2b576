"""The processes of one run: who this one is, and where they meet. torch is imported only where there are several."""

import ctypes
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

_DEATH_SIGNAL = 1  # Linux' PR_SET_PDEATHSIG
_launcher: list[int] = []  # a descriptor that can be read once the launcher has ended
_OF_LAUNCHERS = (
    "TORCHELASTIC_RUN_ID",
    "ACCELERATE_DYNAMO_BACKEND",
)  # variables of torchrun, and of accelerate


def end_with_parent(by: signal.Signals) -> None:
    """From now on this process gets the signal `by` when its parent ends in any way, even by kill -9.

    It needs Linux; elsewhere nothing happens, and a folder's lock remains the protection.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, by)


def end_with_launcher() -> None:
    """From now on this process ends when its launcher does, even by kill -9, after which workers would train on.

    Started by a shell it does nothing: a shell may close while its command goes on (nohup).
    """
    if any(name in os.environ for name in _OF_LAUNCHERS):
        # Where several are, not SIGTERM: it waits for Python, which may wait for a process that has ended already.
        end_with_parent(signal.SIGTERM if world_size() == 1 else signal.SIGKILL)
        with suppress(AttributeError, OSError):  # Linux' own
            _launcher.append(os.pidfd_open(os.getppid()))


def say_last(line: str) -> None:
    """Write a line to standard error again once the launcher, which prints a traceback of its own, has ended."""
    if not _launcher:
        return
    ready, out_of_reach = os.pipe()
    if os.fork():
        os.close(out_of_reach)
        # Before this process ends: then the launcher ends all of its session.
        os.read(ready, 1)
        return
    os.setsid()
    os.write(out_of_reach, b".")
    select.select(_launcher, [], [], 60)
    os.write(2, line.encode())
    os._exit(0)


class Processes(NamedTuple):
    """Process `rank` of `world`, as they share batches out.

    >>> [batch for batch in range(5) if Processes(1, 2).mine(batch)]
    [1, 3]
    """

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes what is written once."""
        return self.rank == 0

    def mine(self, batch: int) -> bool:
        """Whether this process draws batch number `batch`."""
        return batch % self.world == self.rank


def world_size() -> int:
    """How many processes the launcher started, by its own variable: connecting them here could be too early."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this is the first of the launched processes, or the only one; nothing need be connected yet."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def launched() -> Iterator[Processes]:
    """This run's processes, connected; one, without importing torch, where nobody launched several."""
    end_with_launcher()
    if world_size() == 1:
        yield Processes()
        return
    import torch
    from accelerate.utils import parse_flag_from_env

    from accelerate import PartialState

    cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.cuda.is_available()
    # Sampling has no collectives: the fastest process may wait for the slowest for days.
    state = PartialState(cpu=cpu, timeout=timedelta(days=30))
    # Not in a finally: after an error the others do not come, and closing the group would wait for them.
    yield Processes(state.process_index, state.num_processes)
    state.destroy_process_group()


def rank() -> int:
    """This process's number among the connected ones, 0 where it is alone."""
    return int(group.get_rank()) if (group := _connected()) else 0


def gather(local: Any) -> list[Any]:
    """Every connected process's object (pickled), in rank order. All of them must call it together."""
    if (group := _connected()) is None:
        return [local]
    everyone = [None] * group.get_world_size()
    group.all_gather_object(everyone, local)
    return everyone


def wait() -> None:
    """Return when all connected processes are here."""
    if _connected():
        from accelerate import PartialState

        PartialState().wait_for_everyone()


def _connected() -> Any:
    """torch.distributed where it connects several processes; nobody can have connected them without torch."""
    group = getattr(sys.modules.get("torch"), "distributed", None)
    several = (
        group
        and group.is_available()
        and group.is_initialized()
        and group.get_world_size() > 1
    )
    return group if several else None
