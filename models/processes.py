"""How a process of ours runs: in one of its own where need be, without chatter, and keeping its large memory."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from data.errors import UserError

_DISTRIBUTED = ("ACCELERATE_", "MASTER_", "TORCHELASTIC_")
_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
# What glibc starts with.
_DEFAULTS = {_M_MMAP_MAX: 65_536, _M_TRIM_THRESHOLD: 128 * 1024}


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


def keep_freed_memory() -> None:
    """Keep the memory of large tensors for the next ones, in this process, where the C library is glibc.

    glibc maps every large block afresh and unmaps it when it is freed. GRPO of Gemma 3 270M spent 40% of its
    processor time in the kernel on that. The process no longer gives memory back before it ends. So it is not for
    code whose large tensors grow step by step, as the cache of `model.generate` does: each is too large for what the
    one before has left, and 64 completions of Gemma 3 270M then fill 24 GiB.
    """
    _mallopt({_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: -1})


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """`keep_freed_memory` for as long as this lasts; what was kept is given back when there is need."""
    keep_freed_memory()
    try:
        yield
    finally:
        _mallopt(_DEFAULTS)


def _mallopt(options: dict[int, int]) -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc: macOS, Windows, musl
        return
    for option, value in options.items():
        mallopt(option, value)
