"""What people say of answers, checked line by line: ratings (JSONL or CSV), and rankings of the models on an item."""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.jsonl import id_column, read_objects
from eval.matrix import Matrix

PEOPLE = "human"  # the name of people's matrix, as in Table 23
RANKING = "ranking"
_TEXTS = ("model", "item", "criterion", "rater")
_COLUMNS = (*_TEXTS, "score")
_LOWEST, _HIGHEST = 1, 5


@dataclass(frozen=True, slots=True)
class Rating:
    """One person's score of one answer."""

    model: str  # who wrote the answer
    item: str  # which question (or story) it answers
    criterion: str  # what was rated, such as 流暢性
    rater: str  # who rated it
    score: float  # 1 to 5; of a ranking 0 to 1


def read_ratings(path: Path) -> list[Rating]:
    """All ratings of a file, `.jsonl` or `.csv` (a line of headings first), in order; further columns are left alone.

    A line: `{"model": "GPT-4o", "item": "uu-001", "criterion": "流暢性", "rater": "A", "score": 4}`.
    """
    if not path.is_file():
        raise UserError(f"{path}: {'not a file' if path.exists() else 'no such file'}; give JSONL or CSV")
    kind = path.suffix.lower()
    if kind not in (".jsonl", ".csv"):
        raise UserError(f"{path}: the name ends in neither .jsonl nor .csv; rename the file to what it is")
    ratings: list[Rating] = []
    seen: dict[tuple[str, ...], str] = {}
    for where, row in read_objects(path) if kind == ".jsonl" else _csv_lines(path):
        rating = _rating(where, row)
        if (key := (rating.model, rating.item, rating.criterion, rating.rater)) in seen:
            raise UserError(f"{where}: the rater {rating.rater!r} rated this already ({seen[key]}); keep one")
        seen[key] = where
        ratings.append(rating)
    if not ratings:
        raise UserError(f"{path}: holds no ratings; give the columns {', '.join(_COLUMNS)}")
    return ratings


def _rating(where: str, row: dict[str, Any]) -> Rating:
    for name in _COLUMNS:
        if row.get(name) in (None, ""):
            raise UserError(f"{where}: the column {name} is missing or empty")
    for name in _TEXTS:
        if isinstance(row[name], bool) or not isinstance(row[name], str | int):
            raise UserError(f"{where}: {name} is neither text nor a whole number")
    try:
        score = math.nan if isinstance(row["score"], bool | list | dict) else float(row["score"])
    except ValueError:
        score = math.nan
    if not _LOWEST <= score <= _HIGHEST:  # NaN is not within any scale
        raise UserError(f"{where}: the score {row['score']!r} is no number from {_LOWEST} to {_HIGHEST}")
    return Rating(**{name: str(row[name]) for name in _TEXTS}, score=score)


def _csv_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")  # Excel and other Windows tools begin with a byte order mark
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not UTF-8; convert the file to UTF-8") from None
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise UserError(f"{path}, line 1: no column {', '.join(missing)}; name the columns in the first line")
        for row in reader:
            if None in row:
                raise UserError(f"{path}, line {reader.line_num}: more cells than headings; quote cells with commas")
            yield f"{path}, line {reader.line_num}", row
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.reader.line_num}: not CSV ({error})") from None


def read_rankings(path: Path) -> list[Rating]:
    """Rankings of the same models on one item each, best first, as ratings by the criterion `ranking` (`place_score`).

    A line of JSONL: `{"story_id": "momotaro", "ranking": ["GPT-4o", "Swallow-8B"], "rater": "r1"}`.
    """
    ratings: list[Rating] = []
    first: list[str] = []
    seen = set()
    for where, row in read_objects(path):
        names = row.get("ranking")
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise UserError(f"{where}: the column ranking is no list of two models or more; give names, best first")
        if len(set(names)) != len(names):
            raise UserError(f"{where}: the ranking has a model twice; name every model once")
        first = first or names
        if set(names) != set(first):
            other = sorted(set(names) ^ set(first))
            raise UserError(f"{where}: ranks other models than the first ranking ({', '.join(other)}); rank the same")
        # Without names, several rankings of one item are several people's.
        item, rater = id_column(row, "story_id", where), id_column(row, "rater", where, "") or where
        if (item, rater) in seen:
            raise UserError(f"{where}: {rater!r} ranks the story {item!r} twice; leave one out")
        seen.add((item, rater))
        places = enumerate(names, 1)
        ratings += [Rating(model, item, RANKING, rater, place_score(place, len(names))) for place, model in places]
    if not ratings:
        raise UserError(f'{path}: holds no rankings; write one per line: {{"story_id": "...", "ranking": [...]}}')
    return ratings


def place_score(place: int, models: int) -> float:
    """Score of a place from 1, as the paper gives it to its eleven models: 1 for the first and 0 for the last.

    >>> [place_score(place, 11) for place in (1, 2, 3, 11)]
    [1.0, 0.9, 0.8, 0.0]
    """
    return (models - place) / (models - 1)


def mean_scores(ratings: Iterable[Rating]) -> dict[tuple[str, str], dict[str, float]]:
    """(model, item) -> criterion -> mean over the raters, in the order of the ratings."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for rating in ratings:
        scores.setdefault((rating.model, rating.item), {}).setdefault(rating.criterion, []).append(rating.score)
    return {key: {name: math.fsum(of) / len(of) for name, of in criteria.items()} for key, criteria in scores.items()}


def people_matrix(rankings: Iterable[Rating]) -> Matrix:
    """Models x items, each score the mean over the raters."""
    scores: dict[str, dict[str, float]] = {}
    for (model, item), means in mean_scores(rankings).items():
        scores.setdefault(model, {})[item] = means[RANKING]
    return Matrix.of(PEOPLE, scores)
