"""Rewrites of stories (SAT) as rows of JSONL: who writes them, who scores them and who reads them meet here.

JSONL and not parquet, which holds the response table: a run has a few hundred rows of long text that people want to
read and search, and that other tools write. A scored file is a file of rewrites again: scoring it with another encoder
needs no model.

A row carries a score or a reason, never both and never neither (unless it is not scored yet).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from data.errors import UserError
from data.jsonl import id_column, read_records, text_column, write_objects
from data.schema import utf8_safe

SCHEMA_VERSION = 1
_LARGEST = 1 << 63


class SatReason(StrEnum):
    """Why a rewrite has no score, in the order in which the rules are applied: the first that fails is given."""

    REASONING = "reasoning"  # a <think> block that never ends, or a tag that shows there was one
    EMPTY = "empty"  # not one letter or digit
    STORY_NO_VECTOR = "story_no_vector"  # the encoder has a zero or non-finite vector for the story
    NO_VECTOR = "no_vector"  # or for the rewrite


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite of one story, with what the scorer said of it.

    Args:
        id: Unique inside a file.
        story_id: Of the story that was to be rewritten.
        text: What was written, as it was written.
        source: Who wrote it: a model's name, or a file.
        seed: Seed of the run that drew it; None when somebody else generated it.
        temperature: Sampling temperature, if known.
        finish_reason: `stop` or `length`, if known.
        score: Cosine distance between story and rewrite, 0 to 2; None without one.
        reason: A `SatReason` value; None with a score.
        length: Characters, without those of line breaks (the task's compliance); None before scoring, as all below.
        one_line: Whether it holds no line break.
        extras: What it holds beside a story (the task's extras); empty for nothing.
        copied: Share of the story's character 8-grams found in it, 0 to 1; None for a story shorter than that.
    """

    id: str
    story_id: str
    text: str
    source: str = ""
    seed: int | None = None
    temperature: float | None = None
    finish_reason: str | None = None
    score: float | None = None
    reason: str | None = None
    length: int | None = None
    one_line: bool | None = None
    extras: tuple[str, ...] | None = None
    copied: float | None = None


def read_rewrites(path: Path, stories: Collection[str] | None = None, source: str | None = None) -> tuple[Rewrite, ...]:
    """The rewrites of a JSONL file, in order: columns story_id and text, and any other field of `Rewrite`.

    Without ids, the rewrites of a story are numbered (`momotaro-0`, `momotaro-1`). Other columns are left out.

    Args:
        path: The file.
        stories: Ids of the stories; None takes any.
        source: Who wrote rows that do not say so; None takes the file's name.
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
        text, facts = text_column(row, "text", where), _facts(row, where, source or path.name)
        return Rewrite(row_id, story, text, **facts, **_result(row, where))

    return read_records(path, rewrite, "rewrites", '{"story_id": "...", "text": "..."}')


def write_rewrites(path: Path, rewrites: Sequence[Rewrite]) -> None:
    """Write a JSONL file, whole or not at all. Lone surrogates are stored as `\\udXXX`: no UTF-8 file can hold them."""
    safe = ({k: utf8_safe(v) if isinstance(v, str) else v for k, v in asdict(row).items()} for row in rewrites)
    write_objects(path, ({"schema": SCHEMA_VERSION, **values} for values in safe))


def _facts(row: dict[str, Any], where: str, source: str) -> dict[str, Any]:
    finish = row.get("finish_reason")
    return {
        "source": text_column(row, "source", where, source),
        "seed": _number(row, "seed", where, whole=True),
        "temperature": _number(row, "temperature", where),
        "finish_reason": None if finish is None else text_column(row, "finish_reason", where),
    }


def _result(row: dict[str, Any], where: str) -> dict[str, Any]:
    """What a scorer wrote; all None in a file that nobody has scored."""
    score, reason, extras = _number(row, "score", where), row.get("reason"), row.get("extras")
    if score is not None and not 0 <= score <= 2:
        raise UserError(f"{where}: the score {score} is not in 0 to 2; leave the column out to score the text")
    if reason not in (None, *SatReason) or (reason is not None and score is not None):
        raise UserError(f"{where}: the reason {reason!r} is none or stands beside a score; leave both columns out")
    if extras is not None and not (isinstance(extras, list) and all(isinstance(extra, str) for extra in extras)):
        raise UserError(f"{where}: the column extras is no list of strings; leave it out")
    if not isinstance(row.get("one_line"), bool | None):
        raise UserError(f"{where}: the column one_line is neither true nor false; leave it out")
    return {
        "score": score,
        "reason": reason,
        "length": _number(row, "length", where, whole=True),
        "one_line": row.get("one_line"),
        "extras": None if extras is None else tuple(extras),
        "copied": _number(row, "copied", where),
    }


def _number(row: dict[str, Any], name: str, where: str, *, whole: bool = False) -> Any:
    value = row.get(name)
    if value is None:
        return None
    kind: Any = int if whole else int | float
    good = isinstance(value, kind) and not isinstance(value, bool) and abs(value) < _LARGEST  # NaN and infinity are not
    if not good:
        what = "whole number" if whole else "number"
        raise UserError(f"{where}: the column {name} is no {what}; fix it or leave it out")
    return value
