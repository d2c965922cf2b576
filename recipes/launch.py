"""What the training recipes share: the tiny model's YAML by default, and a user's mistake as one line."""

import sys
from pathlib import Path
from typing import Any

from data.errors import one_line_errors
from data.processes import end_with_launcher, is_first


def recipe(method: str) -> tuple[Any, type, type]:
    """Of a method what trains, its own settings and TRL's."""
    from training.grpo import GrpoArguments, GrpoSettings, train_grpo
    from training.sft_dpo import DpoArguments, DpoSettings, SftArguments, SftSettings, train_dpo, train_sft

    if method == "sft":
        return train_sft, SftArguments, SftSettings
    if method == "dpo":
        return train_dpo, DpoArguments, DpoSettings
    return train_grpo, GrpoArguments, GrpoSettings


def launch(method: str) -> None:
    """Train by `method` with the flags of the command line; `--config` is the tiny model's YAML unless one names it."""
    end_with_launcher()
    argv = sys.argv[1:]
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = ["--config", str(Path(__file__).parent / "tiny" / f"{method}.yaml"), *argv]
    with one_line_errors(f"{method}_dat"):
        from training.config import parse

        train, own, settings = recipe(method)
        folder = train(*parse(own, settings, argv))
    if is_first():
        print(f"The trained model is in {folder}")
