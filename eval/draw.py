"""A model's answers to a task's items, as a table of parts; scored on the way, unless a judge scores them.

A part is there whole or not at all and depends on (seed, its number) alone: any number of processes can share the work.
"""

import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from sozo.data.checkpoints import STATE, model_digests
from sozo.data.errors import UserError
from sozo.data.parts import Columns, TablePart, is_there, parts_of, write_missing
from sozo.data.processes import Processes, wait
from sozo.data.progress import answers_bar
from sozo.data.run_folder import TRAINED_ON, RunFolder
from sozo.data.schema import ERROR, Completion, iter_tables, never_came, write_columns
from sozo.data.settings import Checked, rare_setting, setting
from sozo.models.generator import Generator, answer_items
from sozo.models.generators import Loaded, Writer
from sozo.models.model_support import TEMPLATE
from sozo.models.openai_endpoint import keep_answers
from sozo.models.sampling import Sampling
from sozo.models.trained_on import trained_on
from sozo.models.verbalized import drawn
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.tasks.judged import JudgedTask
from sozo.tasks.task import Answer, Item, Task, known_columns

logger = logging.getLogger(__name__)
TRIALS, PAPER_ANSWERS = 100, 131_072  # the paper's benchmark, and its Table 11
_WARNS, _STOPS = 64, 256  # answers to one prompt, of which none is usable


class InVainError(UserError):
    """None of many answers is usable. What was drawn is kept."""


@dataclass(frozen=True)
class SamplingOptions(Checked):
    """How many answers, and from which randomness. Of a task that asks one thing they are in all, or usable ones."""

    panel = "Sampling"
    num_usable: int | None = setting(
        None,
        lambda: (
            f"Usable answers: the benchmark (DAT; the paper: {TRIALS} trials, the default)."
        ),
        least=1,
    )
    num_answers: int | None = setting(
        None,
        lambda: (
            f"Answers in all, usable or not (DAT; the paper's Table 11: {PAPER_ANSWERS})."
        ),
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
    keep_going: bool = rare_setting(
        False,
        lambda: f"Draw on though none of the first {_STOPS} answers is usable (DAT).",
        affects_result=False,
    )

    def settled(self, task: Task, items: Sequence[Item]) -> Self:
        """With the task's defaults filled in: of one item `TRIALS` usable answers, and no batch larger than that."""
        if self.num_answers is not None and self.num_usable is not None:
            raise UserError(
                "give either num_answers (in all) or num_usable (usable ones), not both"
            )
        batch_size = self.batch_size or task.batch_size
        per_item = self.answers_per_item or task.answers_per_item
        grouped = task.measures[0].together
        if grouped and per_item < 2:
            raise UserError(
                f"{task.name} compares the answers to one item; give --answers-per-item 2 or more"
            )
        if task.in_groups():
            batch_size += (
                -batch_size % per_item
            )  # a part holds all answers to its items
        if len(items) > 1 or grouped:
            return replace(
                self,
                num_answers=None,
                num_usable=None,
                answers_per_item=per_item,
                batch_size=batch_size,
            )
        if per_item > 1 and self.num_answers is None and self.num_usable is None:
            remedy = "say how many by num_usable (usable ones) or num_answers (in all)"
            raise UserError(
                f"answers_per_item is for tasks of many items, and {task.name} asks one thing; {remedy}"
            )
        num_usable = (
            TRIALS
            if self.num_answers is None and self.num_usable is None
            else self.num_usable
        )
        size = min(batch_size, num_usable or batch_size)
        return replace(self, num_usable=num_usable, answers_per_item=1, batch_size=size)

    def count(self, items: Sequence[Item]) -> int:
        """Answers to draw, at the most where usable ones are counted."""
        if self.num_answers is None and self.num_usable is None:
            return len(items) * (self.answers_per_item or 1)
        return self.num_answers or max(20 * (self.num_usable or 0), 2048)


def draw_answers(
    task: Task,
    writer: Writer,
    sampling: SamplingOptions,
    folder: RunFolder,
    processes: Processes,
    loaded: Loaded,
) -> str | None:
    """Draw the answers that are not in the run's folder yet; all processes call this. Why it stopped early, if so."""
    items = task.items()
    parts = parts_of(folder.answers, sampling.count(items), sampling.batch_size)
    if processes.first and sampling.retry_errors:
        _take_back(parts, {item.id for item in items if item.read})
    wait()
    if (
        folder.begun
        and not sampling.num_usable
        and all(is_there(part) for part in parts)
    ):
        return None  # no model needs to be loaded to score what is there
    if processes.first:
        # Before the model is paid for answers that nobody could judge.
        for each in (task, *task.others):
            if isinstance(each.judge, EndpointJudge) and not each.judge.proven:
                each.judge.greet()
        writer = writer.pinned()  # what has to be made or downloaded is made once
    wait()
    writer = writer.pinned()
    generator = writer.load(task, loaded=loaded, keep=folder.answers)
    if processes.first:
        model = Path(writer.model)
        best_of = writer.sampling.best_of
        described = generator.describe()
        # It follows from the model, and was not recorded before: not compared.
        template = described.pop(TEMPLATE, None)
        known = {
            **scorer_facts(task),
            "seed": sampling.seed,
            "decoder": {
                "temperature": generator.temperature,
                **described,
                **({"best_by": task.measures[0].name} if best_of else {}),
            },
            "model_revision": writer.model_revision,
            # A model trained anew in its old folder is another model.
            **model_digests(model),
            "model_trained": (model / STATE).is_file(),
            TRAINED_ON: trained_on(model),
        }
        folder.start(
            known,
            {
                "model_folder": writer.model,
                "processes": processes.world,
                TEMPLATE: template,
                **facts_of(task),
            },
        )
    wait()  # no part before config.json: nobody could account for it
    try:
        draw_parts(
            task,
            items,
            generator,
            sampling,
            folder.answers,
            processes,
            writer.sampling,
        )
    except InVainError as error:
        return str(error)
    return None


def draw_parts(
    task: Task,
    items: Sequence[Item],
    generator: Generator,
    sampling: SamplingOptions,
    folder: Path,
    processes: Processes,
    how: Sampling | None = None,
) -> None:
    """Draw the parts of a table that are not in `folder` yet, which the caller vouches belongs to these settings.

    The generator answers batch k as a function of (seed, k) and its prompts; `sampling` is settled. Where `how` draws
    several answers for one, all replies are kept in the folder `drawn` beside this one.
    """
    batch_size = sampling.batch_size
    parts = parts_of(folder, sampling.count(items), batch_size)

    def columns(number: int) -> Columns:
        if (
            len(items) == 1
            and not sampling.keep_going
            and not isinstance(task, JudgedTask)
        ):
            _expect_usable(parts[:number])
        first = number * batch_size
        ids, batch = zip(
            *(
                asked_item(items, sampling, k)
                for k in range(first, first + parts[number].rows)
            ),
            strict=True,
        )
        if how and (how.best_of or how.verbalized):
            place = _replies(folder) / parts[number].path.name
            answers = _one_of_several(
                task, batch, ids, generator, sampling.seed, number, how, place
            )
        else:
            answers = answer_items(generator, batch, sampling.seed, number, ids)
        return part_columns(task, batch, answers)

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


def _replies(folder: Path) -> Path:
    """Where the replies are of which a run's answers were chosen."""
    return folder.with_name("drawn")


def _one_of_several(
    task: Task,
    items: Sequence[Item],
    ids: Sequence[str],
    generator: Generator,
    seed: int,
    number: int,
    how: Sampling,
    place: Path,
) -> list[Answer]:
    """An answer to each item, of all that are drawn for it; the replies are kept in `place`, with what each is worth.

    Items that are read (`Item.read`) are read once, as they are.
    """
    named = list(zip(ids, items, strict=True))
    texts = {name: item for name, item in named if item.read}
    asked = {name: item for name, item in named if not item.read}
    answers = answer_items(generator, [*texts.values()], seed, number, [*texts])
    if asked:
        if not place.exists():
            _draw_replies(task, asked, generator, seed, number, how, place)
        answers += _chosen(task, [*asked], seed, number, how, place)
    by_name = {answer.id: answer for answer in answers}
    return [by_name[name] for name in ids]


def _draw_replies(
    task: Task,
    named: Mapping[str, Item],
    generator: Generator,
    seed: int,
    number: int,
    how: Sampling,
    place: Path,
) -> None:
    """All replies to the items, which are named as their answers will be, into `place`."""
    asked = [item for item in named.values() for _ in range(how.replies)]
    names = [f"{name}-{k}" for name in named for k in range(how.replies)]
    prompts = [replace(item, prompt=how.asked(item.prompt)) for item in asked]
    replies = answer_items(generator, prompts, seed, number, names)
    worth = part_columns(task, asked, _answers(replies, how, seed, number))
    place.parent.mkdir(exist_ok=True)
    write_columns(place, worth | known_columns(replies))


def _chosen(
    task: Task, ids: Sequence[str], seed: int, number: int, how: Sampling, place: Path
) -> list[Answer]:
    """Of the replies in `place` one answer for each of these names."""
    names = [field.name for field in fields(Answer)]
    (table,) = iter_tables(place, [*names, "values"])
    replies = [Answer(**row) for row in table.select(names).to_pylist()]
    answers = _answers(replies, how, seed, number)
    best = list(range(0, len(answers), how.replies))
    if how.best_of:
        main = task.known_by()
        scores = [
            main.better * own[main.name]
            if main.name in (own := dict(values or ()))
            else -math.inf
            for values in table["values"].to_pylist()
        ]
        best = [max(range(k, k + how.replies), key=scores.__getitem__) for k in best]
    return [replace(answers[k], id=name) for k, name in zip(best, ids, strict=True)]


def _answers(
    replies: Sequence[Answer], how: Sampling, seed: int, number: int
) -> Sequence[Answer]:
    return drawn(replies, how.verbalized, seed, number) if how.verbalized else replies


def _usable(part: TablePart) -> int:
    (table,) = iter_tables(part.path, ("score",))
    return part.rows - int(table["score"].null_count)


def _expect_usable(parts: Sequence[TablePart]) -> None:
    """Warn if the parts that are there hold 64 answers and none is usable; an InVainError from 256 on."""
    reasons = Counter[str]()
    for part in filter(is_there, parts):
        (table,) = iter_tables(part.path, ("score", "reason"))
        if table["score"].null_count < part.rows:
            return
        reasons.update(table["reason"].to_pylist())
    del reasons[ERROR]
    came = reasons.total()
    why = ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common(2))
    remedy = "docs/train.md says what helps, and --keep-going draws on from here"
    message = f"none of the first {came:,} answers is usable ({why}); {remedy}"
    if came >= _STOPS:
        raise InVainError(message)
    if _WARNS <= came < _WARNS + part.rows:
        logger.warning(message)


def _take_back(parts: Sequence[TablePart], read: Collection[str]) -> None:
    """Remove the parts in which an answer never came; those of its answers that did are kept for who draws it anew.

    They are numbered as the generator is asked: without items that are `read`.
    """
    for number, part in enumerate(parts):
        if is_there(part):
            replies = _replies(part.path.parent) / part.path.name
            place = replies if replies.exists() else part.path
            (table,) = iter_tables(place, ("item", "text", "finish_reason"))
            answers = [
                Completion(row["text"], row["finish_reason"])
                for row in table.to_pylist()
                if row["item"] not in read
            ]
            if any(map(never_came, answers)):
                came = {
                    k: answer
                    for k, answer in enumerate(answers)
                    if not never_came(answer)
                }
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
