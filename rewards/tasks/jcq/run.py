"""A run's folder for JCQ: a model's answers, the judge's ledger (`judgements.jsonl`), a row of the paper's tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from data.jcq import CRITERIA, Answer, Question, content_hash, load_questions, trial_questions, write_questions
from data.processes import launched
from data.run_folder import RunFolder
from eval.answers import Item, answer_into, answering_settings
from eval.options import AnsweringOptions, JcqOptions
from eval.statistics import MeanInterval, mean_interval
from generate.load import GeneratorSettings
from rewards.judges import Judging
from rewards.judges.options import JudgeOptions
from rewards.tasks.jcq.files import read_answers, write_answers, write_jcq_files
from rewards.tasks.jcq.judging import asked_judge, imported_judge
from rewards.tasks.jcq.tables import Table, jcq_tables, model_scores

LEDGER = "judgements.jsonl"
# What was asked and answered, so that a run's folder can be read without the hub: in the form of nlp-waseda/JCQ-judge.
QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"
# The same, with the judgements, as that tool keeps its `data/`.
JCQ_JUDGE = "jcq-judge"


@dataclass(frozen=True, slots=True)
class JcqSummary:
    """A model's row of Tables 3 and 4, with what it rests on.

    Args:
        source: Who answered.
        judge: Who judged.
        prompt: With which prompt.
        num_questions: Questions asked.
        statuses: Answers by how their judgement ended; they add up to all answers.
        means: For each criterion and `mean`: mean over questions, 95% bootstrap interval over questions.
        by_task: The row of Table 4; each cell with its n of N.
        prompt_tokens: Of the judge, all judgements of these answers together.
        completion_tokens: Likewise.
        cost: Likewise, in the price's currency.
        unknown_cost: Replies whose cost is not known.
        cost_at_most: The cost with each of these at the most that it can be.
    """

    source: str
    judge: str
    prompt: str
    num_questions: int
    statuses: dict[str, int]
    means: dict[str, MeanInterval]
    by_task: Table
    prompt_tokens: int
    completion_tokens: int
    cost: float
    unknown_cost: int
    cost_at_most: float


@dataclass(frozen=True, slots=True)
class JcqRun:
    """A run: its folder, its numbers as `metrics.json` has them, and why it is not finished, if it is not."""

    folder: Path
    metrics: dict[str, Any]
    finished_before: bool
    stopped: str | None = None


def run_jcq(
    generator: GeneratorSettings,
    answering: AnsweringOptions,
    jcq: JcqOptions,
    judging: JudgeOptions,
    output: Path,
    *,
    answers: Path | None = None,
    judgements: Path | None = None,
) -> JcqRun | None:
    """Let a model answer the questions, or take its answers from a file, and have them judged (paper, section 3.1).

    Answers are drawn by every process of `accelerate launch`; the first one judges. Every judgement is kept the moment
    it arrives: the same command asks only what is missing. A model's reasoning is not judged (see `said`); the answers
    of a file are judged as they are.

    Args:
        generator: Who answers; only its `source` counts with `answers`.
        answering: How many answers to each question, and the seed.
        jcq: The questions.
        judging: The judge.
        output: The run's folder; see `data.run_folder`.
        answers: A file of answers in the form of nlp-waseda/JCQ-judge, instead of a model.
        judgements: Of these answers, a file that JCQ-judge wrote: no judge is asked; `judging` says its name.

    Returns:
        The run, in the first process; None in the others.

    Raises:
        OSError: A file, a model or the judge cannot be used, or the disk is full.
        ValueError: A setting, a file or the folder is wrong; the message is one line.
    """
    answering = answering.checked()
    questions = _questions(jcq)
    settings: dict[str, Any] = {
        "task": "jcq",
        "questions_sha256": content_hash(questions),
        "num_questions": len(questions),
    }
    given = None if answers is None else read_answers(answers)
    if judgements is None:
        judge = asked_judge(judging)
    elif given is None:
        raise ValueError("--judgements goes with --answers: the answers that were judged")
    else:
        judge = imported_judge(judgements, judging, questions, given)
    settings |= judge.settings
    if given is None:
        generator = generator.settled(1024)
        settings |= answering_settings(generator, answering)
    else:
        settings |= {"source": generator.source or str(answers), "answers_sha256": _digest(given)}
    with launched() as processes:
        folder = RunFolder(output, settings)
        metrics = folder.metrics()
        if metrics is not None and not judging.retry_failed:
            return JcqRun(output, metrics, True) if processes.first else None
        if processes.first:
            folder.reopen()  # a retry that is cut off must not leave numbers that the ledger no longer bears out
        if given is None:
            items = [Item(question.id, question.question) for question in questions]
            drawn = answer_into(generator, answering, items, folder, processes, {}, judge.facts)
            given = tuple(Answer(f"{a.item}-{a.number}", a.item, said(a.text)) for a in drawn)
        elif processes.first:
            folder.start({}, {"answers_file": str(answers), **judge.facts})
        if not processes.first:
            return None
        write_questions(output / QUESTIONS, questions)
        write_answers(output / ANSWERS, given)
        judged = judge.judge(questions, given, output / LEDGER)
        source = str(settings["source"])
        numbers = asdict(summarise_jcq(source, judging, questions, given, judged))
        # A second try that stops early leaves a judgement of every answer: what came of it holds.
        if judged.stopped is None or metrics is not None:
            write_jcq_files(output / JCQ_JUDGE, source, judge.name, given, judged.judgements)
            folder.finish(numbers)
        return JcqRun(output, numbers, False, judged.stopped)


def said(text: str) -> str:
    """What is judged of a model's text: what follows its reasoning, and nothing of reasoning that never ends.

    DAT and SAT leave reasoning out too; a judge would count its ideas as the answer's. Many chat templates open the
    block in the prompt, so that a text only closes it. A text without reasoning stays as it is.

    >>> said("<think>案は三つ</think>傘立て"), said("案は三つ</think>傘立て"), said("<think>案は"), said(" 傘立て ")
    ('傘立て', '傘立て', '', ' 傘立て ')
    """
    _, end, rest = text.rpartition("</think>")
    if end:
        return rest.strip()
    return "" if text.lstrip().startswith("<think>") else text


def summarise_jcq(
    source: str, judging: JudgeOptions, questions: tuple[Question, ...], answers: tuple[Answer, ...], judged: Judging
) -> JcqSummary:
    """The row of one model."""
    scores = model_scores(source, questions, answers, judged.judgements)
    values = scores.values[~np.isnan(scores.values[:, 0])]
    columns = dict(zip(CRITERIA, values.T, strict=True)) | {"mean": values.mean(axis=1)}
    return JcqSummary(
        source=source,
        judge=judging.judge_model,
        prompt=judging.judge_prompt,
        num_questions=len(scores.questions),
        statuses=judged.statuses,
        means={name: mean_interval(column) for name, column in columns.items()},
        by_task=jcq_tables([scores]).model_by_task,
        prompt_tokens=judged.prompt_tokens,
        completion_tokens=judged.completion_tokens,
        cost=round(judged.cost, 9),  # the order of arrival shows in the last digits
        unknown_cost=judged.unknown_cost,
        cost_at_most=round(judged.cost_at_most, 9),
    )


def _questions(options: JcqOptions) -> tuple[Question, ...]:
    if options.trial:
        if options.questions:
            raise ValueError("give either trial or questions, not both")
        return trial_questions()
    return load_questions(options.questions, options.questions_revision, complete=not options.any_questions)


def _digest(answers: tuple[Answer, ...]) -> str:
    return content_hash(Question(a.id, a.question_id, a.answer) for a in answers)
