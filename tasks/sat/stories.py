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
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any

from pydantic import AllowInfNan, Field, Strict, StrictBool

from sozo.data.errors import UserError
from sozo.data.jsonl import FilledText, Id, Text, read_records, record_of, write_objects
from sozo.data.schema import FAILED, utf8_safe

SCHEMA_VERSION = 1
_Whole = Annotated[int, Strict(), Field(gt=-(1 << 63), lt=1 << 63)]
_Number = Annotated[float, Strict(), AllowInfNan(False)]


@dataclass(frozen=True, slots=True)
class Story:
    """One original story."""

    id: Id  # unique among the stories
    title: Text
    origin: Text  # where it comes from: `グリム童話`, `日本の昔話`
    source: Text  # which old text it follows and why anybody may use it
    text: FilledText  # the summary that is rewritten; it fills the prompt as it stands


def load_stories(path: Path | None = None) -> tuple[Story, ...]:
    """The packaged 113 stories, or those of a JSONL file with at least the columns id and text.

    >>> stories = load_stories()
    >>> len(stories), stories[0].title
    (113, '桃太郎')
    """
    if path is None:
        with as_file(files("sozo.data").joinpath("stories.jsonl")) as packaged:
            return load_stories(packaged)
    story = partial(record_of, Story, title="", origin="", source="")
    return read_records(path, story, "stories", '{"id": "...", "text": "..."}')


class SatReason(StrEnum):
    """Why a rewrite has no score, in the order in which the rules are applied: the first that fails is given."""

    ERROR = FAILED  # it never came
    REASONING = "reasoning"  # that never ends
    EMPTY = "empty"  # not one letter or digit
    STORY_NO_VECTOR = "story_no_vector"  # the encoder has a zero or non-finite vector for the story
    NO_VECTOR = "no_vector"  # or for the rewrite


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite of one story, with what the scorer said of it."""

    id: Id  # unique inside a file
    story_id: Id  # of the story that was to be rewritten
    text: Text  # as it was written
    source: Text = ""  # who wrote it: a model's name, or a file
    seed: _Whole | None = None  # of the run that drew it; None when somebody else generated it
    temperature: _Number | None = None  # of the sampling, if known
    finish_reason: Text | None = None  # `stop` or `length`, if known
    # Cosine distance between story and rewrite, 0 to 2; None without one.
    score: Annotated[_Number, Field(ge=0, le=2)] | None = None
    reason: Text | None = None  # a `SatReason` value; None with a score
    # What follows is None before scoring.
    length: _Whole | None = None  # characters, without those of line breaks (the task's compliance)
    one_line: StrictBool | None = None  # whether it holds no line break
    extras: tuple[Text, ...] | None = None  # what it holds beside a story (the task's extras); empty for nothing
    copied: _Number | None = None  # share of the story's character 8-grams in it; None for a story shorter than that


def read_rewrites(path: Path, stories: Collection[str] | None = None, source: str | None = None) -> tuple[Rewrite, ...]:
    """The rewrites of a JSONL file, in order: columns story_id (of `stories`) and text, and any field of `Rewrite`.

    Without ids, the rewrites of a story are numbered (`momotaro-0`, `momotaro-1`); rows that do not say who wrote them
    are `source`'s, or the file's name is. Other columns are left out.
    """
    numbers: Counter[str] = Counter()

    def rewrite(where: str, row: dict[str, Any]) -> Rewrite:
        if row.get("schema", SCHEMA_VERSION) != SCHEMA_VERSION:
            raise UserError(f"{where}: row of schema version {row['schema']!r}; this sozo reads {SCHEMA_VERSION}")
        story = str(row.get("story_id"))
        new = record_of(Rewrite, where, row, id=f"{story}-{numbers[story]}", source=source or path.name)
        if stories is not None and story not in stories:
            raise UserError(f"{where}: there is no story {story!r}; give the file with the stories that were used")
        if new.reason not in (None, *SatReason) or (new.reason is not None and new.score is not None):
            problem = f"the reason {new.reason!r} is none or stands beside a score"
            raise UserError(f"{where}: {problem}; leave both columns out to score the text")
        numbers[story] += 1
        return new

    return read_records(path, rewrite, "rewrites", '{"story_id": "...", "text": "..."}')


def write_rewrites(path: Path, rewrites: Sequence[Rewrite]) -> None:
    """Write a JSONL file, whole or not at all. Lone surrogates are stored as escapes: no UTF-8 file can hold them."""
    safe = ({k: utf8_safe(v) if isinstance(v, str) else v for k, v in asdict(row).items()} for row in rewrites)
    write_objects(path, ({"schema": SCHEMA_VERSION, **values} for values in safe))
