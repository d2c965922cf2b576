"""What the page's reader shows: every answer, rewrite and a sample of DAT responses, packed small enough for one page.

Texts go into the page as compressed JSON, never as HTML; the reader's script sets them as text.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from data.schema import read_responses, utf8_safe
from eval.finished import Evaluated

_DAT_RESPONSES = 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one page's reader holds.

    Args:
        packed: Base64 of gzipped JSON, `{"models": [...], "items": [...]}`.
        items: How many questions, stories and DAT samples.
    """

    packed: str
    items: int


def chunks(models: Sequence[Evaluated], most_bytes: int) -> list[Chunk]:
    """All that there is to read, in as few chunks of at most `most_bytes` as go; an item is never cut.

    An item that is larger than that alone has a chunk to itself.
    """
    names = [model.name for model in models]
    waiting, made = [list(_items(models))], []
    while waiting:
        items = waiting.pop(0)
        packed = _packed(names, items)
        if len(packed) > most_bytes and len(items) > 1:
            waiting[:0] = [items[: len(items) // 2], items[len(items) // 2 :]]
        elif items:
            made.append(Chunk(packed, len(items)))
    return made


def _packed(names: list[str], items: list[dict[str, Any]]) -> str:
    text = json.dumps({"models": names, "items": items}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(utf8_safe(text).encode(), compresslevel=6, mtime=0)).decode()


def _items(models: Sequence[Evaluated]) -> Iterator[dict[str, Any]]:
    """Each with `kind`, `group`, `title`, `text` and, for each model, its entries: `text`, `score`, `marks`, `note`."""
    yield from _questions(models)
    yield from _stories(models)
    if any(model.dat for model in models):
        yield {"kind": "dat", "group": "", "title": "DAT", "text": "", "entries": [_responses(m) for m in models]}


def _questions(models: Sequence[Evaluated]) -> Iterator[dict[str, Any]]:
    questions: dict[tuple[str, str], Any] = {}
    entries: defaultdict[tuple[str, str], list[list[Any]]] = defaultdict(lambda: [[] for _ in models])
    for number, model in enumerate(models):
        if model.jcq is None:
            continue
        by_id = {question.id: question for question in model.jcq.questions}
        for answer, judgement in zip(model.jcq.answers, model.jcq.judgements, strict=True):
            question = by_id[answer.question_id]
            key = (question.id, question.question)  # another set of questions may use the same ids
            questions[key] = question
            scores = judgement.scores if judgement else None
            entries[key][number].append(
                {
                    "text": answer.answer,
                    "score": None if scores is None else sum(scores.values()) / len(scores),
                    "marks": scores,
                    "status": str(judgement.status) if judgement else None,
                    "note": judgement.reply if judgement else None,
                }
            )
    for key, question in questions.items():
        yield {
            "kind": "jcq",
            "group": question.task,
            "title": question.id,
            "text": question.question,
            "entries": entries[key],
        }


def _stories(models: Sequence[Evaluated]) -> Iterator[dict[str, Any]]:
    stories: dict[tuple[str, str], Any] = {}
    entries: defaultdict[tuple[str, str], list[list[Any]]] = defaultdict(lambda: [[] for _ in models])
    for number, model in enumerate(models):
        if model.sat is None:
            continue
        by_id = {story.id: story for story in model.sat.stories}
        for rewrite in model.sat.rewrites:
            story = by_id[rewrite.story_id]
            key = (story.id, story.text)
            stories[key] = story
            entries[key][number].append(
                {
                    "text": rewrite.text,
                    "score": rewrite.score,
                    "status": rewrite.reason,
                    "facts": {"length": rewrite.length, "one_line": rewrite.one_line, "extras": rewrite.extras},
                }
            )
    for key, story in stories.items():
        yield {
            "kind": "sat",
            "group": story.origin,
            "title": story.title or story.id,
            "text": story.text,
            "entries": entries[key],
        }


def _responses(model: Evaluated) -> list[dict[str, Any]]:
    if model.dat is None:
        return []
    first = islice(read_responses(model.dat.folder), _DAT_RESPONSES)
    return [{"text": row.text, "score": row.score, "status": row.reason} for row in first]
