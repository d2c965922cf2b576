"""How a process of ours runs: in one of its own where need be, without chatter, and keeping its large memory."""

import ctypes
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sozo.data.errors import UserError

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_kept = False  # whether this process keeps freed memory to its end


def run_module(module: str, *arguments: str, failure: str) -> None:
    """`python -m module arguments`, outside the distributed run; what it prints goes to standard error."""
    ours = re.compile("ACCELERATE_|MASTER_|TORCHELASTIC_|(LOCAL_)?(RANK|WORLD_SIZE)$")
    environment = {
        name: value for name, value in os.environ.items() if not ours.match(name)
    }
    # Our own standard output may be read by somebody; 2 is standard error even where sys.stderr is no file.
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        check=False,
        stdout=2,
    )
    if done.returncode:
        raise UserError(f"{failure} (the lines above say why)")


def quiet_libraries(*, use_cpu: bool) -> None:
    """Spare everybody warnings about what only the libraries can change, and bars where there is no terminal.

    Telemetry is off: TRL's trainers would tell the hub that they run.
    """
    from huggingface_hub import constants

    os.environ.setdefault("DO_NOT_TRACK", "1")  # of processes to come, vLLM's too
    constants.HF_HUB_DISABLE_TELEMETRY = True
    # TRL 1.16 uses transformers' old name of activation checkpointing.
    warnings.filterwarnings(
        "ignore", message=".*gradient_checkpointing", category=FutureWarning
    )
    if use_cpu:
        # Else DeepSpeed warns that it found no GPU
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    if not sys.stderr.isatty():
        # Which TRL asks before it shows a bar of its own
        os.environ.setdefault("TQDM_DISABLE", "1")
        from datasets import disable_progress_bars
        from transformers.utils import logging

        disable_progress_bars()
        logging.disable_progress_bar()


def keep_freed_memory() -> None:
    """Keep the memory of large tensors for the next ones, in this process: unmapping it takes glibc 40% of GRPO's time.

    Nothing is given back before the process ends, so this is not for tensors that grow step by step, as the cache of
    `model.generate` does: 64 answers of Gemma 3 270M then fill 24 GiB.
    """
    global _kept
    _kept = True
    _mallopt(mmap_max=0, trim_threshold=-1)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """`keep_freed_memory` for as long as this lasts; what was kept is given back when there is need.

    In a process that keeps it anyway nothing changes.
    """
    if _kept:
        yield
        return
    _mallopt(mmap_max=0, trim_threshold=-1)
    try:
        yield
    finally:
        _mallopt(mmap_max=65_536, trim_threshold=128 * 1024)  # what glibc starts with


def _mallopt(*, mmap_max: int, trim_threshold: int) -> None:
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc: macOS, Windows, musl
        return
    mallopt(_M_MMAP_MAX, mmap_max)
    mallopt(_M_TRIM_THRESHOLD, trim_threshold)
