"""What `sozo train METHOD --help` prints: our settings, without TRL, which takes seconds to import; then all."""

import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from sozo.training.names import OURS

_WIDTH = 110
_INDENT = 30
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
    if every or method not in OURS:
        return "\n".join([*lines, "", *_all_settings(method)])
    lines += ["", "Settings of sozo (defaults hold where no YAML says anything):"]
    for group in OURS[method]:
        lines += _settings(group)
    lines += ["", f"TRL's, such as {_USUAL}: --help-all."]
    lines += ["Files to begin with: sozo recipes."]
    return "\n".join(lines)


def _settings(group: Any) -> Iterator[str]:
    """Of a dataclass; what it declares itself comes before what it inherits."""
    declared = group.__annotations__
    settings = [field for field in fields(group) if field.init]
    for field in sorted(settings, key=lambda field: field.name not in declared):
        text = " ".join(str(field.metadata.get("help", "")).split())
        if field.default not in (None, MISSING) and "default" not in text.lower():
            text = f"{text} (default: {field.default})"
        yield from _entry(f"--{field.name}", text)


def _all_settings(method: str) -> Iterator[str]:
    """Every setting with its default."""
    from trl import ModelConfig

    from sozo.training.methods import recipe

    for group in (*recipe(method)[1:], ModelConfig):
        yield from _settings(group)


def _entry(name: str, text: str) -> list[str]:
    """A setting and what it means, as two columns."""
    indent = " " * _INDENT
    lines = textwrap.wrap(text, _WIDTH - _INDENT, break_long_words=False) or [""]
    head = f"  {name}"
    if len(head) + 2 > _INDENT:
        return [head, *(indent + line for line in lines)]
    return [head.ljust(_INDENT) + lines[0], *(indent + line for line in lines[1:])]
