"""Answers that exist already: a file that somebody else wrote, or the table of an earlier run."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.parts import Columns, parts_of, write_missing
from sozo.data.processes import Processes
from sozo.data.schema import is_table, iter_tables
from sozo.eval.draw import part_columns
from sozo.tasks.finished import item_of
from sozo.tasks.task import Answer, Task


def read_answers(task: Task, path: Path, source: str | None) -> list[Answer]:
    """The answers of a file or of a table of ours. One that names no item answers the only one that there is.

    An answer to what the task does not ask is a UserError.
    """
    items = {item.id for item in task.items()}
    (only,) = items if len(items) == 1 else ("",)
    answers = []
    for answer in _read_table(path, source) if is_table(path) else task.read_answers(path, source):
        item = answer.item or only or item_of(answer.id)
        if item not in items:
            raise UserError(f"{path}: the answer {answer.id!r} is to {item!r}, which {task.name} does not ask")
        answers.append(answer if answer.item else replace(answer, item=item))
    return answers


def _read_table(path: Path, source: str | None) -> Iterator[Answer]:
    for table in iter_tables(path, ("id", "source", "text", "seed", "temperature", "finish_reason")):
        for row in table.to_pylist():
            yield Answer(item=item_of(row["id"]), **{**row, "source": source or row["source"]})


def score_parts(task: Task, answers: Sequence[Answer], folder: Path, *, part_rows: int = 16_384) -> None:
    """Score answers into parts of a folder, as far as they are not there."""
    if task.in_groups():
        part_rows = len(answers)  # whatever the order in which they come
    parts = parts_of(folder, len(answers), part_rows)
    items = {item.id: item for item in task.items()}

    def columns(number: int) -> Columns:
        part = answers[number * part_rows : (number + 1) * part_rows]
        return part_columns(task, [items[answer.item] for answer in part], part)

    write_missing(parts, columns, f"{task.name}: scoring", Processes())


def answers_digest(answers: Sequence[Answer]) -> str:
    """SHA-256 of what answers say, whatever file they come from."""
    digest = hashlib.sha256()
    for a in answers:
        digest.update(json.dumps([a.id, a.item, a.text, a.source, a.seed, a.temperature, a.finish_reason]).encode())
    return digest.hexdigest()
