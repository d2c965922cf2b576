"""What a GRPO run can be told, and the checks that need no model: what is impossible is refused here, in one line."""

from __future__ import annotations

import difflib
import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trl import GRPOConfig, ModelConfig, TrlParser

RewardFunc = Callable[..., list[float | None]]


class ConfigError(ValueError):
    """The user's settings cannot work; the message says what to change."""


@dataclass
class GrpoArguments:
    """The task: how often the DAT prompt is asked, and what is paid for the answers.

    Args:
        num_prompts: Copies of the DAT prompt in one epoch (the paper: 4,096).
        reward_funcs: Dotted paths of reward functions.
        reward_args: Per path of `reward_funcs`, keyword arguments; the path then names a factory that is called with
            them. A mapping in YAML, JSON on the command line. Weights are TRL's `reward_weights`.
        completions_logged: Completions per logging step in the W&B table.
    """

    num_prompts: int = field(default=4096, metadata={"help": "Copies of the DAT prompt in one epoch."})
    reward_funcs: list[str] = field(
        default_factory=lambda: ["rewards.dat_reward"], metadata={"help": "Dotted paths of reward functions."}
    )
    reward_args: dict | str | None = field(
        default=None,
        metadata={"help": "Keyword arguments per path of reward_funcs, which then names a factory (JSON)."},
    )
    completions_logged: int = field(default=8, metadata={"help": "Completions per logging step in the W&B table."})

    def __post_init__(self) -> None:
        if isinstance(self.reward_args, str):
            try:
                self.reward_args = json.loads(self.reward_args)
            except json.JSONDecodeError as error:
                raise ConfigError(f"reward_args is not JSON ({error}): {self.reward_args}") from error
        if self.num_prompts < 1:
            raise ConfigError(f"num_prompts must be at least 1, not {self.num_prompts}")
        if not isinstance(self.reward_args, dict | None):
            raise ConfigError(f"reward_args must be a mapping of paths to arguments, not {self.reward_args!r}")
        for path, arguments in (self.reward_args or {}).items():
            if path not in self.reward_funcs:
                raise ConfigError(f"reward_args names {path}, which is not one of reward_funcs {self.reward_funcs}")
            if not isinstance(arguments, dict):
                raise ConfigError(f"reward_args of {path} must be a mapping of names to values, not {arguments!r}")


@dataclass
class DatGrpoConfig(GRPOConfig):
    """TRL's GRPOConfig with one more field.

    Args:
        completions_per_step: Completions per optimizer step over all processes (the paper: 256). Sets
            gradient_accumulation_steps for however many processes run, so that one YAML fits any number of GPUs.
    """

    completions_per_step: int | None = field(
        default=None,
        metadata={"help": "Completions per optimizer step over all processes; sets gradient_accumulation_steps."},
    )

    def __post_init__(self) -> None:
        # The launcher's own variable: asking TRL would start the process group before anything is checked.
        processes = int(os.environ.get("WORLD_SIZE", "1"))
        if self.completions_per_step is not None:
            self.gradient_accumulation_steps = accumulation_steps(
                self.completions_per_step, int(self.per_device_train_batch_size), processes
            )
        if self.generation_batch_size is None:
            check_groups(
                int(self.per_device_train_batch_size),
                processes,
                int(self.steps_per_generation or self.gradient_accumulation_steps),
                int(self.num_generations or 0),
            )
        super().__post_init__()


def accumulation_steps(completions: int, per_device: int, processes: int) -> int:
    """gradient_accumulation_steps for `completions` per optimizer step.

    >>> accumulation_steps(256, 8, 8)
    4
    """
    at_once = per_device * processes
    if completions < 1 or completions % at_once:
        below, above = _around(completions, at_once)
        raise ConfigError(
            f"completions_per_step {completions} is not a multiple of per_device_train_batch_size {per_device} x "
            f"{processes} process(es) = {at_once}; nearest legal values: {below or above} or {above}"
        )
    return completions // at_once


def check_groups(per_device: int, processes: int, steps: int, num_generations: int) -> None:
    """Do the completions of one generation make whole groups of `num_generations`?"""
    if num_generations < 2:
        raise ConfigError(f"num_generations must be at least 2 (a group to compare within), not {num_generations}")
    batch = per_device * processes * steps
    if batch % num_generations:
        unit = num_generations // math.gcd(per_device * processes, num_generations)
        below, above = _around(steps, unit)
        divisors = [n for n in range(2, batch + 1) if batch % n == 0]
        nearest = sorted(divisors, key=lambda n: abs(n - num_generations))[:2]
        raise ConfigError(
            f"per_device_train_batch_size {per_device} x {processes} process(es) x {steps} accumulation step(s) = "
            f"{batch} completions, not a multiple of num_generations {num_generations}; nearest legal values: "
            f"gradient_accumulation_steps {' or '.join(str(s) for s in (below, above) if s)}"
            + (f", or num_generations {' or '.join(map(str, nearest))}" if nearest else "")
        )


def check_epoch(num_prompts: int, num_generations: int, batch: int) -> None:
    """Does an epoch fill its last generation batch? TRL drops what does not."""
    completions = num_prompts * num_generations
    if completions < batch or completions % batch:
        unit = batch // math.gcd(batch, num_generations)
        below, above = _around(num_prompts, unit)
        raise ConfigError(
            f"num_prompts {num_prompts} x num_generations {num_generations} = {completions} completions do not fill "
            f"batches of {batch}; nearest legal num_prompts: {' or '.join(str(n) for n in (below, above) if n)}"
        )


def _around(value: int, unit: int) -> tuple[int, int]:
    below = max(value, 0) // unit * unit
    return below, below + unit


def parse(argv: Sequence[str] | None = None) -> tuple[GrpoArguments, DatGrpoConfig, ModelConfig]:
    """Settings from `--config FILE.yaml` and the flags over it.

    Raises:
        ConfigError: An unknown key, an impossible value or a file that is not there, in one line.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if "--config" in argv[:-1] and not Path(argv[argv.index("--config") + 1]).is_file():
        raise ConfigError(
            f"--config {argv[argv.index('--config') + 1]}: no such file; recipes/*/grpo.yaml are examples"
        )
    parser = TrlParser((GrpoArguments, DatGrpoConfig, ModelConfig))
    known = [action.dest for action in parser._actions]
    try:
        script, training, model = parser.parse_args_and_config(argv)
    except ConfigError:
        raise
    except ValueError as error:
        unknown = re.findall(r"--(\w+)", str(error)) if "not used" in str(error) or "Unknown" in str(error) else []
        hints = [
            f"{key} (did you mean {m[0]}?)" if (m := difflib.get_close_matches(key, known, 1)) else key
            for key in unknown
        ]
        raise ConfigError(f"unknown setting: {', '.join(hints)}" if hints else " ".join(str(error).split())) from error
    except OSError as error:
        raise ConfigError(f"--config: {error}") from error
    if training.max_steps <= 0:
        check_epoch(script.num_prompts, training.num_generations, training.generation_batch_size)
    return script, training, model


def load_reward_funcs(paths: Sequence[str], arguments: dict[str, dict[str, Any]] | None = None) -> list[RewardFunc]:
    """The reward functions at dotted `paths`, found in the installed packages or beside the working directory.

    Args:
        paths: `package.module.function`; with an entry in `arguments`, a factory.
        arguments: Keyword arguments per path.

    Raises:
        ConfigError: There is no such function, or the factory refuses its arguments.

    >>> load_reward_funcs(["rewards.make_dat_reward"], {"rewards.make_dat_reward": {"scale": 1.0}})[0].scale
    1.0
    """
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    functions: list[RewardFunc] = []
    for path in paths:
        module, dot, name = path.rpartition(".")
        if not dot:
            raise ConfigError(f"reward function {path!r} is no dotted path such as rewards.dat_reward")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"reward function {path}: {error}") from error
        if arguments and path in arguments:
            try:
                function = function(**arguments[path])
            except (TypeError, ValueError) as error:
                raise ConfigError(f"reward function {path} with {arguments[path]}: {error}") from error
        if not callable(function):
            raise ConfigError(f"reward function {path} cannot be called (it is a {type(function).__name__})")
        functions.append(function)
    return functions
