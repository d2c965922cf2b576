"""What `sozo train METHOD --help` prints: our settings, without TRL, which takes seconds to import; then all."""

import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from sozo.training import arguments

_WIDTH = 110
_INDENT = 30
_OURS = {
    "sft": (arguments.SftArguments, arguments.TablePerStep),
    "dpo": (arguments.DpoArguments, arguments.TablePerStep),
    "grpo": (arguments.GrpoArguments, arguments.GrpoPerStep),
}
_FIRST = (
    ("--config FILE.yaml", "Settings, one a line: `name: value`; flags go over them."),
    ("--dry-run", "What the run would do, need and miss; nothing is run."),
    ("--help-all", "TRL's settings too, some 200."),
)
# What of TRL's nearly every run sets.
_USUAL = "model_name_or_path, output_dir, learning_rate, max_steps, per_device_train_batch_size, use_peft, seed"


def method_help(method: str, *, every: bool = False) -> str:
    """The settings of a method; of one that a package brings, and with `every`, TRL's too."""
    lines = [f"Usage: sozo train {method} --config FILE.yaml [--SETTING VALUE ...]", ""]
    for name, text in _FIRST:
        lines += _entry(name, text)
    if every or method not in _OURS:
        return "\n".join([*lines, "", *_all_settings(method)])
    lines += ["", "Settings of sozo (defaults hold where no YAML says anything):"]
    for group in _OURS[method]:
        lines += _settings(group)
    lines += ["", f"TRL's, such as {_USUAL}: --help-all."]
    lines += ["Files to begin with: sozo recipes."]
    return "\n".join(lines)


def _settings(group: Any) -> Iterator[str]:
    """Of a dataclass; what it declares itself comes before what it inherits."""
    declared = group.__annotations__
    for field in sorted(fields(group), key=lambda field: field.name not in declared):
        text = str(field.metadata["help"])
        if field.default not in (None, MISSING) and "default" not in text:
            text = f"{text} (default: {field.default})"
        yield from _entry(f"--{field.name}", text)


def _all_settings(method: str) -> Iterator[str]:
    """Every setting with its default, in the order of the library's classes."""
    from trl import ModelConfig

    from sozo.training.config import parser_of
    from sozo.training.methods import recipe

    parser = parser_of((*recipe(method)[1:], ModelConfig))
    for action in parser._actions:
        if not action.option_strings or action.dest == "help":
            continue
        text = " ".join((action.help or "").split()).replace("%%", "%")
        if action.default is not None and "default" not in text.lower():
            text = f"{text} (default: {action.default})"
        yield from _entry(action.option_strings[0], text)


def _entry(name: str, text: str) -> list[str]:
    """A setting and what it means, as two columns."""
    indent = " " * _INDENT
    lines = textwrap.wrap(text, _WIDTH - _INDENT, break_long_words=False) or [""]
    head = f"  {name}"
    if len(head) + 2 > _INDENT:
        return [head, *(indent + line for line in lines)]
    return [head.ljust(_INDENT) + lines[0], *(indent + line for line in lines[1:])]
