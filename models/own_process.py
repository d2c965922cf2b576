"""Work that must come out the same inside any distributed run is done in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

_DISTRIBUTED = ("ACCELERATE_", "MASTER_", "TORCHELASTIC_")
_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


def run_module(module: str, *arguments: str) -> None:
    """`python -m module arguments`, outside the distributed run; what it prints goes to standard error.

    Raises:
        subprocess.CalledProcessError: It failed, and has said why.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_DISTRIBUTED) and k not in _RANKS}
    # Our own standard output may be read by somebody; 2 is standard error even where sys.stderr is no file.
    subprocess.run([sys.executable, "-m", module, *arguments], env=environment, check=True, stdout=2)
