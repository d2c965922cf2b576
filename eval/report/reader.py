"""What the page's reader shows: all answers, or a sample, packed small, as JSON that its script sets as text."""

import base64
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sozo.data.schema import utf8_safe
from sozo.eval.evaluated import Evaluated
from sozo.scoring.translatable import translatable
from sozo.tasks.task import Task
from sozo.tasks.view import ReaderAnswer, ReaderItem

_SAMPLED = 16  # of so many items one tells how small they can be packed


def reading_order(tasks: Sequence[type[Task]]) -> list[type[Task]]:
    """Those of which every answer is shown before those of samples."""
    return sorted(tasks, key=lambda task: task.view.sample is not None)


def samples(models: Sequence[Evaluated], tasks: Sequence[type[Task]]) -> list[str]:
    """Of which tasks the reader holds a part of the answers: how many, of how many."""
    said_of = list[str]()
    for task in tasks:
        runs = [
            run
            for model in models
            if (run := model.run(task.name)) and task.view.drawn(run)
        ]
        if runs:
            said = "{task}: {n} of {of} each, drawn by seed; all of them: sozo answers"
            of = span(run.metrics["num_answers"] for run in runs)
            said_of.append(
                translatable(
                    said, task=translatable(task.name), n=task.view.sample, of=of
                )
            )
    return said_of


def span(counts: Iterable[int]) -> str:
    """The least and the most of some counts; where these are one, it.

    >>> span([2048, 2048]), span([1889, 2048])
    ('2,048', '1,889–2,048')
    """
    least, *_, most = sorted([*counts] * 2)
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def chunks(
    models: Sequence[Evaluated], tasks: Sequence[type[Task]], most_bytes: int
) -> list[str]:
    """All that there is to read, a chunk a page: base64 of gzipped JSON of at most `most_bytes`, or of one item."""
    names = _json([model.name for model in models])
    waiting = [
        [_json(item) for task in reading_order(tasks) for item in _items(task, models)]
    ]
    chunks = []
    while any(waiting):
        items = waiting.pop(0)
        sample = items[::_SAMPLED]
        times = len(_packed(names, sample)) * len(items) / len(sample) / most_bytes
        if times < 1 or len(items) == 1:
            packed = _packed(names, items)
            if len(packed) <= most_bytes or len(items) == 1:
                chunks.append(packed)
                continue
        size = math.ceil(len(items) / max(2, math.ceil(times)))
        waiting[:0] = [items[k : k + size] for k in range(0, len(items), size)]
    return chunks


def _packed(names: str, items: Sequence[str]) -> str:
    text = f'{{"models":{names},"items":[{",".join(items)}]}}'
    return base64.b64encode(
        gzip.compress(utf8_safe(text).encode(), compresslevel=6, mtime=0)
    ).decode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _items(task: type[Task], models: Sequence[Evaluated]) -> Iterator[dict[str, Any]]:
    items: dict[tuple[str, str], ReaderItem] = {}
    entries: defaultdict[tuple[str, str], list[list[Any]]] = defaultdict(
        lambda: [[] for _ in models]
    )
    for number, model in enumerate(models):
        run = model.run(task.name)
        for item, answers in task.view.reader(run) if run else ():
            items[item.id, item.text] = item
            entries[item.id, item.text][number] += map(_answer, answers)
    for key, item in items.items():
        own = {
            "kind": task.name,
            "id": item.id,
            "group": item.group,
            "title": item.title,
            "text": item.text,
        }
        yield {**own, "entries": entries[key]}


def _answer(answer: ReaderAnswer) -> dict[str, Any]:
    marks = (
        {"marks": answer.more["marks"]} if "marks" in answer.more else {}
    )  # they stand before the status
    return {
        "text": answer.text,
        "score": answer.score,
        **marks,
        "status": answer.status,
        **answer.more,
    }
