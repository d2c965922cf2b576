"""What the recipes of training share: how a method trains, with the tiny model's YAML by default."""

import sys
from pathlib import Path
from typing import Any

from sozo.data.errors import one_line_errors
from sozo.data.processes import end_with_launcher, is_first


def plan(script: Any, training: Any) -> str:
    """What a run would do, in one line: the settings are in order, nothing was loaded."""
    if not hasattr(script, "entries"):
        return f"{training.output_dir}: the settings are in order; nothing was run"
    prompts = sum(entry.count for entry in script.entries)
    completions = int(prompts * training.num_generations * training.num_train_epochs)
    counts = f"{prompts:,} prompts x {training.num_generations} make {completions:,} completions"
    paid = ", ".join(path for entry in script.entries for path in entry.reward_funcs or [f"the reward of {entry.name}"])
    return f"{training.output_dir}: {counts}, each paid by {paid} (one judgement each, of a judge); nothing was run"


def launch(method: str) -> None:
    """Train by `method` with the flags of the command line; `--config` is the tiny model's YAML unless one names it.

    `--dry-run` checks the settings, says how many completions are paid for, and runs nothing; it needs no GPU.
    """
    end_with_launcher()
    argv = sys.argv[1:]
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = ["--config", str(Path(__file__).parent / "tiny" / f"{method}.yaml"), *argv]
    with one_line_errors(f"{method}_dat"):
        from sozo.training.config import parse
        from sozo.training.methods import recipe

        train, own, settings = recipe(method)
        dry_run = "--dry-run" in argv
        if dry_run:
            argv = [*(word for word in argv if word != "--dry-run"), "--bf16", "false"]  # bf16 needs a GPU
        chosen: tuple[Any, Any, Any] = parse(own, settings, argv)
        if dry_run:
            if is_first():
                print(plan(*chosen[:2]))
            return
        folder = train(*chosen)
    if is_first():
        print(f"The trained model is in {folder}")
