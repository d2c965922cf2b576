"""Answers that exist already: a file that somebody else wrote, or the table of an earlier run."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.parts import Columns, parts_of, write_missing
from sozo.data.processes import Processes
from sozo.data.schema import iter_tables, part_paths
from sozo.eval.draw import part_columns
from sozo.tasks.finished import item_of
from sozo.tasks.task import Answer, Task


def read_answers(task: Task, path: Path, source: str | None) -> Iterator[Answer]:
    """The answers of a file or of a table of ours. One that names no item answers the only one that there is."""
    items = task.items()
    only = items[0].id if len(items) == 1 else ""
    for answer in _read_table(path, source) if _is_table(path) else task.read_answers(path, source):
        yield replace(answer, item=only) if only and not answer.item else answer


def _read_table(path: Path, source: str | None) -> Iterator[Answer]:
    for table in iter_tables(path, ("id", "source", "text", "seed", "temperature", "finish_reason")):
        for row in table.to_pylist():
            yield Answer(item=item_of(row["id"]), **{**row, "source": source or row["source"]})


def _is_table(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".parquet"


def count_answers(task: Task, path: Path, source: str | None) -> tuple[int, str]:
    """How many answers there are, and who wrote them; every line is checked before anything expensive."""
    items = {item.id for item in task.items()}
    n, sources = 0, dict[str, None]()
    for answer in read_answers(task, path, source):
        if answer.item not in items:
            raise UserError(f"{path}: the answer {answer.id!r} is to {answer.item!r}, which {task.name} does not ask")
        n += 1
        sources[answer.source] = None
    return n, source or ", ".join(sources)


def score_parts(task: Task, path: Path, folder: Path, n: int, source: str | None, *, part_rows: int = 16_384) -> None:
    """Score `n` answers into parts of a folder, as far as they are not there."""
    parts = parts_of(folder, n, part_rows)
    items = {item.id: item for item in task.items()}
    position, answers = 0, read_answers(task, path, source)
    changed = UserError(f"{path}: changed while it was being read; run again with a file that stays as it is")

    def columns(number: int) -> Columns:
        nonlocal position, answers
        if position != number:  # an earlier call has written the parts before
            answers = islice(read_answers(task, path, source), number * part_rows, None)
        position = number + 1
        chunk = list(islice(answers, parts[number].rows))
        if len(chunk) < parts[number].rows:
            raise changed
        return part_columns(task, [items[answer.item] for answer in chunk], chunk)

    write_missing(parts, columns, f"{task.name}: scoring", Processes())
    if position == len(parts) and next(answers, None) is not None:
        raise changed


def answers_digest(path: Path) -> str:
    """SHA-256 of a file, or of a table's parts in order."""
    digest = hashlib.sha256()
    for part in part_paths(path) if _is_table(path) else [path]:
        with part.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
