"""What the recipes of training share: how a method trains, with the tiny model's YAML by default."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, one_line_errors
from sozo.data.preemption import obey_sigterm
from sozo.data.processes import end_with_launcher, is_first
from sozo.data.settings import from_json


def plan(script: Any, training: Any, model: Any) -> Iterator[str]:
    """What a run would be refused for here, and what it would do, a line each; no model is loaded."""
    from sozo.models.needs import not_here
    from sozo.training.absent import absent

    entries = []
    if hasattr(script, "tasks"):
        from sozo.training.grpo import checked_entries

        entries = checked_entries(script, training)
    settings = [
        from_json(script.evaluate, "evaluate"),
        *(entry.model_dump() for entry in entries),
    ]
    lacking = list(not_here(settings, {str(model.model_name_or_path)}))
    lacking += absent(training, model)
    for entry in entries:
        paid = ", ".join(entry.reward_funcs or ["its own reward"])
        try:
            _ = entry.rewards  # imported, and made of their arguments
        except UserError as error:
            lacking.append(str(error))
        completions = int(
            entry.count * training.num_generations * training.num_train_epochs
        )
        counts = f"{entry.count:,} prompts x {training.num_generations} make {completions:,} completions"
        yield f"{entry.name}: {counts}, each paid by {paid}"
    yield from (f"missing: {line}" for line in dict.fromkeys(lacking))
    yield f"{training.output_dir}: nothing was run"


def launch(method: str) -> None:
    """Train by `method` with the flags of the command line; `--config` is the tiny model's YAML unless one names it.

    `--dry-run` says what is missing here and how many completions are paid for, and runs nothing; it needs no GPU.
    """
    end_with_launcher()
    obey_sigterm()
    argv = sys.argv[1:]
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = [
            "--config",
            str(Path(__file__).parent / "tiny" / f"{method}.yaml"),
            *argv,
        ]
    with one_line_errors(f"{method}_dat"):
        from sozo.training.absent import absent
        from sozo.training.config import parse
        from sozo.training.methods import recipe

        train, own, settings = recipe(method)
        dry_run = "--dry-run" in argv
        if dry_run:
            argv = [
                *(word for word in argv if word != "--dry-run"),
                "--bf16",
                "false",
            ]  # bf16 needs a GPU
        chosen: tuple[Any, Any, Any] = parse(own, settings, argv)
        if dry_run:
            if is_first():
                print("\n".join(plan(*chosen)))
            return
        for line in absent(*chosen[1:]):
            raise UserError(line)
        folder = train(*chosen)
    if is_first():
        print(f"The trained model is in {folder}")
