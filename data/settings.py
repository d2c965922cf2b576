"""What a user can set, declared once: one dataclass is flags, a block of YAML and a factory's keyword arguments.

What they name by a dotted path, such as a reward function or a task of their own, needs no fork.
"""

import difflib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sozo.data.contents import text_of
from sozo.data.errors import UserError
from sozo.data.foreign import brief, parse_json, quoted
from sozo.data.yaml_loader import parse_yaml

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")
_UNKNOWN_KEY = (
    "extra_forbidden",
    "unexpected_keyword_argument",
)  # what pydantic calls it


@dataclass(frozen=True)
class _Line:
    """The line of `--help`, with what else is known of a field: transformers hands all its metadata on to argparse."""

    text: str | Callable[[], str]
    affects_result: bool
    least: float | None
    rare: bool

    def __str__(self) -> str:
        return self.text() if callable(self.text) else self.text


def setting(
    default: Any,
    text: str | Callable[[], str],
    *,
    affects_result: bool = True,
    least: float | None = None,
    rare: bool = False,
) -> Any:
    """A dataclass field with the line that `--help` shows, or what makes it when help is built, of code's constants.

    By default it affects the result: a folder of results is not continued with another value of such a field. What only
    changes speed or place (a cache, a concurrency) may change, and so may where something lies that is recorded by its
    content (a file of items). `least` is for `Checked`. A `rare` one is a flag that
    `--help-all` alone shows.
    """
    line = _Line(text, affects_result, least, rare)
    return field(default=default, metadata={"help": line})


rare_setting = partial(setting, rare=True)


def deciding(settings: Any) -> dict[str, Any]:
    """The fields of a settings dataclass that decide a result, for a run's record.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Example:
    ...     seed: int = setting(1, "Seed.")
    ...     cache: str = setting("x", "Folder.", affects_result=False)
    >>> deciding(Example())
    {'seed': 1}
    """
    decide = [
        f.name
        for f in fields(settings)
        if getattr(f.metadata.get("help"), "affects_result", True)
    ]
    return {name: getattr(settings, name) for name in decide}


class Checked:
    """Base of a settings dataclass whose numbers are finite, and none below the `least` of its `setting`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Example(Checked):
    ...     votes: int = setting(1, "Votes.", least=1)
    >>> Example(votes=0)
    Traceback (most recent call last):
    sozo.data.errors.UserError: votes must be at least 1, not 0
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            least = getattr(f.metadata.get("help"), "least", None)
            if isinstance(value, int | float):
                # So NaN, too; nothing that is stored or sent can be larger
                if not abs(value) < 2**63:
                    raise UserError(
                        f"{f.name} must be a number that is finite and not huge, not {str(value)[:20]}"
                    )
                if least is not None and value < least:
                    raise UserError(f"{f.name} must be at least {least}, not {value}")


# What other tools, or earlier versions, call a setting, and what ours is called.
_OTHERS = {
    "torch_dtype": "dtype",
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "micro_batch_size": "per_device_train_batch_size",
    "max_seq_length": "max_length",
    "cutoff_len": "max_length",
    "sequence_len": "max_length",
    "max_new_tokens": "max_completion_length",
    "max_tokens": "max_completion_length",
    "max_response_length": "max_completion_length",
    "num_samples": "num_generations",
    "rollout_n": "num_generations",
    "kl_coef": "beta",
    "lora_rank": "lora_r",
    "lora_target": "lora_target_modules",
    "model": "model_name_or_path",
    "model_name": "model_name_or_path",
    "base_model": "model_name_or_path",
    "lr": "learning_rate",
    "num_epochs": "num_train_epochs",
    "tokenizer": "processing_class",
}
_NOT_HERE = {
    "max_prompt_length": "prompts are never cut: leave it out",
    "temperature": "say it as sampling: temperature=1.3",
    "overwrite_output_dir": "a finished run is never written over: give another output_dir",
}


def hint(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to say behind an unknown `name`: the known one that it is near to, or `otherwise`."""
    known = list(known)
    if (ours := _OTHERS.get(name)) in known:
        return f" (here it is {ours})"
    if name in known:  # without its dashes
        return f" (write --{name})"
    if name in _NOT_HERE:
        return f" ({_NOT_HERE[name]})"
    close = difflib.get_close_matches(name, known, 1)
    return f" (did you mean {close[0]}?)" if close else otherwise


def _exist(known: Iterable[str]) -> str:
    names = ", ".join(known)
    return f"; {names} exist" if names else "; leave it out"


def settings_of(settings: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass `settings` with `values`, such as a block of YAML."""
    names = [f.name for f in fields(settings)]  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            raise UserError(
                f"unknown setting: {brief(name)}" + hint(name, names, _exist(names))
            )
    return settings(**values)


def from_validation(
    error: "ValidationError", where: str, known: Iterable[str] = ()
) -> UserError:
    """The first mistake that pydantic found as one line for people: where it stands, what is wrong, what is written.

    `known` are the keys among which an unknown one may have been meant.

    >>> from pydantic import TypeAdapter, ValidationError
    >>> try:
    ...     TypeAdapter(dict[str, list[int]]).validate_python({"shots": [1, "many"]})
    ... except ValidationError as error:
    ...     print(from_validation(error, "mine.yaml"))
    mine.yaml: shots 2: Input should be a valid integer, unable to parse string as an integer, not 'many'
    """
    mistakes = error.errors(include_url=False)
    # An unknown key before a missing one: it may be that one, misspelt.
    mistake = min(mistakes, key=lambda each: each["type"] not in _UNKNOWN_KEY)
    kind = mistake["type"]
    path = list(mistake["loc"])
    message = mistake["msg"]
    written = f", not {quoted(mistake['input'])}"
    if kind in _UNKNOWN_KEY:
        key = str(path.pop())
        message = f"unknown key {brief(key)}" + hint(key, known, _exist(known))
    elif kind == "missing":
        message = "is missing; give it"
    elif kind == "value_error":  # a check of ours, which says all
        message = message.removeprefix("Value error, ")
    elif kind in ("dataclass_type", "model_type"):
        message = f"must be a mapping of keys to values{written}"
    else:
        message = message.replace("tuple", "list").replace("Tuple", "List") + written
    place = ""
    for part in path:
        place += (
            f" {part + 1}" if isinstance(part, int) else f", {part}" if place else part
        )
    return UserError(": ".join(filter(None, (where, place, message))))


def from_json(value: Any, name: str) -> Any:
    """What the setting `name` stands for: on the command line it is JSON, in YAML the `value` itself."""
    try:
        return parse_json(value) if isinstance(value, str) else value
    except ValueError as error:
        raise UserError(f"{name} is not JSON ({error}): {quoted(value)}") from error


def read_yaml(path: Path) -> dict[str, Any]:
    """The settings in a YAML file: a mapping of names to values."""
    try:
        settings = parse_yaml(text_of(path))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; sozo recipes lists examples") from error
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); give a YAML file"
        ) from error
    except ValueError as error:
        raise UserError(f"{path}: this is not YAML ({error})") from error
    if not isinstance(settings, dict) or not all(
        isinstance(key, str) for key in settings
    ):
        raise UserError(
            f"{path}: must hold lines `setting: value`, as recipes/tiny/grpo.yaml does"
        )
    return settings


def load_dotted(path: str, what: str) -> Any:
    """The object at `package.module.name`, found among the installed packages or beside the working directory.

    The path is of a user's own settings: importing runs code, so never take one from a file of results. `what` it is
    goes into the message.
    """
    module, dot, name = path.rpartition(".")
    if not dot:
        raise UserError(
            f"{what} {path!r} is no dotted path such as my_package.{path or 'name'}"
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        room = module.partition(".")[0]
        ours = (
            f"; sozo's own is sozo.{path}"
            if importlib.util.find_spec(f"sozo.{room}")
            else ""
        )
        raise UserError(f"{what} {path}: {error}{ours}") from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        ended = f"its import ended with {type(error).__name__}: {error}"
        raise UserError(f"{what} {path}: {ended}; mend {module}") from error
