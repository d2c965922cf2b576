"""What the libraries print that a reader can do nothing about."""

from __future__ import annotations

import os
import sys
import warnings


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
