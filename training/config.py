"""Settings from `--config FILE.yaml` and flags: what cannot be is refused here, in one line, before a model loads."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml
from trl import ModelConfig, TrlParser

from sozo.data.errors import UserError
from sozo.data.settings import hint, setting
from sozo.training.evaluate import read_evaluate
from sozo.training.fsdp import check_fsdp


@dataclass
class CommonArguments:
    """What every method can be told."""

    share_prompt: bool = setting(True, "The loss computes a prompt once for a micro-batch, not for each response.")
    system_prompt: str | None = setting(
        None, "System message before each prompt (default: what the model was trained with, else none)."
    )
    freeze_embeddings: bool = setting(False, "Leave the embeddings as they are (and a tied output layer).")

    evaluate: dict | str | None = setting(  # noqa: RUF009
        None, "What is sampled and scored every n steps, and which model is kept as the best (JSON)."
    )

    def check(self, training: Any) -> None:
        """Refuse what cannot work together with TRL's settings."""


S = TypeVar("S", bound=CommonArguments)
T = TypeVar("T")


class _Parser(TrlParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message)  # argparse would print some 200 flags and exit


def parse(script: type[S], training: type[T], argv: Sequence[str]) -> tuple[S, T, ModelConfig]:
    """Settings of one method: its own (such as `GrpoArguments`), TRL's (`GrpoSettings`) and the model's, checked."""
    settings = read_settings((script, training, ModelConfig), argv)
    settings[0].check(settings[1])
    check_fsdp(*settings[:2])
    read_evaluate(settings[0].evaluate)
    return settings


def read_settings(groups: Sequence[type], argv: Sequence[str]) -> Any:
    """An instance of each dataclass of settings, from `--config FILE.yaml` and the flags over it."""
    parser = _Parser(groups, allow_abbrev=False)
    front = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    front.add_argument("--config")
    try:
        chosen, flags = front.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise UserError("--config needs a file; recipes/*/*.yaml are examples") from error
    file = chosen.config
    # Before any value is judged: a misspelt key is often why another one looks wrong.
    unknown = parser.set_defaults_with_config(**_read_yaml(file))[::2] if file else []
    _, rest = parser.parse_known_args(flags)
    unknown += [word for word in rest if word.startswith("--")] or rest
    if unknown:
        raise UserError(f"unknown setting: {', '.join(_named(key, parser) for key in unknown)}")
    try:
        return parser.parse_args_and_config(["--config", file, *flags] if file else flags)
    except (TypeError, ValueError) as error:
        raise UserError(" ".join(str(error).split())) from error


def _read_yaml(file: str) -> dict[str, Any]:
    """The settings in `file`, without TRL's `env` (variables it sets)."""
    try:
        settings = yaml.safe_load(Path(file).read_text("utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"--config {file}: no such file; recipes/*/*.yaml are examples") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"--config {file}{line}: this is not YAML: {error.problem}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"--config {file} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise UserError(f"--config {file} must hold lines `setting: value`, as in recipes/tiny/grpo.yaml")
    return {key: value for key, value in settings.items() if key != "env"}


def _named(flag: str, parser: argparse.ArgumentParser) -> str:
    key = flag.removeprefix("--").partition("=")[0].replace("-", "_")
    return key + hint(key, [action.dest for action in parser._actions])
