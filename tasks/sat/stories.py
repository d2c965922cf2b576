"""The stories of the Story Alteration Task (paper, section 3.3), 113 well-known tales or anybody's own.

The paper's, 113 tales from a website that GPT-4o summarised to 200-400 characters, are not public. Those packaged here
(`stories.jsonl`) are sozo's own summaries of as many tales in the public domain: scores on them are not the paper's.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path

from sozo.data.jsonl import FilledText, Id, Text, read_records, record_of


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

    ERROR = "error"  # it never came
    NO_TEXT = "no_text"  # not one letter or digit but in reasoning
    # The encoder has a zero or non-finite vector for the story
    STORY_NO_VECTOR = "story_no_vector"
    NO_VECTOR = "no_vector"  # or for the rewrite


def stories_digest(stories: Sequence[Story]) -> str:
    """SHA-256 of what stories say, whatever file they come from."""
    return hashlib.sha256(
        json.dumps([asdict(story) for story in stories]).encode()
    ).hexdigest()
