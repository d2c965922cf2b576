"""One task by one model, or by answers that exist already, into one folder: what is missing is done, nothing else."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from sozo.data.errors import OtherSettingsError, UserError
from sozo.data.jsonl import write_objects
from sozo.data.processes import gather, launched, world_size
from sozo.data.run_folder import RunFolder, remove_run
from sozo.data.schema import count_rows, iter_tables, part_paths
from sozo.data.settings import deciding
from sozo.eval.answered import (
    answers_digest,
    by_judges,
    is_whole,
    judge_parts,
    judging_command,
    read_answers,
    sampling_of,
    score_parts,
)
from sozo.eval.draw import SamplingOptions, draw_answers, facts_of, scorer_facts
from sozo.eval.isolated_failures import IsolatedFailures
from sozo.models.generators import Loaded, Writer
from sozo.models.nouns import NounWriter
from sozo.models.settings import GeneratorSettings, decide
from sozo.scoring.endpoint.bill import BILL, read_bills
from sozo.scoring.final_text import count_unknown
from sozo.scoring.judges.endpoint import LocalJudge
from sozo.tasks.judged import JudgedTask
from sozo.tasks.run_result import ITEMS, RunResult
from sozo.tasks.task import Complete, Item, Task


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
    with loaded or Loaded() as loaded:
        finish = answer_task(task, decide(generator, task), sampling, output, loaded)
    return finish()


def run_tasks(
    asked: Sequence[tuple[Task, Writer, Path]],
    sampling: SamplingOptions,
    loaded: Loaded,
    failures: IsolatedFailures,
    show: Callable[[TaskRun | None], None],
) -> None:
    """`run_task` for several tasks, each with the model as it answers that and its folder; it is loaded once.

    What is to be judged by a model on this machine waits until the one that answers has made room.
    """
    judged = []
    for task, writer, folder in asked:
        name = f"{folder.parent.name}/{folder.name}"
        with failures.run(name):
            finish = answer_task(task, writer, sampling, folder, loaded)
            finish_all = partial(_finish_all, task, folder, finish, show)
            if isinstance(task.judge, LocalJudge):
                judged.append((name, finish_all))
            else:
                finish_all()
    loaded.close()
    for name, finish_all in judged:
        with failures.run(name):
            finish_all()
    loaded.close()


def _finish_all(
    task: Task,
    folder: Path,
    finish: Callable[[], TaskRun | None],
    show: Callable[[TaskRun | None], None],
) -> None:
    """The second half of a run, and what its answers are by the task's further judges."""
    show(run := finish())
    for other, place in by_judges(task, folder)[1:] if run else ():
        show(score_answers(other, folder, place))


def answer_task(
    task: Task,
    writer: Writer,
    sampling: SamplingOptions,
    output: Path,
    loaded: Loaded,
) -> Callable[[], TaskRun | None]:
    """The first half of `run_task`: the answers; the function that is returned does the second, and needs no model."""
    items = task.items()
    sampling = sampling.settled(task, items)
    if isinstance(writer, NounWriter) and task.noun_source() is None:
        raise UserError(
            f"lists of nouns are no answer to {task.name}; give a language model as --model"
        )
    if sampling.num_usable and world_size() > 1:
        launch = "run it without accelerate launch, or give num_answers"
        raise UserError(f"num_usable answers are drawn by one process: {launch}")
    settings = {
        "task": task.name,
        **writer.record,
        **deciding(sampling),
        **task.deciding(),
    }
    with launched() as processes:
        try:
            folder = RunFolder(output, settings)
        except OtherSettingsError as error:
            other_judge = error.key.startswith("judge.") and is_whole(task, output)
            if not (other_judge and isinstance(task, JudgedTask)):
                raise
            command = judging_command(task, output)
            raise UserError(
                f"{error.how}; to judge its answers so: {command}"
            ) from error
        if processes.first:
            folder.refuse_other_model()
        for each, place in by_judges(task, output):
            if isinstance(each, JudgedTask):
                each.charge(place)
        metrics = folder.metrics()
        if metrics is not None and not (task.again or sampling.retry_errors):
            before = TaskRun(task, output, metrics, True) if processes.first else None
            return lambda: before
        if processes.first:
            folder.reopen()  # a second scoring that is cut off must not leave numbers that its files do not bear out
        stopped_here = draw_answers(task, writer, sampling, folder, processes, loaded)
        stopped = next(filter(None, gather(stopped_here)), None)
        first = processes.first
        again = metrics is not None

    def finish() -> TaskRun | None:
        if not first:
            return None
        return _finish(task, folder, writer.source, again, sampling.num_usable, stopped)

    return finish


def score_answers(
    task: Task, path: Path, output: Path, *, source: str | None = None
) -> TaskRun:
    """Score answers that exist already: a file that somebody else wrote, or the answers of an earlier run.

    `path` is a file (`sozo.tasks.answer_files`) or a table of ours (a run's folder, or its parts).
    Without a `source`, who wrote the answers is what they say, or the file's name.
    """
    if path.is_dir() and output.resolve() in (path.resolve(), path.resolve().parent):
        raise UserError(f"{output}: is the table itself; give another --output")
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
    existed = output.exists()
    folder = RunFolder(output, settings)
    metrics = folder.metrics()
    begun = folder.begun
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
    try:
        score_parts(task, answers, folder.answers)
        sources = source or ", ".join(
            dict.fromkeys(answer.source for answer in answers)
        )
        return _finish(task, folder, sources, metrics is not None)
    except UserError:
        # Nobody was asked and nothing scored: the folder is free for the right file.
        unscored = isinstance(task, JudgedTask) or not any(folder.answers.glob("*"))
        if not begun and task.judge is None and unscored:
            remove_run(output)
            if not existed:
                shutil.rmtree(output, ignore_errors=True)
            folder.withdraw()
        raise


def write_items(folder: Path, items: Sequence[Item]) -> None:
    """Write what was asked, so that a run's folder can be read alone."""
    names = [field.name for field in fields(Item) if field.name != "columns"]
    write_objects(
        folder / ITEMS,
        (
            {**{name: getattr(item, name) for name in names}, **item.columns}
            for item in items
        ),
    )


def _finish(
    task: Task,
    folder: RunFolder,
    source: str,
    again: bool,
    num_usable: int | None = None,
    stopped: str | None = None,
) -> TaskRun:
    judging = None
    if isinstance(task, JudgedTask):
        try:
            judging = judge_parts(task, folder.path)
        except UserError as error:
            if task.judge is None:
                raise
            remedy = "the answers are kept, also for another judge with its flags"
            command = judging_command(task, folder.path)
            raise UserError(f"{error}; {remedy}: {command}") from error
    if task.result_type.items is RunResult.items:  # it reads them there
        write_items(folder.path, task.items())
    metrics = task.finish(Complete(folder.path, source, num_usable, judging))
    texts = (
        text
        for part in iter_tables(folder.path, ["text"])
        for text in part["text"].to_pylist()
    )
    if unknown := count_unknown(texts, task.name):
        metrics |= {"unknown_marks": unknown}
    if num_usable:
        metrics |= {
            "trials": num_usable,
            "drawn": sum(count_rows(part) for part in part_paths(folder.answers)),
        }
    if paid := read_bills([folder.path / BILL]):
        metrics |= {"bill": {payee: asdict(took) for payee, took in paid.items()}}
    unjudged = judging.stopped if judging else None
    if stopped is None and (unjudged is None or again):
        folder.finish(metrics)
    return TaskRun(task, folder.path, metrics, False, stopped or unjudged)
