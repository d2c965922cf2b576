"""What a user can set, declared once: one dataclass is flags, a block of YAML and a factory's keyword arguments."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, TypeVar

from data.errors import UserError

T = TypeVar("T")


class _Line(str):
    """The line of `--help`, with what else is known of a field: transformers hands all its metadata on to argparse."""

    decides = True


def setting(default: Any, text: str, *, decides: bool = True) -> Any:
    """A dataclass field with the line that `--help` shows.

    It `decides` if it can change a result: a folder of results is not continued with another value of such a field.
    What only changes speed or place (a cache, a concurrency) may change.
    """
    line = _Line(text)
    line.decides = decides
    return field(default=default, metadata={"help": line})


def deciding(settings: Any) -> dict[str, Any]:
    """The fields of a settings dataclass that decide a result, for a run's record.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Example:
    ...     seed: int = setting(1, "Seed.")
    ...     cache: str = setting("x", "Folder.", decides=False)
    >>> deciding(Example())
    {'seed': 1}
    """
    decide = [f.name for f in fields(settings) if getattr(f.metadata.get("help"), "decides", True)]
    return {name: getattr(settings, name) for name in decide}


def settings_of(settings: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass `settings` with `values`, such as a block of YAML."""
    names = [f.name for f in fields(settings)]  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            known = f" (did you mean {close[0]}?)" if close else f"; {', '.join(names)} exist"
            raise UserError(f"unknown setting: {name}{known}")
    return settings(**values)
