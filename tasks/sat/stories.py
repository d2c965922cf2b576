"""The stories of the Story Alteration Task (paper, section 3.3), 113 well-known tales or anybody's own; their rewrites.

The paper's, 113 tales from a website that GPT-4o summarised to 200-400 characters, are not public. Those packaged here
(`stories.jsonl`) are sozo's own summaries of as many tales in the public domain: scores on them are not the paper's.

Rewrites are JSONL and not parquet: a few hundred rows of long text that people read and search, and that other tools
write. A scored file is a file of rewrites again: each of its rows has a score or a reason, never both.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_records, text_column, write_objects
from sozo.data.schema import utf8_safe

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Story:
    """One original story."""

    id: str  # unique among the stories
    title: str
    origin: str  # where it comes from: `グリム童話`, `日本の昔話`
    source: str  # which old text it follows and why anybody may use it
    text: str  # the summary that is rewritten; it fills the prompt as it stands


def load_stories(path: Path | None = None) -> tuple[Story, ...]:
    """The packaged 113 stories, or those of a JSONL file with at least the columns id and text.

    >>> stories = load_stories()
    >>> len(stories), stories[0].title
    (113, '桃太郎')
    """
    if path is None:
        with as_file(files("sozo.data").joinpath("stories.jsonl")) as packaged:
            return load_stories(packaged)
    return read_records(path, _story, "stories", '{"id": "...", "text": "..."}')


def _story(where: str, row: dict[str, Any]) -> Story:
    text, story_id = text_column(row, "text", where), id_column(row, "id", where)
    if not text.strip():
        raise UserError(f"{where}: the story {story_id!r} has no text; write one or leave the line out")
    named = {name: text_column(row, name, where, "") for name in ("title", "origin", "source")}
    return Story(story_id, text=text, **named)


class SatReason(StrEnum):
    """Why a rewrite has no score, in the order in which the rules are applied: the first that fails is given."""

    REASONING = "reasoning"  # that never ends
    EMPTY = "empty"  # not one letter or digit
    STORY_NO_VECTOR = "story_no_vector"  # the encoder has a zero or non-finite vector for the story
    NO_VECTOR = "no_vector"  # or for the rewrite


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite of one story, with what the scorer said of it."""

    id: str  # unique inside a file
    story_id: str  # of the story that was to be rewritten
    text: str  # as it was written
    source: str = ""  # who wrote it: a model's name, or a file
    seed: int | None = None  # of the run that drew it; None when somebody else generated it
    temperature: float | None = None  # of the sampling, if known
    finish_reason: str | None = None  # `stop` or `length`, if known
    score: float | None = None  # cosine distance between story and rewrite, 0 to 2; None without one
    reason: str | None = None  # a `SatReason` value; None with a score
    # What follows is None before scoring.
    length: int | None = None  # characters, without those of line breaks (the task's compliance)
    one_line: bool | None = None  # whether it holds no line break
    extras: tuple[str, ...] | None = None  # what it holds beside a story (the task's extras); empty for nothing
    copied: float | None = None  # share of the story's character 8-grams in it; None for a story shorter than that


def read_rewrites(path: Path, stories: Collection[str] | None = None, source: str | None = None) -> tuple[Rewrite, ...]:
    """The rewrites of a JSONL file, in order: columns story_id (of `stories`) and text, and any field of `Rewrite`.

    Without ids, the rewrites of a story are numbered (`momotaro-0`, `momotaro-1`); rows that do not say who wrote them
    are `source`'s, or the file's name is. Other columns are left out.
    """
    numbers: Counter[str] = Counter()

    def rewrite(where: str, row: dict[str, Any]) -> Rewrite:
        story = id_column(row, "story_id", where)
        if stories is not None and story not in stories:
            raise UserError(f"{where}: there is no story {story!r}; give the file with the stories that were used")
        schema = row.get("schema", SCHEMA_VERSION)
        if schema != SCHEMA_VERSION:
            raise UserError(f"{where}: row of schema version {schema!r}; this sozo reads {SCHEMA_VERSION}")
        row_id = id_column(row, "id", where, f"{story}-{numbers[story]}")
        numbers[story] += 1
        text, author = text_column(row, "text", where), text_column(row, "source", where, source or path.name)
        finish_reason = None if row.get("finish_reason") is None else text_column(row, "finish_reason", where)
        numeric = {name: _number(row, name, where) for name in ("seed", "temperature", "score", "length", "copied")}
        return Rewrite(row_id, story, text, author, finish_reason=finish_reason, **numeric, **_scored(row, where))

    return read_records(path, rewrite, "rewrites", '{"story_id": "...", "text": "..."}')


def write_rewrites(path: Path, rewrites: Sequence[Rewrite]) -> None:
    """Write a JSONL file, whole or not at all. Lone surrogates are stored as escapes: no UTF-8 file can hold them."""
    safe = ({k: utf8_safe(v) if isinstance(v, str) else v for k, v in asdict(row).items()} for row in rewrites)
    write_objects(path, ({"schema": SCHEMA_VERSION, **values} for values in safe))


def _scored(row: dict[str, Any], where: str) -> dict[str, Any]:
    """What a scorer wrote beside numbers; all None in a file that nobody has scored."""
    score, reason, one_line, extras = (row.get(name) for name in ("score", "reason", "one_line", "extras"))
    if score is not None and not 0 <= score <= 2:
        raise UserError(f"{where}: the score {score} is not in 0 to 2; leave the column out to score the text")
    if reason not in (None, *SatReason) or (reason is not None and score is not None):
        raise UserError(f"{where}: the reason {reason!r} is none or stands beside a score; leave both columns out")
    if extras is not None and not (isinstance(extras, list) and all(isinstance(extra, str) for extra in extras)):
        raise UserError(f"{where}: the column extras is no list of strings; leave it out")
    if not isinstance(one_line, bool | None):
        raise UserError(f"{where}: the column one_line is neither true nor false; leave it out")
    return {"reason": reason, "one_line": one_line, "extras": None if extras is None else tuple(extras)}


def _number(row: dict[str, Any], name: str, where: str) -> Any:
    value, integer = row.get(name), name in ("seed", "length")
    kind: Any = int if integer else int | float
    # NaN and infinity are not below the largest, and True is an int.
    if value is None or (isinstance(value, kind) and not isinstance(value, bool) and abs(value) < 1 << 63):
        return value
    raise UserError(f"{where}: the column {name} is no {'whole ' * integer}number; fix it or leave it out")
