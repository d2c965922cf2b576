"""A LoRA adapter's folder as a whole model: base weights and adapter in one, so that any method can start from it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from data.errors import one_line_errors
from models.load import load_model
from models.processes import run_module


def merge_adapter(adapter: str, folder: Path, dtype: str) -> None:
    """Save `adapter`, merged into its base model in `dtype`, with the tokenizer in `folder`, whole or not at all.

    In a process of its own: under ZeRO-3 every model that the trainer's process loads is cut into shards.
    """
    run_module("models.merge", adapter, str(folder), dtype, failure=f"cannot start from the LoRA adapter in {adapter}")


def main(adapter: str, folder: Path, dtype: str) -> None:
    """The merging itself."""
    model, tokenizer = load_model(adapter, dtype=dtype)
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # what a kill left
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    partial.rename(folder)


if __name__ == "__main__":
    with one_line_errors(f"{sys.argv[1]}: this LoRA adapter cannot be merged"):
        main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
