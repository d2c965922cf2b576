"""Lines of JSON that people write and fix: what is wrong with one is said in one line, with file and line number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.errors import UserError


def read_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file with where they stand (`FILE, line N`), in order. Blank lines are left out.

    Raises:
        UserError: No such file, or a line is no JSON object.
    """
    return ((where, row) for _, where, row in read_numbered(path))


def read_numbered(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """As `read_objects`, each with the number of its line, from 0, before it."""
    if not path.is_file():
        raise UserError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give a JSONL file")
    # In binary: only a line feed ends a line, where text mode would also cut at a lone carriage return.
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if line.strip():
                yield number, f"{path}, line {number + 1}", parse_object(path, number, line)


def parse_object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """The object of line `number` (from 0) of a file.

    Raises:
        UserError: The line is no JSON object.

    >>> parse_object(Path("x.jsonl"), 0, b'{"text": "a"}')
    {'text': 'a'}
    """
    where = f"{path}, line {number + 1}"
    try:
        # Windows tools like to open a file with a byte order mark.
        row: Any = json.loads(line.decode("utf-8-sig" if number == 0 else "utf-8"))
    except UnicodeDecodeError:
        raise UserError(f"{where}: not UTF-8; convert the file to UTF-8") from None
    except (ValueError, RecursionError) as cause:
        detail = cause.msg if isinstance(cause, json.JSONDecodeError) else type(cause).__name__
        raise UserError(f"{where}: not JSON ({detail}); write one JSON object per line") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: not a JSON object; write one JSON object per line")
    return row


def text_column(row: dict[str, Any], name: str, where: str, default: str | None = None) -> str:
    """A column that holds text; `default` where it is missing or null.

    Raises:
        UserError: It holds something else, or is missing without a default.
    """
    value = row.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        state = "is missing" if name not in row else "is no string"
        raise UserError(f"{where}: the column {name} {state}; give a string")
    return value


def id_column(row: dict[str, Any], name: str, where: str, default: str | None = None) -> str:
    """A column that names something: a string that is not blank, or an integer.

    Raises:
        UserError: It holds something else, or is missing without a default.
    """
    value = row.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        state = "is missing" if name not in row else "is neither a string nor an integer, or is blank"
        raise UserError(f"{where}: the column {name} {state}; fix it")
    return str(value)
