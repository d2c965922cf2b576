"""What the page's reader shows: all answers, or a sample, packed small, as JSON that its script sets as text."""

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.schema import utf8_safe
from sozo.eval.evaluated import Evaluated
from sozo.scoring.translatable import translatable
from sozo.tasks.task import Task
from sozo.tasks.view import ReaderAnswer, ReaderItem


@dataclass(frozen=True, slots=True)
class Packed:
    """What the reader holds: base64 of gzipped JSON, and how many items of how many."""

    text: str
    items: int
    of: int


def reading_order(tasks: Sequence[type[Task]]) -> list[type[Task]]:
    """Those of which every answer is shown before those of samples."""
    return sorted(tasks, key=lambda task: task.view.sample is not None)


def samples(
    models: Sequence[Evaluated], tasks: Sequence[type[Task]], packed: Packed
) -> list[str]:
    """Of which tasks the reader holds a part of the answers, and whether of the items."""
    said = list[str]()
    for task in tasks:
        runs = [run for model in models if (run := model.run(task.name))]
        if any(task.view.drawn(run) for run in runs):
            form = "{task}: {n} answers of each model, drawn by seed; all: sozo answers"
            name = translatable(task.name)
            said.append(translatable(form, task=name, n=task.view.sample))
    if packed.items < packed.of:
        form = "{n:,} of {of:,} items, for the page's size; all: sozo answers"
        said.append(translatable(form, n=packed.items, of=packed.of))
    return said


def pack(
    models: Sequence[Evaluated], tasks: Sequence[type[Task]], most_bytes: int
) -> Packed:
    """What there is to read, of too many items every second, fourth and so on: at most `most_bytes`, or one item."""
    names = _json([model.name for model in models])
    items = [
        _json(item) for task in reading_order(tasks) for item in _items(task, models)
    ]
    step = 1
    while True:
        held = items[::step]
        text = f'{{"models":{names},"items":[{",".join(held)}]}}'
        zipped = gzip.compress(utf8_safe(text).encode(), compresslevel=6, mtime=0)
        packed = base64.b64encode(zipped).decode()
        if len(packed) <= most_bytes or len(held) <= 1:
            return Packed(packed if items else "", len(held), len(items))
        step *= max(2, len(packed) // most_bytes)


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
        own = {name: getattr(item, name) for name in ("id", "group", "title", "text")}
        yield {"kind": task.name, **own, "entries": entries[key]}


def _answer(answer: ReaderAnswer) -> dict[str, Any]:
    # They stand before the status.
    marks = {"marks": answer.more["marks"]} if "marks" in answer.more else {}
    return {
        "text": answer.text,
        "score": answer.score,
        **marks,
        "status": answer.status,
        **answer.more,
    }
