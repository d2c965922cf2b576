"""Settings from `--config FILE.yaml` and flags: what cannot be is refused here, in one line, before a model loads."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

from accelerate.utils import str_to_bool
from pydantic import TypeAdapter, ValidationError
from trl import ModelConfig

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.training.arguments import CommonArguments
from sozo.training.evaluation import read_evaluate
from sozo.training.names import read_words, refuse_unknown
from sozo.training.ranges import check_training, check_values, kinds

S = TypeVar("S", bound=CommonArguments)
T = TypeVar("T")


def parse(
    script: type[S], training: type[T], argv: Sequence[str]
) -> tuple[S, T, ModelConfig]:
    """Settings of one method: its own (such as `GrpoArguments`), TRL's (`GrpoSettings`) and the model's, checked."""
    groups = (script, training, ModelConfig)
    return checked(groups, read_values(groups, argv))


def checked(groups: Sequence[type], values: Mapping[str, Any]) -> Any:
    """What `parse` returns, of settings by their names."""
    own, training, model = made(groups, values)
    own.check(training)
    check_training(training)
    _check_fsdp(own, training)
    read_evaluate(own.evaluate)
    return own, training, model


def check_start(model: ModelConfig) -> None:
    """Refuse a training that starts from nothing."""
    if model.model_name_or_path is None:
        raise UserError(
            "model_name_or_path is missing: a folder, a hub id, or tiny for the embedded model"
        )


def read_settings(groups: Sequence[type], argv: Sequence[str]) -> Any:
    """An instance of each dataclass of settings, from `--config FILE.yaml` and the flags over it."""
    return made(groups, read_values(groups, argv))


def made(groups: Sequence[type], values: Mapping[str, Any]) -> Any:
    """An instance of each dataclass of settings; making TRL's needs the GPU that they ask for."""
    try:
        return [
            group(**{f.name: values[f.name] for f in fields(group) if f.init})
            for group in groups
        ]
    except (TypeError, ValueError, OSError) as error:
        raise UserError(str(error)) from error
    except (AttributeError, KeyError) as error:
        if not values.get("deepspeed"):
            raise
        raise UserError(f"deepspeed cannot be read as its settings: {error}") from error


def read_values(groups: Sequence[type], argv: Sequence[str]) -> dict[str, Any]:
    """All settings of some dataclasses by name: flags over the file over the defaults; none is a wrong one."""
    file, in_file, flags = read_words(argv)
    values: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for group in groups:
        hints |= get_type_hints(group)
        for setting in fields(group):
            default = setting.default
            if setting.default_factory is not MISSING:
                default = setting.default_factory()
            if setting.init:
                values[setting.name] = default
    # Before any value is judged: a misspelt key is often why another one looks wrong.
    refuse_unknown([*in_file, *flags], values)
    for name, value in in_file.items():
        values[name] = _of_kind(f"{file}: ", name, hints[name], value)
    for name, words in flags.items():
        value = _of_words(name, hints[name], words)
        values[name] = _of_kind("--", name, hints[name], value)
    for name, value in values.items():
        if value is MISSING:
            raise UserError(f"{name} is missing; give it")
    check_values(groups, values, hints)
    for name in (*in_file, *flags):
        if name.startswith("lora") and not values.get("use_peft", True):
            raise UserError(f"--{name} does nothing without --use_peft true; set both")
    return values


def _of_words(name: str, hint: Any, words: list[str]) -> Any:
    """What the words behind a flag stand for; none is true."""
    if not words and bool not in kinds(hint):
        raise UserError(f"--{name} needs a value")
    if len(words) > 1:
        return words
    return None if words == ["null"] else words[0] if words else True


def _of_kind(where: str, name: str, hint: Any, value: Any) -> Any:
    """A value, or what a text stands for; refuse what is of another kind than its setting."""
    known = kinds(hint)
    if isinstance(value, str) and list in known and str not in known:
        value = [value]
    # Entries have checks of their own, and scale_rewards may be true or false, as TRL documents it.
    boolean = isinstance(value, bool)
    if value is None or name == "tasks" or (boolean and name == "scale_rewards"):
        return value
    try:
        adapter = TypeAdapter(hint, config={"arbitrary_types_allowed": True})
        found = adapter.validate_python(value, strict=boolean)
    except ValidationError as error:
        written = " (YAML reads yes, no, on and off so; quote them)" * boolean
        raise UserError(f"{where}{name} cannot be {quoted(value)}{written}") from error
    return found if isinstance(value, str | list) else value


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
