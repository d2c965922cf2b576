"""Settings from `--config FILE.yaml` and flags: what cannot be is refused here, in one line, before a model loads."""

import argparse
import os
import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_type_hints

from accelerate.utils import str_to_bool
from pydantic import TypeAdapter, ValidationError
from trl import ModelConfig, TrlParser

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.settings import hint, read_yaml
from sozo.training.arguments import CommonArguments
from sozo.training.evaluation import read_evaluate
from sozo.training.ranges import check_training, check_values
from sozo.training.trl_keys import ours

S = TypeVar("S", bound=CommonArguments)
T = TypeVar("T")


class _Parser(TrlParser):
    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        if "help" in options:  # of ours, made by its setting
            options["help"] = str(options["help"])
        return super().add_argument(*names, **options)

    def error(self, message: str) -> NoReturn:
        raise UserError(message)  # argparse would print some 200 flags and exit


def parser_of(groups: Sequence[type]) -> TrlParser:
    """A parser of the settings of some dataclasses."""
    return _Parser(groups, allow_abbrev=False)


def parse(
    script: type[S], training: type[T], argv: Sequence[str]
) -> tuple[S, T, ModelConfig]:
    """Settings of one method: its own (such as `GrpoArguments`), TRL's (`GrpoSettings`) and the model's, checked."""
    settings = read_settings((script, training, ModelConfig), argv)
    settings[0].check(settings[1])
    check_training(settings[1])
    _check_fsdp(*settings[:2])
    read_evaluate(settings[0].evaluate)
    return settings


def read_settings(groups: Sequence[type], argv: Sequence[str]) -> Any:
    """An instance of each dataclass of settings, from `--config FILE.yaml` and the flags over it."""
    parser, flags, values = _checked_parser(groups, argv)
    try:
        return parser.parse_args_and_config(flags)
    except (TypeError, ValueError) as error:
        raise UserError(str(error)) from error
    except (AttributeError, KeyError) as error:
        if not values.get("deepspeed"):
            raise
        raise UserError(f"deepspeed cannot be read as its settings: {error}") from error


def read_plan(
    script: type[S], training: type, argv: Sequence[str]
) -> tuple[S, dict[str, Any]]:
    """A method's own settings, and all of them by name with TRL's defaults: what a plan needs, on any machine.

    TRL's settings are not made, since making them needs the GPU that they ask for and takes memory on it.
    """
    _, _, values = _checked_parser((script, training, ModelConfig), argv)
    own = script(**{f.name: values[f.name] for f in fields(script)})
    read_evaluate(own.evaluate)
    return own, values


def _checked_parser(
    groups: Sequence[type], argv: Sequence[str]
) -> tuple[TrlParser, list[str], dict[str, Any]]:
    """A parser whose defaults are the file's values, the flags over them, and both as values; none is a wrong one."""
    parser = parser_of(groups)
    front = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False
    )
    front.add_argument("--config")
    try:
        chosen, flags = front.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise UserError("--config needs a file; sozo recipes lists examples") from error
    file = chosen.config
    in_file = read_yaml(Path(file)) if file else {}
    # Before any value is judged: a misspelt key is often why another one looks wrong.
    unknown = parser.set_defaults_with_config(**in_file)[::2]
    _, stray = parser.parse_known_args(flags)
    unknown += [word for word in stray if word.startswith("--")] or stray
    if unknown:
        known = [action.dest for action in parser._actions]
        names = [
            word.lstrip("-").partition("=")[0].replace("-", "_") for word in unknown
        ]
        if instead := ours(names, known):
            raise UserError(instead)
        raise UserError(
            f"unknown setting: {', '.join(name + hint(name, known) for name in names)}"
        )
    _check_kinds(f"{file}", groups, in_file)
    values = vars(parser.parse_args(flags))
    check_values(
        groups,
        values,
        {action.dest: action.choices for action in parser._actions if action.choices},
    )
    given = [*map("--{}".format, in_file), *flags]
    lora = next(filter(re.compile("--lora").match, given), None)
    if lora and not values.get("use_peft", True):
        raise UserError(f"{lora} does nothing without --use_peft true; set both")
    return parser, flags, values


def _check_kinds(where: str, groups: Sequence[type], values: Mapping[str, Any]) -> None:
    """Refuse what is of another kind than its setting, but for the entries of `tasks`, which have checks of their own.

    A text may be any setting, as on the command line, and scale_rewards true or false, as TRL documents it.
    """
    hints = ChainMap(*(get_type_hints(group) for group in groups))
    for name, value in values.items():
        if (
            value is None
            or isinstance(value, str)
            or (name == "tasks" and not isinstance(value, bool))
            or (name == "scale_rewards" and isinstance(value, bool))
        ):
            continue
        try:
            kind = TypeAdapter(hints[name], config={"arbitrary_types_allowed": True})
            kind.validate_python(value, strict=isinstance(value, bool))
        except ValidationError as error:
            written = (
                " (YAML reads yes, no, on and off so; quote them)"
                if isinstance(value, bool)
                else ""
            )
            raise UserError(
                f"{where}: {name} cannot be {quoted(value)}{written}"
            ) from error


def _check_fsdp(script: Any, training: Any) -> None:
    """Refuse what does not work under FSDP, where accelerate or the settings start it."""
    if not (
        str_to_bool(os.environ.get("ACCELERATE_USE_FSDP", "false")) or training.fsdp
    ):
        return
    zero3 = "take DeepSpeed (zero3.yaml)"
    if training.use_cpu:
        raise UserError(
            "accelerate has no FSDP on a CPU and would train without; take recipes/accelerate/cpu2_zero3.yaml, or GPUs"
        )
    if read_evaluate(script.evaluate):
        raise UserError(
            f"evaluate does not work under FSDP; leave it out (--evaluate null), or {zero3}"
        )
    if getattr(script, "sampler", None) == "shared_prefix":
        raise UserError(
            f"sampler shared_prefix does not work under FSDP; set sampler: trl, or {zero3}"
        )
