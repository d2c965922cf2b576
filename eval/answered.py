"""Answers that exist already: a file that somebody else wrote, or the table of an earlier run."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.parts import Columns, parts_of, write_missing
from sozo.data.processes import Processes
from sozo.data.record import read_json
from sozo.data.schema import (
    count_rows,
    is_table,
    iter_tables,
    part_paths,
    utf8_safe,
    write_columns,
)
from sozo.eval.draw import part_columns
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.scoring.judges.run import Judging
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.judged import LEDGER, JudgedTask
from sozo.tasks.task import Answer, Task, known_columns


def read_answers(task: Task, path: Path, source: str | None) -> list[Answer]:
    """The answers of a file or of a table of ours; `source` is who wrote them, by default as they say, or the file.

    Of a task of several items the column item says what is answered, by an id (`momotaro`, `sat-momotaro`) or by the
    prompt's own words; else the id does, `momotaro-3` of several answers to it. An answer to what the task does not ask
    is a UserError. A task of one item takes every answer of a file, whatever its columns and ids are called there; a
    table of ours says what was asked.
    """
    asked = task.items()
    names = {item.id: item.id for item in asked}
    ids = set(names)
    (only,) = ids if len(ids) == 1 else ("",)
    if len(ids) > 1:
        by_task = {f"{task.name}-{item.id}": item.id for item in asked}
        names = {item.prompt: item.id for item in asked} | by_task | names
    answers = []
    for answer in (
        _read_table(path)
        if is_table(path)
        else read_answers_file(path, names, task.answer_columns)
    ):
        item = answer.item or only
        if item not in ids:
            to = (
                f"is to {item!r}, which {task.name} does not ask"
                if item
                else f"has no column item, and its id names no item of {task.name}"
            )
            remedy = f"the column item must name one, such as {min(ids)!r}"
            raise UserError(f"{path}: the answer {answer.id!r} {to}; {remedy}")
        answers.append(
            replace(
                answer,
                item=item,
                source=utf8_safe(source or answer.source or path.name),
            )
        )
    return answers


def _read_table(path: Path) -> Iterator[Answer]:
    for table in iter_tables(path, [field.name for field in fields(Answer)]):
        for row in table.to_pylist():
            yield Answer(**row)


def sampling_of(path: Path) -> str | None:
    """How answers were drawn (`sozo.models.sampling`) that are those of a run of ours; None where nothing was said."""
    if not is_table(path):
        return None
    table = part_paths(path)[0].resolve().parent
    config = table.with_name("config.json")
    if table.name != "answers" or not config.is_file():
        return None
    return read_json(config).get("settings", {}).get("sampling")


def score_parts(
    task: Task, answers: Sequence[Answer], folder: Path, *, part_rows: int = 16_384
) -> None:
    """Score answers into parts of a folder, as far as they are not there."""
    if task.in_groups():
        part_rows = len(answers)  # whatever the order in which they come
    parts = parts_of(folder, len(answers), part_rows)
    items = {item.id: item for item in task.items()}

    def columns(number: int) -> Columns:
        part = answers[number * part_rows : (number + 1) * part_rows]
        return part_columns(task, [items[answer.item] for answer in part], part)

    write_missing(parts, columns, f"{task.name}: scoring", Processes())


def is_whole(task: Task, run: Path) -> bool:
    """Whether the folder of a run has all its answers; they need not be judged."""
    if (run / "metrics.json").is_file():
        return True
    asked = read_json(run / "config.json")["settings"]
    each = asked.get("answers_per_item") or 1
    whole = asked.get("num_answers") or each * len(task.items())
    there = sum(map(count_rows, (run / "answers").glob("part-*.parquet")))
    return not asked.get("num_usable") and there >= whole


def judged_by(judges: Iterable[str] | None, kind: type[Task], settings: Any) -> Task:
    """The task by the first of some judges, with it by the others; without any by the one of its settings, if any."""
    if not (judges and isinstance(settings, JudgeSettings)):
        return kind(settings)
    names = dict.fromkeys(judges)
    first, *others = (kind(replace(settings, judge_model=name)) for name in names)
    first.others = others
    return first


def beside(run: Path, judge: str) -> Path:
    """The folder in which another judge scores the answers of a run."""
    name = re.sub(r"[^\w.-]+", "-", judge).strip("-.")
    return run.with_name(f"{run.name}-{name}")


def by_judges(task: Task, run: Path) -> list[tuple[Task, Path]]:
    """A task by each of its judges, with that judge's folder: the first one's is the run's."""
    others = [(other, other.settings.judge_model) for other in task.others]
    return [(task, run), *((other, beside(run, name)) for other, name in others)]


def judging_command(task: JudgedTask, run: Path) -> str:
    """The command that has the answers of a run judged as the task's settings say, into a folder beside it."""
    words = ["sozo", "score", task.name, str(run)]
    for field in fields(task.settings):
        value = getattr(task.settings, field.name)
        if value != field.default:
            words.append(f"--{field.name.replace('_', '-')}")
            words += [] if value is True else [str(value)]
    folder = beside(run, task.known_judge.name)
    return shlex.join([*words, "--output", str(folder)])


def judge_parts(task: JudgedTask, folder: Path) -> Judging:
    """Have all answers of a run judged, and write into its parts what they are worth: again and again the same."""
    answers, items = (
        read_answers(task, folder, None),
        {item.id: item for item in task.items()},
    )
    rows, judging = task.judged(
        [items[answer.item] for answer in answers], answers, folder / LEDGER
    )
    start = 0
    for path in part_paths(folder):
        own = slice(start, start + count_rows(path))
        write_columns(path, known_columns(answers[own]) | task.worth_columns(rows[own]))
        start = own.stop
    return judging


def answers_digest(answers: Sequence[Answer]) -> str:
    """SHA-256 of what answers say, whatever file they come from."""
    digest = hashlib.sha256()
    for a in answers:
        digest.update(
            json.dumps(
                [a.id, a.item, a.text, a.source, a.seed, a.temperature, a.finish_reason]
            ).encode()
        )
    return digest.hexdigest()
