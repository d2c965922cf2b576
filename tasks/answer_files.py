"""Files of answers that others wrote: where each tool's rows hold an answer stands in `answer_columns.csv`.

An inner column stands behind a dot, and `*` means each of a list. Columns with `+` between them are one answer, a JSON
object; of two with a space between them one is there.
"""

import csv
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import brief, quoted
from sozo.data.jsonl import id_column, read_numbered, text_column
from sozo.data.schema import ERROR, utf8_safe
from sozo.scoring.final_text import NOT_AT_HAND, completion_text
from sozo.tasks.task import Answer

PLACES = tuple(
    csv.DictReader(
        files(__package__)
        .joinpath("answer_columns.csv")
        .read_text("utf-8")
        .splitlines()
    )
)


def read_answers_file(
    path: Path,
    items: Collection[str] = (),
    answer_columns: Mapping[str, str] | None = None,
) -> Iterator[Answer]:
    """The answers of a file, row by row: texts, messages, or conversations that end with the answer.

    `item` is what the row's column says, else which of `items` its id names, else empty; where there is one item only,
    its column is not read. Of a row without an answer, whose column `error` says why, it never came. Without an id, the
    answers to an item are numbered (`momotaro-0`), and else the file's rows, from 0, in eight digits; several answers
    of a row are numbered behind its id. Lone surrogates (`\\ud800`) stay. `answer_columns` (of a task) is one more
    place.
    """
    places = (
        [*PLACES, dict.fromkeys(PLACES[0], "") | dict(answer_columns)]
        if answer_columns
        else PLACES
    )
    ids, numbers = set[str](), Counter[str]()
    for number, where, row in read_numbered(path):
        place, answers = _place(where, row, places)
        named = _named(row, place)
        item = "" if len(items) == 1 else utf8_safe(id_column(named, "item", where, ""))
        numbered = f"{item}-{numbers[item]}" if item else f"{number:08d}"
        if place["first"]:
            numbered = f"{number + int(place['first'])}"
        row_id = utf8_safe(id_column(named, "id", where, numbered))
        source, end = (
            utf8_safe(text_column(named, name, where, ""))
            for name in ("source", "finish_reason")
        )
        numbers[item] += 1
        item = item or named_item(row_id, items)
        for k, answer in enumerate(answers or [""]):
            answer_id = row_id if len(answers) < 2 else f"{row_id}-{k}"
            if answer_id in ids:
                raise UserError(
                    f"{where}: the id {quoted(answer_id)} comes twice; make ids unique"
                )
            ids.add(answer_id)
            text = _text(f"{where}: the column {place['answer']}", answer)
            if place["answer"] == "judgement":  # of an answer that nobody has
                text, end = "", NOT_AT_HAND
            yield Answer(
                answer_id,
                item,
                text,
                source,
                finish_reason=end or None if answers else ERROR,
            )
    if not ids:
        raise UserError(
            f'{path}: holds no answers; write one JSON object per line: {{"text": "1. ..."}}'
        )


def named_item(name: str, items: Collection[str]) -> str:
    """The item that an answer's id names: it is the item's, or that with the answer's number; empty if none.

    >>> [named_item(name, {"momotaro"}) for name in ("momotaro", "momotaro-3", "gpt-4o-3")]
    ['momotaro', 'momotaro', '']
    """
    return next((item for item in (name, name.rpartition("-")[0]) if item in items), "")


def _place(
    where: str, row: Mapping[str, Any], places: Sequence[dict[str, str]]
) -> tuple[dict[str, str], list[Any]]:
    """Where a row has its answers, and these; none where its tool says that none came."""
    filled = [
        (place, answers)
        for place in places
        if (answers := _values(row, place["answer"]))
    ]
    if len(filled) == 1:
        return filled[0]
    if row.get("error") and not filled:
        return max(reversed(places), key=lambda place: len(_named(row, place))), []
    columns = brief(", ".join(row))
    raise UserError(
        f"{where}: {len(filled)} answers in the columns {columns}; call the answer's column text"
    )


def _named(row: Mapping[str, Any], place: Mapping[str, str]) -> dict[str, Any]:
    """What a row says of its answers in the columns of a place."""
    known = ("id", "item", "source", "finish_reason")
    return {
        name: value
        for name in known
        for column in place[name].split()
        for value in _values(row, column)
    }


def _values(row: Any, column: str) -> list[Any]:
    """What stands in a column, if it is not null; with `*` there may be several values."""
    if "+" in column:
        parts = [row.get(name) for name in column.split("+")]
        filled = all(isinstance(part, str) for part in parts)
        return (
            [
                json.dumps(
                    dict(zip(column.split("+"), parts, strict=True)), ensure_ascii=False
                )
            ]
            if filled
            else []
        )
    values = [row]
    for name in column.split("."):
        if name == "*":
            values = [
                inner for value in values if isinstance(value, list) for inner in value
            ]
        else:
            values = [
                value[name]
                for value in values
                if isinstance(value, dict) and value.get(name) is not None
            ]
    return values


def _text(where: str, answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    try:
        return completion_text([answer] if isinstance(answer, dict) else answer)
    except UserError as error:
        raise UserError(
            f"{where} holds no answer ({error}); give what the model wrote as a string"
        ) from error
