"""Work that must come out the same inside any distributed run is done in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from data.errors import UserError

_DISTRIBUTED = ("ACCELERATE_", "MASTER_", "TORCHELASTIC_")
_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


def run_module(module: str, *arguments: str, failure: str) -> None:
    """`python -m module arguments`, outside the distributed run; what it prints goes to standard error.

    Raises:
        UserError: It failed, said in the words of `failure`; what it printed says why.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_DISTRIBUTED) and k not in _RANKS}
    # Our own standard output may be read by somebody; 2 is standard error even where sys.stderr is no file.
    done = subprocess.run([sys.executable, "-m", module, *arguments], env=environment, check=False, stdout=2)
    if done.returncode:
        raise UserError(f"{failure} (the lines above say why)")
