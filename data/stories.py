"""The stories of the Story Alteration Task (paper, section 3.3): 113 well-known tales, and anybody's own.

The paper's, 113 tales from a website that GPT-4o summarised to 200-400 characters, are not public. Those packaged here
(`stories.jsonl`) are sozo's own summaries of tales in the public domain, of the same number and length. Scores on them
are not the paper's, whatever the encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.jsonl import id_column, read_records, text_column, write_objects

NUM_STORIES = 113


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
        with as_file(files("data").joinpath("stories.jsonl")) as packaged:
            return load_stories(packaged)
    return read_records(path, _story, "stories", '{"id": "...", "text": "..."}')


def _story(where: str, row: dict[str, Any]) -> Story:
    text, story_id = text_column(row, "text", where), id_column(row, "id", where)
    if not text.strip():
        raise UserError(f"{where}: the story {story_id!r} has no text; write one or leave the line out")
    named = {name: text_column(row, name, where, "") for name in ("title", "origin", "source")}
    return Story(story_id, text=text, **named)


def write_stories(path: Path, stories: Iterable[Story]) -> None:
    """Write a JSONL file that `load_stories` reads, whole or not at all."""
    write_objects(path, map(asdict, stories))
