"""Tasks by models, or by answers that exist already, each into one folder: what is missing is done, nothing else."""

import hashlib
import json
import re
import shlex
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError, one_line_errors
from sozo.data.jsonl import write_objects
from sozo.data.parts import Columns, parts_of, write_missing
from sozo.data.processes import Processes, launched, world_size
from sozo.data.record import read_json
from sozo.data.run_folder import RunFolder
from sozo.data.schema import (
    count_rows,
    is_table,
    iter_tables,
    part_paths,
    utf8_safe,
    write_columns,
)
from sozo.eval.draw import (
    Evaluation,
    SamplingOptions,
    draw_answers,
    facts_of,
    part_columns,
    scorer_facts,
)
from sozo.models.generators import Loaded
from sozo.models.nouns import NounWriter
from sozo.models.settings import GeneratorSettings, resolve
from sozo.scoring.endpoint.bill import BILL, read_bills
from sozo.scoring.final_text import count_unknown
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.scoring.judges.run import Judging
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.judged import LEDGER, JudgedTask
from sozo.tasks.run_result import ITEMS, RunResult
from sozo.tasks.task import Answer, Complete, Item, Task, known_columns


@dataclass(frozen=True, slots=True)
class TaskRun:
    """A task's run: its folder, its numbers as `metrics.json` has them, and why it is not finished, if it is not."""

    task: Task
    folder: Path
    metrics: dict[str, Any]
    finished_before: bool
    stopped: str | None = None

    @property
    def result(self) -> RunResult:
        """The run as tables read it."""
        return self.task.read(self.folder, self.metrics)


class IsolatedFailures:
    """Keeps a failure of one of `count` runs from ending the others.

    Alone it ends the command as any does; so does a failure under a launcher, whose other processes know nothing of it.
    """

    def __init__(self, count: int, loaded: Loaded) -> None:
        self._alone, self._loaded = count == 1 or world_size() > 1, loaded
        self._count, self._failed = count, list[str]()

    @contextmanager
    def run(self, name: str) -> Iterator[None]:
        """A run of this name; after a bug, which may be in what is loaded, that is loaded again."""
        if self._alone:
            yield
            return
        try:
            with one_line_errors(f"error: {name}"):
                yield
        except SystemExit as ended:
            if ended.code != 2:  # Ctrl-C
                raise
            self._failed.append(name)
        except Exception:
            traceback.print_exc()
            self._failed.append(name)
            self._loaded.close()

    def end(self) -> None:
        """Refuse to call it a success if any run failed."""
        if self._failed:
            names = " and ".join(self._failed)
            failed = f"{len(self._failed)} of {self._count} failed: {names}"
            raise UserError(f"{failed}; the lines above say why")


def run_task(
    task: Task,
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    output: Path,
    loaded: Loaded | None = None,
) -> TaskRun | None:
    """Let a model answer the task's items, and score the answers.

    Under `accelerate launch` every process calls this and draws its share into the same `output`; all but the first get
    None.
    """
    run = Evaluation(task, resolve(generator, task), sampling, output)
    with loaded or Loaded() as loaded:
        finish = answer_task(run, loaded)
    return finish()


def run_tasks(
    runs: Sequence[Evaluation],
    loaded: Loaded,
    failures: IsolatedFailures,
    show: Callable[[TaskRun, str], None],
) -> list[TaskRun]:
    """`run_task` for several tasks of one model, which is loaded once; `show` gets each run and the model's name.

    What judges on this machine is loaded when the one that answers has made room. By a task's further judges answers
    are scored too, and shown without a model.
    """
    drawn, shown = [], list[TaskRun]()
    for run in runs:
        with failures.run(run.name):
            drawn.append((run, answer_task(run, loaded)))
    loaded.close()
    for run, finish in drawn:
        with failures.run(run.name):
            if (finished := finish()) is None:
                continue  # of several processes the first one shows it
            shown.append(finished)
            show(finished, run.writer.model)
            for other, place in by_judges(run.task, run.folder)[1:]:
                shown.append(scored := score_answers(other, run.folder, place))
                show(scored, "")
    loaded.close()
    return shown


def answer_task(run: Evaluation, loaded: Loaded) -> Callable[[], TaskRun | None]:
    """The first half of `run_task`: the answers; the function that is returned does the second, and needs no model."""
    task, output, sampling = run.task, run.folder, run.sampling
    if isinstance(run.writer, NounWriter) and task.noun_source() is None:
        raise UserError(
            f"lists of nouns are no answer to {task.name}; give a language model as --model"
        )
    if sampling.num_usable and world_size() > 1:
        launch = "run it without accelerate launch, or give num_answers"
        raise UserError(f"num_usable answers are drawn by one process: {launch}")
    with launched() as processes:
        folder = RunFolder(output, run.settings)
        if processes.first:
            folder.refuse_other_model()
        for each, place in by_judges(task, output):
            if isinstance(each, JudgedTask):
                each.charge(place)
        metrics, first = folder.metrics(), processes.first
        if metrics is not None and not (task.again or sampling.retry_errors):
            before = TaskRun(task, output, metrics, True) if first else None
            return lambda: before
        if first:
            folder.reopen()  # a second scoring that is cut off must not leave numbers that its files do not bear out
        draw_answers(run, folder, processes, loaded)
    how = task, folder, run.writer.source, metrics is not None, sampling.num_usable
    return lambda: _finish(*how) if first else None


def score_answers(
    task: Task, path: Path, output: Path, *, source: str | None = None
) -> TaskRun:
    """Score answers that exist already: a file that somebody else wrote, or the answers of an earlier run.

    `path` is a file (`sozo.tasks.answer_files`) or a table of ours (a run's folder, or its parts).
    Without a `source`, who wrote the answers is what they say, or the file's name.
    """
    answers = read_answers(task, path, source)
    if (path / "config.json").exists() and not is_whole(task, path):
        raise UserError(
            f"{path}: is not finished; run the command that wrote it again first"
        )
    # In the order in which a difference is named: the digest is of the other two as well.
    answered = {
        "source": source,
        "num_answers": len(answers),
        "answers_sha256": answers_digest(answers),
    }
    drawn_so = sampling_of(path)
    if drawn_so:  # that answers were chosen stands beside each of their scores
        answered["sampling"] = drawn_so
    settings = {"task": task.name, **answered, **task.deciding()}
    folder = RunFolder(output, settings)
    metrics = folder.metrics()
    if metrics is not None and not task.again:
        return TaskRun(task, output, metrics, True)
    folder.reopen()
    if isinstance(task, JudgedTask):
        task.charge(output)
    # Somebody else drew these answers: seed and decoder are not known here.
    folder.start(
        {**scorer_facts(task), "seed": None, "decoder": None},
        {"answers": str(path), **facts_of(task)},
    )
    score_parts(task, answers, folder.answers)
    sources = source or ", ".join(dict.fromkeys(answer.source for answer in answers))
    return _finish(task, folder, sources, metrics is not None)


def write_items(folder: Path, items: Sequence[Item]) -> None:
    """Write what was asked, so that a run's folder can be read alone."""
    rows = [asdict(item) for item in items]
    write_objects(folder / ITEMS, (row | row.pop("columns") for row in rows))


def _finish(
    task: Task,
    folder: RunFolder,
    source: str,
    again: bool,
    num_usable: int | None = None,
) -> TaskRun:
    judging = None
    if isinstance(task, JudgedTask):
        try:
            judging = judge_parts(task, folder.path)
        except UserError as error:
            if task.judge is None:
                raise
            remedy = "the answers are kept, also for another judge with its flags"
            beside = by_judge(folder.path, task.known_judge.name)
            words = shlex.join([str(folder.path), "--output", str(beside)])
            command = f"sozo score {task.name} {words}"
            raise UserError(f"{error}; {remedy}: {command}") from error
    if task.result_type.items is RunResult.items:  # it reads them there
        write_items(folder.path, task.items())
    metrics = task.finish(Complete(folder.path, source, num_usable, judging))
    texts = (
        text
        for part in iter_tables(folder.path, ["text"])
        for text in part["text"].to_pylist()
    )
    count_unknown(texts, task.name)  # which says what it finds
    if num_usable:
        metrics["trials"] = num_usable
        metrics["drawn"] = sum(map(count_rows, part_paths(folder.answers)))
    if paid := read_bills([folder.path / BILL]):
        metrics["bill"] = {payee: asdict(took) for payee, took in paid.items()}
    stopped = judging.stopped if judging else None
    if stopped is None or again:
        folder.finish(metrics)
    return TaskRun(task, folder.path, metrics, False, stopped)


def read_answers(task: Task, path: Path, source: str | None) -> list[Answer]:
    """The answers of a file or of a table of ours; `source` is who wrote them, by default as they say, or the file.

    Of a task of several items the column item says what is answered, by an id (`momotaro`, `sat-momotaro`) or by the
    prompt's own words; else the id does, `momotaro-3` of several answers to it. An answer to what the task does not ask
    is a UserError. A task of one item takes every answer of a file, whatever its columns and ids are called there; a
    table of ours says what was asked.
    """
    items = task.items()
    names = {item.id: item.id for item in items}
    ids = set(names)
    only = items[0].id if len(items) == 1 else ""
    if len(items) > 1:
        by_task = {f"{task.name}-{item.id}": item.id for item in items}
        names = {item.prompt: item.id for item in items} | by_task | names
    found = (
        _read_table(path)
        if is_table(path)
        else read_answers_file(path, names, task.answer_columns)
    )
    answers = []
    for answer in found:
        item = answer.item or only
        if item not in ids:
            to = f"is to {item!r}, which {task.name} does not ask"
            remedy = f"the column item must name one, such as {min(ids)!r}"
            raise UserError(f"{path}: the answer {answer.id!r} {to}; {remedy}")
        who = utf8_safe(source or answer.source or path.name)
        answers.append(replace(answer, item=item, source=who))
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


def by_judge(run: Path, judge: str) -> Path:
    """The folder in which another judge scores the answers of a run."""
    name = re.sub(r"[^\w.-]+", "-", judge).strip("-.")
    return run.with_name(f"{run.name}-{name}")


def by_judges(task: Task, run: Path) -> list[tuple[Task, Path]]:
    """A task by each of its judges, with that judge's folder: the first one's is the run's."""
    others = [
        (other, by_judge(run, other.settings.judge_model)) for other in task.others
    ]
    return [(task, run), *others]


def judge_parts(task: JudgedTask, folder: Path) -> Judging:
    """Have all answers of a run judged, and write into its parts what they are worth: again and again the same."""
    answers = read_answers(task, folder, None)
    items = {item.id: item for item in task.items()}
    rows, judging = task.judged(
        [items[answer.item] for answer in answers], answers, folder / LEDGER
    )
    start = 0
    for path in part_paths(folder):
        own = slice(start, start + count_rows(path))
        write_columns(path, known_columns(answers[own]) | task.score_columns(rows[own]))
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
