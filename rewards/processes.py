"""The processes of a distributed run, without importing torch where there is none."""

from __future__ import annotations

import sys
from typing import Any


def rank() -> int:
    """This process's number, 0 in a run of one process."""
    distributed = _distributed()
    return int(distributed.get_rank()) if distributed else 0


def gather(local: Any) -> list[Any]:
    """Every process's object (pickled), in rank order. All processes must call it together."""
    distributed = _distributed()
    if distributed is None:
        return [local]
    everyone: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everyone, local)
    return everyone


def _distributed() -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch.distributed if torch.distributed.get_world_size() > 1 else None
