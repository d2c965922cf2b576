"""What the recipes share: how a method trains, with the tiny model's YAML by default, and how a task is answered."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import end_with_launcher, is_first
from sozo.data.settings import setting


@dataclass(frozen=True)
class Output:
    """Where the results go."""

    output_dir: str = setting("", "Folder of this run: config.json, metrics.json and responses/part-*.parquet.")


def answer(settings: type, tasks: Callable[[Any], Mapping[str, Any]]) -> None:
    """Let a model answer the tasks that the command line's `settings` stand for; print the results.

    Each has its folder in the output's: `tasks` gives them by its name. Of several, each gets num_responses answers, or
    nearly so: each of its items as many. A single task has no name, and is answered as `sozo TASK` does.
    """
    end_with_launcher()
    from sozo.data.record import write_json
    from sozo.eval.draw import SamplingOptions
    from sozo.eval.run import answer_task
    from sozo.eval.terminal import print_run
    from sozo.models.generators import Loaded
    from sozo.models.settings import GeneratorSettings
    from sozo.training.config import read_settings

    groups = (Output, GeneratorSettings, SamplingOptions, settings)
    output, generator, sampling, asked = read_settings(groups, sys.argv[1:])
    built = tasks(asked)
    if not (output.output_dir and generator.model):
        raise UserError("give --model and --output_dir")
    folder, metrics = Path(output.output_dir), {}
    with Loaded() as loaded:  # the model once for all tasks
        for name, task in built.items():
            if name:
                each = max(1, (sampling.num_responses or 0) // len(task.items()))
                sampling = replace(sampling, num_answers=each)
            run = answer_task(task, generator, sampling, folder / name, loaded)()
            if run is not None:  # of several processes the first one prints
                print_run(run)
                if run.stopped:
                    raise SystemExit(3)
                metrics[name] = run.metrics
    if metrics and "" not in metrics:
        write_json(folder / "metrics.json", metrics)


def recipe(method: str) -> tuple[Any, type, type]:
    """Of a method what trains, its own settings and TRL's."""
    if method == "grpo":
        from sozo.training import grpo

        return grpo.train_grpo, grpo.GrpoArguments, grpo.GrpoSettings
    from sozo.training import sft_dpo as table

    if method == "sft":
        return table.train_sft, table.SftArguments, table.SftSettings
    return table.train_dpo, table.DpoArguments, table.DpoSettings


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

    `--dry-run` checks the settings, says how many completions are paid for, and runs nothing.
    """
    end_with_launcher()
    argv = sys.argv[1:]
    if not any(word.partition("=")[0] == "--config" for word in argv):
        argv = ["--config", str(Path(__file__).parent / "tiny" / f"{method}.yaml"), *argv]
    with one_line_errors(f"{method}_dat"):
        from sozo.training.config import parse

        train, own, settings = recipe(method)
        chosen: tuple[Any, Any, Any] = parse(own, settings, [word for word in argv if word != "--dry-run"])
        if "--dry-run" in argv:
            print(plan(*chosen[:2]))
            return
        folder = train(*chosen)
    if is_first():
        print(f"The trained model is in {folder}")
