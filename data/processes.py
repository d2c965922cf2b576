"""The processes of `accelerate launch`: who this one is, and the two places where they wait for each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

# Sampling has no collectives: the fastest process may wait for the slowest for days.
_PATIENCE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Processes:
    """Process `rank` of `world`.

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

    def wait(self) -> None:
        """Return when all processes are here."""
        if self.world > 1:
            from accelerate import PartialState

            PartialState().wait_for_everyone()


def world_size() -> int:
    """How many processes the launcher started; it has not connected them yet."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def launched() -> Iterator[Processes]:
    """This run's processes; one, without importing torch, where nobody launched several."""
    if world_size() == 1:
        yield Processes()
        return
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.cuda.is_available()
    state = PartialState(cpu=cpu, timeout=_PATIENCE)
    # Not in a finally: after an error the others do not come, and closing the group would wait for them.
    yield Processes(state.process_index, state.num_processes)
    state.destroy_process_group()
