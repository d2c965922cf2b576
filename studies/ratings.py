"""What people or judges say of answers, checked line by line: ratings in JSONL or CSV, and rankings in JSONL."""

import csv
import math
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.data.jsonl import id_column, read_objects
from sozo.data.settings import hint
from sozo.studies.rubric import RatingRubric

_NEEDED = ("item", "criterion", "rater", "score")
_OPTIONAL = ("model", "domain", "group", "patent")
_LOWEST, _HIGHEST = 1, 5
RANKING = "ranking"  # the criterion of a ranking's ratings


class Rating(NamedTuple):
    """One person's score of one answer."""

    model: str  # who wrote the answer; empty where the file does not say
    item: str  # which question (or story) it answers, or which idea it is
    criterion: (
        str  # what was rated, such as 流暢性; with a rubric, the criterion's name
    )
    rater: str  # who rated it
    score: float  # 1 to 5, or on the rubric's scale; of a ranking 0 to 1
    domain: str = ""  # what field the item is of
    group: str = ""  # as what the rater rated it: which team
    patent: str = ""  # what the idea is from

    @property
    def unit(self) -> tuple[str, str]:
        """What was rated."""
        return self.model, self.item


def read_ratings(path: Path) -> list[Rating]:
    """All ratings of models' answers, 1 to 5, in order; further columns are left alone.

    The file is `.jsonl` or `.csv` (a line of headings first). A line:
    `{"model": "GPT-4o", "item": "uu-001", "criterion": "流暢性", "rater": "A", "score": 4}`.
    """
    return _read(path, ("model", *_NEEDED), None, (_LOWEST, _HIGHEST))


def read_any_ratings(path: Path, rubric: RatingRubric | None = None) -> list[Rating]:
    """The same of anything that was rated: the columns model, domain, group and patent may be missing.

    With a rubric every criterion is one of its own and every score on that one's scale; without, a finite number. An
    item is of one domain and from one patent.
    """
    return _read(path, _NEEDED, rubric, (-math.inf, math.inf))


def read_families(path: Path) -> dict[str, str]:
    """Model -> family, of a file as above with the columns model and family: what was trained from one model."""
    families: dict[str, str] = {}
    for where, row in _lines(path, ("model", "family")):
        model, family = str(row["model"]), str(row["family"])
        if (before := families.setdefault(model, family)) != family:
            raise UserError(
                f"{where}: the model {model!r} is of the family {before!r} and of {family!r}; give it one"
            )
    return families


def _read(
    path: Path,
    needed: Sequence[str],
    rubric: RatingRubric | None,
    scale: tuple[float, float],
) -> list[Rating]:
    ratings: list[Rating] = []
    seen: dict[
        tuple[str, ...], tuple[str, str]
    ] = {}  # what must come once, or be the same: its value, and where it was
    for where, row in _lines(path, needed):
        rating = _rating(where, row, needed, rubric, scale)
        score = (rating.model, rating.item, rating.criterion, rating.rater)
        if score in seen:
            raise UserError(
                f"{where}: the rater {rating.rater!r} rated this already ({seen[score][1]}); keep one"
            )
        seen[score] = "", where
        for name in ("domain", "patent"):
            value = getattr(rating, name)
            before, line = seen.setdefault((name, *rating.unit), (value, where))
            if value != before:
                two = f"the item {rating.item!r} is of the {name} {value!r}, and of {before!r} before ({line})"
                raise UserError(f"{where}: {two}; give it one")
        ratings.append(rating)
    if not ratings:
        raise UserError(
            f"{path}: holds no ratings; give the columns {', '.join(needed)}"
        )
    return ratings


def _rating(
    where: str,
    row: dict[str, Any],
    needed: Sequence[str],
    rubric: RatingRubric | None,
    scale: tuple[float, float],
) -> Rating:
    texts = {name: row.get(name) for name in (*needed, *_OPTIONAL) if name != "score"}
    for name, value in texts.items():
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, str | int)
        ):
            raise UserError(
                f"{where}: {name} is neither text nor a whole number; write it as text"
            )
    try:
        score = (
            math.nan
            if isinstance(row["score"], bool | list | dict)
            else float(row["score"])
        )
    except (ValueError, OverflowError):
        score = math.nan
    named = {name: "" if value is None else str(value) for name, value in texts.items()}
    if rubric is not None:
        criterion = rubric.criterion(named["criterion"])
        if criterion is None:
            known = [criterion.name for criterion in rubric.criteria]
            near = hint(named["criterion"], known, f"; {', '.join(known)} exist")
            raise UserError(
                f"{where}: no criterion {named['criterion']!r} in the rubric {rubric.name}{near}"
            )
        if score not in criterion.scores:
            scores = f"{criterion.lowest} to {criterion.highest}"
            raise UserError(
                f"{where}: the score {quoted(row['score'])} of {criterion.name} is no whole number from {scores}"
            )
        named["criterion"] = criterion.name
    elif not (
        scale[0] <= score <= scale[1] and math.isfinite(score)
    ):  # NaN is not within any scale
        within = "" if math.isinf(scale[0]) else f" from {scale[0]} to {scale[1]}"
        raise UserError(
            f"{where}: the score {quoted(row['score'])} is no number{within}"
        )
    return Rating(**named, score=score)


def _lines(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a file, each after where it stands; all have what is needed."""
    if not path.is_file():
        raise UserError(
            f"{path}: {'not a file' if path.exists() else 'no such file'}; give JSONL or CSV"
        )
    kind = path.suffix.lower()
    if kind not in (".jsonl", ".csv"):
        raise UserError(
            f"{path}: the name ends in neither .jsonl nor .csv; rename the file to what it is"
        )
    for where, row in (
        read_objects(path) if kind == ".jsonl" else _csv_lines(path, needed)
    ):
        for name in needed:
            if row.get(name) in (None, ""):
                raise UserError(
                    f"{where}: the column {name} is missing or empty; fill it in"
                )
        yield where, row


def _csv_lines(
    path: Path, needed: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    content = path.read_bytes()
    try:
        text = content.decode(
            "utf-8-sig"
        )  # Excel and other Windows tools begin with a byte order mark
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: not UTF-8; convert the file to UTF-8"
        ) from None
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        missing = [name for name in needed if name not in (reader.fieldnames or ())]
        if missing:
            raise UserError(
                f"{path}, line 1: no column {', '.join(missing)}; name the columns in the first line"
            )
        for row in reader:
            if None in row:
                raise UserError(
                    f"{path}, line {reader.line_num}: more cells than headings; quote cells with commas"
                )
            yield f"{path}, line {reader.line_num}", row
    except csv.Error as error:
        raise UserError(
            f"{path}, line {reader.reader.line_num}: not CSV ({error})"
        ) from None


def read_rankings(path: Path) -> list[Rating]:
    """Rankings of the same models on one item each, best first, as ratings from 1 (first place) to 0 (last).

    A line of JSONL: `{"story_id": "momotaro", "ranking": ["GPT-4o", "Swallow-8B"], "rater": "r1"}`. Of the paper's
    eleven models, the first has 1.0, the second 0.9 and the last 0.0.
    """
    ratings: list[Rating] = []
    first: list[str] = []
    seen = set()
    for where, row in read_objects(path):
        names = row.get("ranking")
        if (
            not isinstance(names, list)
            or len(names) < 2
            or not all(isinstance(name, str) for name in names)
        ):
            raise UserError(
                f"{where}: the column ranking is no list of two models or more; give names, best first"
            )
        if len(set(names)) != len(names):
            raise UserError(
                f"{where}: the ranking has a model twice; name every model once"
            )
        first = first or names
        if set(names) != set(first):
            other = ", ".join(sorted(set(names) ^ set(first)))
            raise UserError(
                f"{where}: ranks other models than the first ranking ({other}); rank the same"
            )
        # Without names, several rankings of one item are several people's.
        item, rater = (
            id_column(row, "story_id", where),
            id_column(row, "rater", where, "") or where,
        )
        if (item, rater) in seen:
            raise UserError(
                f"{where}: {rater!r} ranks the story {item!r} twice; leave one out"
            )
        seen.add((item, rater))
        for place, name in enumerate(names, 1):
            ratings.append(
                Rating(
                    name, item, RANKING, rater, (len(names) - place) / (len(names) - 1)
                )
            )
    if not ratings:
        raise UserError(
            f'{path}: holds no rankings; write one per line: {{"story_id": "...", "ranking": [...]}}'
        )
    return ratings
