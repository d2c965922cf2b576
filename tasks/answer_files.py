"""Files of answers that others wrote: where each tool's rows hold an answer stands in `answer_columns.csv`.

An inner column stands behind a dot, and `*` means each of a list.
"""

import csv
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from sozo.data.errors import UserError
from sozo.data.foreign import brief, quoted
from sozo.data.jsonl import id_column, read_numbered
from sozo.data.schema import FAILED, utf8_safe
from sozo.scoring.final_text import completion_text

PLACES = tuple(csv.DictReader(files(__package__).joinpath("answer_columns.csv").read_text("utf-8").splitlines()))


class AnswerLine(NamedTuple):
    """One answer that somebody else wrote."""

    id: str
    item: str  # the item's id; empty where a task asks one thing only, or the id names it
    text: str
    finish_reason: str | None = None  # `error` where it never came


def read_answers_file(path: Path) -> Iterator[AnswerLine]:
    """The answers of a file, row by row: texts, messages, or conversations that end with the answer.

    Of a row without any, whose column `error` says why, an answer never came. Without an id, it is the row's number,
    from 0, in eight digits; several answers of a row are numbered behind it. Lone surrogates (`\\ud800`) stay.
    """
    ids: set[str] = set()
    for number, where, row in read_numbered(path):
        place, answers = _place(where, row)
        failed = None if answers else FAILED
        named = {name: value for name in ("id", "item") for value in _values(row, place[name])}
        row_id, item = id_column(named, "id", where, f"{number:08d}"), id_column(named, "item", where, "")
        for k, answer in enumerate(answers or [""]):
            answer_id = utf8_safe(row_id if len(answers) < 2 else f"{row_id}-{k}")
            if answer_id in ids:
                raise UserError(f"{where}: the id {quoted(answer_id)} comes twice; make ids unique")
            ids.add(answer_id)
            text = _text(f"{where}: the column {place['answer']}", answer)
            yield AnswerLine(answer_id, item, text, failed)
    if not ids:
        raise UserError(f'{path}: holds no answers; write one JSON object per line: {{"text": "1. ..."}}')


def _place(where: str, row: Mapping[str, Any]) -> tuple[dict[str, str], list[Any]]:
    """Where a row has its answers, and these; none where its tool says that it failed."""
    filled = [(place, answers) for place in PLACES if (answers := _values(row, place["answer"]))]
    if len(filled) == 1:
        return filled[0]
    if row.get("error") and not filled:
        return next((place for place in reversed(PLACES) if _values(row, place["id"])), PLACES[0]), []
    columns = brief(", ".join(row))
    raise UserError(f"{where}: {len(filled)} answers in the columns {columns}; name the one with the answer text")


def _values(row: Any, column: str) -> list[Any]:
    """What stands in a column, if it is not null; with `*` there may be several values."""
    values = [row]
    for name in column.split("."):
        if name == "*":
            values = [inner for value in values if isinstance(value, list) for inner in value]
        else:
            values = [value[name] for value in values if isinstance(value, dict) and value.get(name) is not None]
    return values


def _text(where: str, answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    try:
        return completion_text([answer] if isinstance(answer, dict) else answer)
    except UserError as error:
        raise UserError(f"{where} holds no answer ({error}); give what the model wrote as a string") from error
