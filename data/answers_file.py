"""Answers that somebody else wrote: a JSONL file with a `text` column, read line by line, never held."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from data.errors import UserError
from data.jsonl import read_numbered
from data.schema import utf8_safe


class AnswerLine(NamedTuple):
    """One answer."""

    id: str
    item: str  # the item's id; empty where a task asks one thing only
    text: str


def read_answers_file(path: Path) -> Iterator[AnswerLine]:
    """The answers of a file, in order: columns text, optional id (a string or an integer) and item.

    Without an id, it is the line number, from 0, in eight digits. Lone surrogates (`\\ud800`) in a text stay.
    """
    ids: set[str] = set()
    for number, where, row in read_numbered(path):
        if not isinstance(row.get("text"), str):
            state = "is no string" if "text" in row else "is missing"
            raise UserError(f"{where}: the column text {state}; give what the model wrote as a string")
        named = {"id": f"{number:08d}", "item": ""} | row
        for name in ("id", "item"):
            if isinstance(named[name], bool) or not isinstance(named[name], str | int):
                raise UserError(f"{where}: the {name} is neither a string nor an integer; fix it or leave {name} out")
        answer = AnswerLine(utf8_safe(str(named["id"])), str(named["item"]), named["text"])
        if answer.id in ids:
            raise UserError(f"{where}: the id {answer.id!r} comes twice; make ids unique")
        ids.add(answer.id)
        yield answer
    if not ids:
        raise UserError(f'{path}: holds no answers; write one JSON object per line: {{"text": "1. ..."}}')
