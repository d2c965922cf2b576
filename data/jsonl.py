"""Lines of JSON that people write and fix: what is wrong with one is said in one line, with file and line number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.record import write_whole


def read_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file with where they stand (`FILE, line N`), in order. Blank lines are left out."""
    return ((where, row) for _, where, row in read_numbered(path))


def read_numbered(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """As `read_objects`, each with the number of its line, from 0, before it."""
    if not path.is_file():
        raise UserError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give a JSONL file")
    # In binary: only a line feed ends a line, where text mode would also cut at a lone carriage return.
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if line.strip():
                where = f"{path}, line {number + 1}"
                yield number, where, _parse_object(where, number, line)


def _parse_object(where: str, number: int, line: bytes) -> dict[str, Any]:
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


def read_records(path: Path, record: Callable[[str, dict[str, Any]], Any], what: str, example: str) -> tuple[Any, ...]:
    """The records of a file, each with an `id` of its own; `record` makes one of where an object stands and the object.

    A file without any is refused with `what` they are and an `example` of a line.
    """
    records: dict[str, Any] = {}
    for where, row in read_objects(path):
        new = record(where, row)
        if new.id in records:
            raise UserError(f"{where}: the id {new.id!r} comes twice; make ids unique")
        records[new.id] = new
    if not records:
        raise UserError(f"{path}: holds no {what}; write one per line: {example}")
    return tuple(records.values())


def write_objects(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON lines, whole or not at all. Lone surrogates must have been written out (`utf8_safe`)."""
    write_whole(path, "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode())


def text_column(row: dict[str, Any], name: str, where: str, default: str | None = None) -> str:
    """A column that holds text; `default` where it is missing or null."""
    value = row.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        state = "is missing" if name not in row else "is no string"
        raise UserError(f"{where}: the column {name} {state}; give a string")
    return value


def id_column(row: dict[str, Any], name: str, where: str, default: str | None = None) -> str:
    """A column that names something: a string that is not blank, or an integer."""
    value = row.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        state = "is missing" if name not in row else "is neither a string nor an integer, or is blank"
        raise UserError(f"{where}: the column {name} {state}; fix it")
    return str(value)
