"""What a GRPO run can be told, and the checks that need no model: what is impossible is refused here, in one line."""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml
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
        if isinstance(self.reward_funcs, str):
            self.reward_funcs = [self.reward_funcs]
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
        for name in ("per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation"):
            value = getattr(self, name)
            if value is not None and int(value) < 1:
                raise ConfigError(f"{name} must be at least 1, not {value}")
        if self.save_total_limit == 1:
            raise ConfigError("save_total_limit 1 can leave no whole checkpoint after a kill; use 2 or more")
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
        raise ConfigError(
            f"completions_per_step {completions} is not a multiple of per_device_train_batch_size {per_device} x "
            f"{processes} process(es) = {at_once}; nearest legal values: {_either(_around(completions, at_once))}"
        )
    return completions // at_once


def check_groups(per_device: int, processes: int, steps: int, num_generations: int) -> None:
    """Do the completions of one generation make whole groups of `num_generations`?"""
    if num_generations < 2:
        raise ConfigError(f"num_generations must be at least 2 (a group to compare within), not {num_generations}")
    batch = per_device * processes * steps
    if batch % num_generations:
        unit = num_generations // math.gcd(per_device * processes, num_generations)
        around = _around(steps, unit)
        divisors = [n for n in range(2, batch + 1) if batch % n == 0]
        nearest = sorted(divisors, key=lambda n: abs(n - num_generations))[:2]
        raise ConfigError(
            f"per_device_train_batch_size {per_device} x {processes} process(es) x {steps} accumulation step(s) = "
            f"{batch} completions, not a multiple of num_generations {num_generations}; nearest legal values: "
            f"{_either(around)} accumulation step(s) (completions_per_step "
            f"{_either(n * per_device * processes for n in around)})"
            + (f", or num_generations {_either(sorted(nearest))}" if nearest else "")
        )


def check_epoch(num_prompts: int, num_generations: int, batch: int) -> None:
    """Does an epoch fill its last generation batch? TRL drops what does not."""
    completions = num_prompts * num_generations
    if completions < batch or completions % batch:
        unit = batch // math.gcd(batch, num_generations)
        raise ConfigError(
            f"num_prompts {num_prompts} x num_generations {num_generations} = {completions} completions do not fill "
            f"batches of {batch}; nearest legal num_prompts: {_either(_around(num_prompts, unit))}"
        )


def _around(value: int, unit: int) -> tuple[int, int]:
    below = max(value, 0) // unit * unit
    return below, below + unit


def _either(values: Iterable[int]) -> str:
    return " or ".join(str(value) for value in values if value)


class _Parser(TrlParser):
    def error(self, message: str) -> NoReturn:
        # argparse would print some 200 flags and exit.
        raise ConfigError(message)


def parse(argv: Sequence[str] | None = None) -> tuple[GrpoArguments, DatGrpoConfig, ModelConfig]:
    """Settings from `--config FILE.yaml` and the flags over it.

    Raises:
        ConfigError: An unknown key, an impossible value or a file that is not there, in one line.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = _Parser((GrpoArguments, DatGrpoConfig, ModelConfig), allow_abbrev=False)
    file, flags = _config_file(argv)
    # Before any value is judged: a misspelt key is often why another one looks wrong.
    unknown = parser.set_defaults_with_config(**_read_yaml(file))[::2] if file else []
    _, rest = parser.parse_known_args(flags)
    unknown += [word for word in rest if word.startswith("--")] or rest
    if unknown:
        raise ConfigError(f"unknown setting: {', '.join(_hint(key, parser) for key in unknown)}")
    try:
        script, training, model = parser.parse_args_and_config(["--config", file, *flags] if file else flags)
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(" ".join(str(error).split())) from error
    too_few = script.num_prompts * training.num_generations < training.generation_batch_size
    if training.max_steps <= 0 or too_few:
        check_epoch(script.num_prompts, training.num_generations, training.generation_batch_size)
    return script, training, model


def _config_file(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """The file that `--config` names, and the other arguments."""
    front = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    front.add_argument("--config")
    try:
        chosen, flags = front.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise ConfigError("--config needs a file; recipes/*/grpo.yaml are examples") from error
    return chosen.config, flags


def _read_yaml(file: str) -> dict[str, Any]:
    """The settings in `file`, without TRL's `env` (variables it sets)."""
    try:
        settings = yaml.safe_load(Path(file).read_text("utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"--config {file}: no such file; recipes/*/grpo.yaml are examples") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"--config {file}{line}: this is not YAML: {error.problem}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"--config {file} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise ConfigError(f"--config {file} must hold lines `setting: value`, as in recipes/tiny/grpo.yaml")
    return {key: value for key, value in settings.items() if key != "env"}


def _hint(flag: str, parser: argparse.ArgumentParser) -> str:
    key = flag.removeprefix("--").partition("=")[0].replace("-", "_")
    matches = difflib.get_close_matches(key, [action.dest for action in parser._actions], 1)
    return f"{key} (did you mean {matches[0]}?)" if matches else key


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
