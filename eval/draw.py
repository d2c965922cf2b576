"""A model's answers to a task's items, as a table of parts; scored on the way, unless a judge scores them.

A part is there whole or not at all and depends on (seed, its number) alone: any number of processes can share the work.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sozo.data.checkpoints import STATE, model_digests
from sozo.data.errors import UserError
from sozo.data.parts import Columns, TablePart, is_there, parts_of, write_missing
from sozo.data.processes import Processes, wait
from sozo.data.progress import answers_bar
from sozo.data.run_folder import TRAINED_ON, RunFolder
from sozo.data.schema import Completion, iter_tables, never_came, write_columns
from sozo.data.settings import Checked, deciding, rare_setting, setting
from sozo.models.generator import Generator, answer_items
from sozo.models.generators import Loaded, Writer
from sozo.models.model_support import TEMPLATE
from sozo.models.openai_endpoint import keep_answers
from sozo.models.trained_on import trained_on
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.tasks.task import Answer, Item, Task, known_columns

TRIALS, PAPER_ANSWERS = 100, 131_072  # the paper's benchmark, and its Table 11


@dataclass(frozen=True)
class SamplingOptions(Checked):
    """How many answers, and from which randomness. Of a task that asks one thing they are in all, or usable ones."""

    panel = "Sampling"
    num_usable: int | None = setting(
        None,
        f"Usable answers: the benchmark (DAT; the paper: {TRIALS} trials, the default).",
        least=1,
    )
    num_answers: int | None = setting(
        None,
        f"Answers in all, usable or not (DAT; the paper's Table 11: {PAPER_ANSWERS}).",
        least=1,
    )
    answers_per_item: int | None = setting(
        None,
        "Answers to each item, such as a question of JCQ (default: the task's, mostly 1).",
        least=1,
    )
    seed: int = setting(
        0,
        "Seed; a batch's randomness is a function of it and of the batch's number.",
        least=0,
    )
    retry_errors: bool = setting(
        False, "Ask again where no answer came (`error`).", affects_result=False
    )
    batch_size: int = rare_setting(
        0, "Answers per batch and per parquet part (0: the task's own).", least=0
    )

    def resolved(self, task: Task, items: Sequence[Item]) -> Self:
        """With the task's defaults filled in: of one item `TRIALS` usable answers, and no batch larger than that."""
        if self.num_answers is not None and self.num_usable is not None:
            raise UserError(
                "give either num_answers (in all) or num_usable (usable ones), not both"
            )
        size = self.batch_size or task.batch_size
        per_item = self.answers_per_item or task.answers_per_item
        grouped = task.measures[0].together
        if grouped and per_item < 2:
            raise UserError(
                f"{task.name} compares the answers to one item; give --answers-per-item 2 or more"
            )
        if task.in_groups():
            # A part holds all answers to its items.
            size += -size % per_item
        if len(items) > 1 or grouped:
            many = replace(self, answers_per_item=per_item, batch_size=size)
            return replace(many, num_answers=None, num_usable=None)
        usable = self.num_usable
        if usable is None and self.num_answers is None:
            usable = TRIALS
        size = min(size, usable or size)
        return replace(self, num_usable=usable, answers_per_item=1, batch_size=size)

    def count(self, items: Sequence[Item]) -> int:
        """Answers to draw, at the most where usable ones are counted."""
        if self.num_answers is None and self.num_usable is None:
            return len(items) * (self.answers_per_item or 1)
        return self.num_answers or max(20 * (self.num_usable or 0), 2048)


@dataclass(frozen=True)
class Evaluation:
    """One task by one model into one folder, resolved: planned, compared, recorded and drawn by this alone."""

    task: Task
    writer: Writer
    options: SamplingOptions
    folder: Path

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.writer.source}/{self.task.name}"

    @cached_property
    def items(self) -> Sequence[Item]:
        """What is asked; UserError if it cannot be had."""
        return self.task.items()

    @cached_property
    def sampling(self) -> SamplingOptions:
        """How many answers, with the task's defaults."""
        return self.options.resolved(self.task, self.items)

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the result and is known before anything is loaded, for the folder's record."""
        return {
            "task": self.task.name,
            **self.writer.record,
            **deciding(self.sampling),
            **self.task.deciding(),
        }

    @property
    def parts(self) -> list[TablePart]:
        """The parts of the table, at the most where usable answers are counted."""
        count = self.sampling.count(self.items)
        return parts_of(self.folder / "answers", count, self.sampling.batch_size)


def draw_answers(
    run: Evaluation, folder: RunFolder, processes: Processes, loaded: Loaded
) -> None:
    """Draw the answers that are not in the run's folder yet; all processes call this."""
    task, writer, sampling = run.task, run.writer, run.sampling
    if processes.first and sampling.retry_errors:
        _take_back(run.parts, {item.id for item in run.items if item.read})
    wait()
    if folder.begun and not sampling.num_usable and all(map(is_there, run.parts)):
        return  # no model needs to be loaded to score what is there
    if processes.first:
        # Before the model is paid for answers that nobody could judge.
        for each in (task, *task.others):
            if isinstance(each.judge, EndpointJudge) and not each.judge.proven:
                each.judge.check_health()
        writer = writer.pinned()  # what has to be made or downloaded is made once
    wait()
    writer = writer.pinned()
    generator = writer.load(task, loaded=loaded, keep=folder.answers)
    best_of = writer.sampling.best_of
    if processes.first:
        model = Path(writer.model)
        described = generator.describe()
        # It follows from the model, and was not recorded before: not compared.
        template = described.pop(TEMPLATE, None)
        decoder = {"temperature": generator.temperature, **described}
        if best_of:
            decoder["best_by"] = task.known_by().name
        known = {
            **scorer_facts(task),
            "seed": sampling.seed,
            "decoder": decoder,
            "model_revision": writer.model_revision,
            # A model trained anew in its old folder is another model.
            **model_digests(model),
            "model_trained": (model / STATE).is_file(),
            TRAINED_ON: trained_on(model),
        }
        facts = {
            "model_folder": writer.model,
            "processes": processes.world,
            TEMPLATE: template,
            **facts_of(task),
        }
        folder.start(known, facts)
    wait()  # no part before config.json: nobody could account for it
    how = generator, sampling, folder.answers, processes, best_of
    draw_parts(task, run.items, *how)
    wait()  # who scores them all needs the others' too


def draw_parts(
    task: Task,
    items: Sequence[Item],
    generator: Generator,
    sampling: SamplingOptions,
    folder: Path,
    processes: Processes,
    best_of: int | None = None,
) -> None:
    """Draw the parts of a table that are not in `folder` yet, which the caller vouches belongs to these settings.

    The generator answers batch k as a function of (seed, k) and its prompts; `sampling` is resolved. Of the best of
    several answers all are kept in the folder `drawn` beside this one.
    """
    size = sampling.batch_size
    parts = parts_of(folder, sampling.count(items), size)

    def columns(number: int) -> Columns:
        part = parts[number]
        places = range(number * size, number * size + part.rows)
        batch = dict(asked_item(items, sampling, k) for k in places)
        if best_of:
            answers = _best(
                task, batch, generator, sampling.seed, number, best_of, part
            )
        else:
            asked = [*batch.values()]
            answers = answer_items(generator, asked, sampling.seed, number, [*batch])
        return part_columns(task, [*batch.values()], answers)

    if not sampling.num_usable:
        write_missing(parts, columns, f"sampling {generator.name}", processes)
        return
    usable = drawn = 0
    before = sum(_usable(part) for part in parts if is_there(part))
    bar = f"sampling {generator.name}", sampling.num_usable, before
    with answers_bar(*bar, count_usable=True) as advance:
        for number, part in enumerate(parts):
            if missing := not is_there(part):
                write_columns(part.path, columns(number))
            good = _usable(part)
            usable += good
            drawn += part.rows
            if missing:
                advance(part.rows, good)
            if usable >= sampling.num_usable:
                return
    raise UserError(
        f"only {usable} of {drawn} answers are usable, and num_usable is {sampling.num_usable}: see the "
        f"reasons in {folder}, train the model on the task first, or measure it as it is with num_answers"
    )


def _replies(part: TablePart) -> Path:
    """Where all answers are of which those of a part were chosen."""
    return part.path.parent.with_name("drawn") / part.path.name


def _best(
    task: Task,
    batch: Mapping[str, Item],
    generator: Generator,
    seed: int,
    number: int,
    count: int,
    part: TablePart,
) -> list[Answer]:
    """Of `count` answers to each item, named as its answer will be, the one with the best score; all are kept.

    Items that are read (`Item.read`) are read once, as they are.
    """
    place = _replies(part)
    if not place.exists():
        many = {
            f"{name}-{k}": item
            for name, item in batch.items()
            for k in range(1 if item.read else count)
        }
        asked = [*many.values()]
        answers = answer_items(generator, asked, seed, number, [*many])
        place.parent.mkdir(exist_ok=True)
        write_columns(place, part_columns(task, asked, answers))
    main, names = task.known_by(), [field.name for field in fields(Answer)]
    best = dict[str, tuple[float, Answer]]()
    (table,) = iter_tables(place, [*names, "values"])
    for row in table.to_pylist():
        score = dict(row.pop("values") or ()).get(main.name)
        worth = -math.inf if score is None else main.better * score
        name = row["id"].rpartition("-")[0]
        if name not in best or worth > best[name][0]:
            best[name] = worth, Answer(**row | {"id": name})
    return [best[name][1] for name in batch]


def _usable(part: TablePart) -> int:
    (table,) = iter_tables(part.path, ("score",))
    return part.rows - int(table["score"].null_count)


def _take_back(parts: Sequence[TablePart], read: Collection[str]) -> None:
    """Remove the parts in which an answer never came; those of its answers that did are kept for who draws it anew.

    They are numbered as the generator is asked: without items that are `read`.
    """
    for number, part in enumerate(parts):
        if not is_there(part):
            continue
        replies = _replies(part)
        place = replies if replies.exists() else part.path
        (table,) = iter_tables(place, ("item", "text", "finish_reason"))
        answers = [
            Completion(row["text"], row["finish_reason"])
            for row in table.to_pylist()
            if row["item"] not in read
        ]
        came = {k: one for k, one in enumerate(answers) if not never_came(one)}
        if len(came) < len(answers):
            keep_answers(part.path.parent, number, came)
            part.path.unlink()
            replies.unlink(missing_ok=True)


def scorer_facts(task: Task) -> dict[str, Any]:
    """What scores with, for `config.json`; nothing for a task that has nothing to say."""
    described = task.describe()
    return {"scorer": described} if described else {}


def facts_of(task: Task) -> dict[str, Any]:
    """What else `config.json` says of a task: the class that is asked and scores, whoever brought it."""
    kind = type(task)
    return {"task_class": f"{kind.__module__}.{kind.__qualname__}", **task.facts()}


def asked_item(
    items: Sequence[Item], sampling: SamplingOptions, k: int
) -> tuple[str, Item]:
    """Id and item of answer number `k` of the table."""
    if len(items) == 1:
        return f"{k:08d}", items[0]
    place, number = divmod(k, sampling.answers_per_item or 1)
    return f"{items[place].id}-{number}", items[place]


def part_columns(
    task: Task, items: Sequence[Item], answers: Sequence[Answer]
) -> Columns:
    """A part of the table; a judged task's has no worth before all answers are there."""
    return known_columns(answers) | task.columns(items, answers)
