"""Files of answers that others wrote: where each tool's rows hold an answer stands in `answer_columns.csv`.

An inner column stands behind a dot, and `*` means each of a list. Columns with `+` between them are one answer, a JSON
object; of two with a space between them the first that is there counts. `error` says in which columns a row says that
it failed, `again` in which rows of one answer differ.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.foreign import brief, quoted
from sozo.data.jsonl import id_column, read_numbered, text_column
from sozo.data.schema import ERROR, utf8_safe
from sozo.scoring.final_text import (
    NOT_AT_HAND,
    Ending,
    completion_text,
    ending,
    said_in,
)
from sozo.tasks.task import Answer

REFUSED = "refusal"  # how an answer ends that the model declined to give
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
    items: Mapping[str, str] | Collection[str] = (),
    answer_columns: Mapping[str, str] | None = None,
) -> Iterator[Answer]:
    """The answers of a file, row by row: texts, messages, or conversations that end with the answer.

    `item` is what the row's column says, else which of `items` (names, perhaps with the ids that they stand for) its id
    names, else empty; where there is one item only,
    its column is not read. Of a row without an answer, whose column `error` says why, it never came. Without an id, the
    answers to an item are numbered (`momotaro-0`), and else the file's rows, from 0, in eight digits; several answers
    of a row are numbered behind its id. Lone surrogates (`\\ud800`) stay. `answer_columns` (of a task) is one more
    place.
    """
    places = (
        [
            *PLACES,
            dict.fromkeys(PLACES[0], "") | {"error": "error"} | dict(answer_columns),
        ]
        if answer_columns
        else PLACES
    )
    texts: dict[str, str] = {}
    numbers = Counter[str]()
    known = items if isinstance(items, Mapping) else {name: name for name in items}
    for number, where, row in read_numbered(path, _roots(places)):
        place, answers = _place(where, row, places)
        named = _named(row, place)
        item = "" if len(known) == 1 else utf8_safe(id_column(named, "item", where, ""))
        item = known.get(item, item)
        numbered = f"{item}-{numbers[item]}" if item else f"{number:08d}"
        if place["first"]:
            numbered = f"{number + int(place['first'])}"
        row_id = utf8_safe(id_column(named, "id", where, numbered))
        source = utf8_safe(text_column(named, "source", where, ""))
        numbers[item] += 1
        item = item or known.get(named_item(row_id, known), "")
        for k, (answer, end) in enumerate(answers):
            answer_id = row_id if len(answers) < 2 else f"{row_id}-{k}"
            if end is not None and not isinstance(end, str):
                raise UserError(
                    f"{where}: the column finish_reason is no string; give a string"
                )
            text, refused = _said(f"{where}: the column {place['answer']}", answer)
            if answer_id in texts:
                if texts[answer_id] == text and any(
                    name in row for name in place["again"].split()
                ):
                    continue
                raise UserError(
                    f"{where}: the id {quoted(answer_id)} comes twice; make ids unique"
                )
            texts[answer_id] = text
            if place["answer"] == "judgement":  # of an answer that nobody has
                text, end = "", NOT_AT_HAND
            end = REFUSED if refused else end and utf8_safe(end)
            yield Answer(answer_id, item, text, source, finish_reason=end or None)
    if not texts:
        raise UserError(
            f'{path}: holds no answers; write one JSON object per line: {{"text": "1. ..."}}'
        )


def _roots(places: Sequence[Mapping[str, str]]) -> set[str]:
    """The columns of a table that anything is read of: prompts, which may be long and many, are none."""
    named = (place[name] for place in places for name in place if name != "tool")
    return {
        re.split("[.+]", column)[0] for text in named for column in text.split()
    } | {part for place in places for part in place["answer"].split("+")}


def named_item(name: str, items: Collection[str]) -> str:
    """The item that an answer's id names: it is the item's, or that with the answer's number; empty if none.

    >>> [named_item(name, {"momotaro"}) for name in ("momotaro", "momotaro-3", "gpt-4o-3")]
    ['momotaro', 'momotaro', '']
    """
    return next((item for item in (name, name.rpartition("-")[0]) if item in items), "")


def _place(
    where: str, row: Mapping[str, Any], places: Sequence[dict[str, str]]
) -> tuple[dict[str, str], list[tuple[Any, Any]]]:
    """Where a row has its answers, and these, each with how it ended: ERROR for one that never came."""
    found = [(place, _values(row, place["answer"], True)) for place in places]
    filled = [
        (place, answers)
        for place, answers in found
        if any(answer not in (None, []) for answer in answers)
    ]
    if len(filled) == 1:
        place, answers = filled[0]
        ends = _ends(row, place, len(answers))
        if not _failed(row, place, any(answers)):
            return place, list(zip(answers, ends, strict=True))
    failed = [place for place, answers in found if _never_came(row, place, answers)]
    if failed and len(filled) < 2:
        place = max(reversed(failed), key=lambda place: len(_named(row, place)))
        (end,) = _ends(row, place, 1)
        told = isinstance(end, str) and ending(end) is not Ending.BADLY
        return place, [("", end if told else ERROR)]
    columns = brief(", ".join(row))
    raise UserError(
        f"{where}: {len(filled)} answers in the columns {columns}; call the answer's column text"
    )


def _ends(row: Any, place: Mapping[str, str], number: int) -> list[Any]:
    """How each of a row's answers ended, by the first column that says it of all of them or of the row."""
    for column in place["finish_reason"].split():
        ends = _values(row, column, "*" in column)
        if "*" in column and len(ends) == number and any(ends):
            return ends
        if "*" not in column and ends:
            return ends * number
    return [None] * number


def _failed(row: Any, place: Mapping[str, str], answered: bool) -> bool:
    """Whether a row says that it failed: an error, an HTTP status, or a word for how it went."""
    # Beside an answer the first, `error`, may be a note.
    for column in place["error"].split()[answered:]:
        for value in _values(row, column):
            if isinstance(value, int) and not isinstance(value, bool):
                return not 200 <= value < 300
            if value and value != "succeeded":
                return True
    return False


def _never_came(row: Any, place: Mapping[str, str], answers: list[Any]) -> bool:
    """Whether a row without an answer is of this tool: it says that it failed, or null or nothing is in the place."""
    if _failed(row, place, False):
        return True
    if any(_values(row, column) for column in place["finish_reason"].split()[1:]):
        return True
    value = row
    for name in place["answer"].split("."):
        if name == "*" or "+" in name:
            return isinstance(value, list) and not any(answers)
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
        if value is None:
            return True
    return value == []


def _named(row: Mapping[str, Any], place: Mapping[str, str]) -> dict[str, Any]:
    """What a row says of its answers in the columns of a place."""
    return {
        name: value
        for name in ("id", "item", "source")
        for column in place[name].split()
        for value in _values(row, column)
    }


def _values(row: Any, column: str, nulls: bool = False) -> list[Any]:
    """What stands in a column, if it is not null; with `*` there may be several values, with `nulls` of each one.

    In a flat table, such as a CSV file, an inner column has its whole name.
    """
    if "." in column and column in row:
        return _inner([row], column)
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
    *names, last = column.split(".")
    for name in names:
        values = _inner(values, name)
    if nulls and names and last != "*":
        return [value.get(last) for value in values if isinstance(value, dict)]
    return _inner(values, last)


def _inner(values: list[Any], name: str) -> list[Any]:
    if name == "*":
        return [inner for value in values if isinstance(value, list) for inner in value]
    return [
        value[name]
        for value in values
        if isinstance(value, dict) and value.get(name) is not None
    ]


def _said(where: str, answer: Any) -> tuple[str, bool]:
    """The text of an answer, and whether it is a refusal."""
    if answer is None:
        return "", False
    if isinstance(answer, str):
        return answer, False
    try:
        turns = [answer] if isinstance(answer, dict) else answer
        text = completion_text(turns)
        return text, bool(text) and said_in(turns[-1])[1]
    except UserError as error:
        raise UserError(
            f"{where} holds no answer ({error}); give what the model wrote as a string"
        ) from error
