"""A file of people's ratings: JSONL or CSV with model, item, criterion, rater and score, checked line by line."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.jsonl import read_objects

_TEXTS = ("model", "item", "criterion", "rater")


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's score of one answer."""

    model: str  # who wrote the answer
    item: str  # which question (or story) it answers
    criterion: str  # what was rated, such as 流暢性
    rater: str  # who rated it
    score: float  # finite, and within the scale that the file was read with


def read_ratings(path: Path, scale: tuple[float, float] = (1.0, 5.0)) -> list[Rating]:
    """All ratings of a file, in order; further columns are left alone.

    Args:
        path: `.jsonl` (an object per line, blank lines allowed) or `.csv` (a line of headings first), UTF-8.
        scale: Lowest and highest score that there can be.

    A line of JSONL:

        {"model": "GPT-4o", "item": "uu-001", "criterion": "流暢性", "rater": "A", "score": 4}
    """
    if not path.is_file():
        raise UserError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give JSONL or CSV")
    readers: dict[str, Callable[[Path], Iterator[tuple[str, dict[str, Any]]]]] = {
        ".jsonl": read_objects,
        ".csv": _csv_lines,
    }
    if path.suffix.lower() not in readers:
        raise UserError(f"{path}: the name ends in neither .jsonl nor .csv; rename the file to what it is")
    ratings: list[Rating] = []
    seen: dict[tuple[str, ...], str] = {}
    for where, row in readers[path.suffix.lower()](path):
        rating = _rating(where, row, scale)
        key = (rating.model, rating.item, rating.criterion, rating.rater)
        if key in seen:
            raise UserError(f"{where}: the rater {rating.rater!r} rated this already ({seen[key]}); keep one")
        seen[key] = where
        ratings.append(rating)
    if not ratings:
        raise UserError(f"{path}: holds no ratings; give the columns {', '.join(_TEXTS)}, score")
    return ratings


def _rating(where: str, row: dict[str, Any], scale: tuple[float, float]) -> Rating:
    values = {}
    for name in (*_TEXTS, "score"):
        value = row.get(name)
        if value is None or value == "":
            raise UserError(f"{where}: the column {name} is missing or empty")
        values[name] = value
    for name in _TEXTS:
        if isinstance(values[name], bool) or not isinstance(values[name], str | int):
            raise UserError(f"{where}: {name} is neither text nor a whole number")
    low, high = scale
    try:
        score = math.nan if isinstance(values["score"], bool | list | dict) else float(values["score"])
    except ValueError:
        score = math.nan
    if not low <= score <= high:  # NaN is not within any scale
        raise UserError(f"{where}: the score {values['score']!r} is no number from {low:g} to {high:g}")
    return Rating(**{name: str(values[name]) for name in _TEXTS}, score=score)


def _csv_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.DictReader(StringIO(_text(path), newline=""), strict=True)
    try:
        headings = reader.fieldnames or ()
        missing = [name for name in (*_TEXTS, "score") if name not in headings]
        if missing:
            raise UserError(f"{path}, line 1: no column {', '.join(missing)}; name the columns in the first line")
        for row in reader:
            if None in row:
                raise UserError(f"{path}, line {reader.line_num}: more cells than headings; quote cells with commas")
            yield f"{path}, line {reader.line_num}", row
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.reader.line_num}: not CSV ({error})") from None


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")  # Excel and other Windows tools begin with a byte order mark
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8") from None
