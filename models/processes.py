"""Processes: one of its own for work that comes out the same inside any distributed run, and none that chatters."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

from data.errors import UserError

_DISTRIBUTED = ("ACCELERATE_", "MASTER_", "TORCHELASTIC_")
_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


def run_module(module: str, *arguments: str, failure: str) -> None:
    """`python -m module arguments`, outside the distributed run; what it prints goes to standard error."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_DISTRIBUTED) and k not in _RANKS}
    # Our own standard output may be read by somebody; 2 is standard error even where sys.stderr is no file.
    done = subprocess.run([sys.executable, "-m", module, *arguments], env=environment, check=False, stdout=2)
    if done.returncode:
        raise UserError(f"{failure} (the lines above say why)")


def quiet_libraries(*, use_cpu: bool) -> None:
    """Spare everybody warnings about what only the libraries can change, and bars where there is no terminal."""
    # TRL 1.16 uses transformers' old name of activation checkpointing.
    warnings.filterwarnings("ignore", message=".*gradient_checkpointing", category=FutureWarning)
    if use_cpu:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # else DeepSpeed warns that it found no GPU
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # which TRL asks before it shows a bar of its own
        from datasets import disable_progress_bars
        from transformers.utils import logging

        disable_progress_bars()
        logging.disable_progress_bar()
