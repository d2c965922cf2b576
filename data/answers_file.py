"""Responses that somebody else generated: a JSONL file with a `text` column, read line by line, never held."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from data.jsonl import parse_object
from data.schema import utf8_safe


class ResponsesFileError(ValueError):
    """A line that cannot be used: file, line number, what is wrong and what to do, in one line."""


@dataclass(frozen=True, slots=True)
class ResponsesFile:
    """A file that has been checked.

    Attributes:
        path: Where it is.
        rows: Number of responses.
        sha256: Of its bytes.
    """

    path: Path
    rows: int
    sha256: str


def check_file(path: Path) -> ResponsesFile:
    """Read the whole file once and check every line, before anything expensive.

    Raises:
        FileNotFoundError: No such file.
        ResponsesFileError: It holds no responses, a line is no JSON object with a string `text`, or an id comes twice.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give a JSONL file")
    digest = hashlib.sha256()
    ids: set[str] = set()
    for number, line in _lines(path):
        digest.update(line)
        if not line.strip():
            continue
        row_id, _ = _parse(path, number, line)
        if row_id in ids:
            raise ResponsesFileError(f"{path}, line {number + 1}: the id {row_id!r} comes twice; make ids unique")
        ids.add(row_id)
    if not ids:
        raise ResponsesFileError(f'{path}: holds no responses; write one JSON object per line: {{"text": "1. ..."}}')
    return ResponsesFile(path, len(ids), digest.hexdigest())


def read_rows(path: Path, skip: int = 0) -> Iterator[tuple[str, str]]:
    """Id and text of every response after the first `skip`, in order. Blank lines are no responses.

    The id is the row's own (a string or an integer) or the line number, from 0, in eight digits. Lone surrogates
    (`\\ud800`) in the text stay as they are.

    Raises:
        ResponsesFileError: As `check_file`.
    """
    for number, line in _lines(path):
        if not line.strip():
            continue
        if skip:
            skip -= 1
            continue
        yield _parse(path, number, line)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    # In binary: only a line feed ends a line, where text mode would also cut at a lone carriage return.
    with path.open("rb") as file:
        yield from enumerate(file)


def _parse(path: Path, number: int, line: bytes) -> tuple[str, str]:
    where = f"{path}, line {number + 1}"
    row = parse_object(path, number, line, ResponsesFileError)
    text = row.get("text")
    if not isinstance(text, str):
        state = "is no string" if "text" in row else "is missing"
        raise ResponsesFileError(f"{where}: the column text {state}; give what the model wrote as a string")
    row_id = row.get("id", f"{number:08d}")
    if isinstance(row_id, bool) or not isinstance(row_id, str | int):
        raise ResponsesFileError(f"{where}: the id is neither a string nor an integer; mend it or leave id out")
    return utf8_safe(str(row_id)), text
