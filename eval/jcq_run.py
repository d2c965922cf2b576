"""A run's folder for JCQ: a model's answers, the judge's ledger (`judgements.jsonl`), a row of the paper's tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from data.jcq import CRITERIA, Answer, Question, content_hash, load_questions, trial_questions, write_questions
from eval.answers import Item, answer_into, answering_settings
from eval.generate.load import GeneratorSettings, load_generator
from eval.generate.protocol import Answerer
from eval.jcq import Table, jcq_tables, model_scores
from eval.jcq_files import read_answers, write_answers
from eval.judge import PROMPTS, EndpointJudge, Judge, Judging, LocalJudge, Price, judge_answers
from eval.options import AnsweringOptions, JcqOptions, JudgeOptions
from eval.processes import launched
from eval.progress import responses_bar
from eval.run_folder import RunFolder
from eval.statistics import MeanInterval, mean_interval

LEDGER = "judgements.jsonl"
# What was asked and answered, so that a run's folder can be read without the hub: in the form of nlp-waseda/JCQ-judge.
QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"
# As near to the paper's temperature 0 as sampling comes: a token two nats less likely has a chance of e^-20000.
_GREEDY = 1e-4


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
        output: The run's folder; see `eval.run_folder`.
        answers: A file of answers in the form of nlp-waseda/JCQ-judge, instead of a model.

    Returns:
        The run, in the first process; None in the others.

    Raises:
        OSError: A file, a model or the judge cannot be used, or the disk is full.
        ValueError: A setting, a file or the folder is wrong; the message is one line.
    """
    answering = answering.checked()
    questions = _questions(jcq)
    judge = make_judge(judging)
    price = _price(judging)
    settings: dict[str, Any] = {
        "task": "jcq",
        "questions_sha256": content_hash(questions),
        "num_questions": len(questions),
        "judge": {"model": judge.name, "prompt": judging.judge_prompt, **judge.parameters},
    }
    facts = {"judge": {"backend": judging.judge_backend, **judge.describe()}}
    given = None if answers is None else read_answers(answers)
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
            drawn = answer_into(generator, answering, items, folder, processes, {}, facts)
            given = tuple(Answer(f"{a.item}-{a.number}", a.item, said(a.text)) for a in drawn)
        elif processes.first:
            folder.start({}, {"answers_file": str(answers), **facts})
        if not processes.first:
            return None
        write_questions(output / QUESTIONS, questions)
        write_answers(output / ANSWERS, given)
        with responses_bar(f"judging by {judge.name}", len(given)) as advance:
            judged = judge_answers(
                judge,
                questions,
                given,
                output / LEDGER,
                prompt=judging.judge_prompt,
                price=price,
                max_cost=judging.max_cost,
                retry_failed=judging.retry_failed,
                on_judgement=lambda judgement: advance(1, int(judgement.scores is not None)),
            )
        source = str(settings["source"])
        numbers = asdict(summarise_jcq(source, judging, questions, given, judged))
        if judged.stopped is None:
            folder.finish(numbers)
        return JcqRun(output, numbers, False, judged.stopped)


def make_judge(options: JudgeOptions) -> Judge:
    """The judge that the options name; a local model is loaded when it is first asked.

    Raises:
        ValueError: There is no such prompt or backend, there is no key, or a number is out of range.
    """
    if options.judge_prompt not in PROMPTS:
        raise ValueError(f"judge_prompt must be one of {', '.join(PROMPTS)}, not {options.judge_prompt}")
    if options.judge_backend == "openai":
        return EndpointJudge(
            options.judge_model,
            base_url=options.judge_base_url,
            concurrency=options.judge_concurrency,
            max_tokens=options.judge_max_tokens,
        )
    if options.judge_backend not in ("transformers", "vllm"):
        raise ValueError(f"judge_backend must be openai, transformers or vllm, not {options.judge_backend}")
    if options.judge_base_url:
        raise ValueError(f"judge_base_url goes with judge_backend openai, not with {options.judge_backend}")
    settings = GeneratorSettings(
        options.judge_model,
        backend=options.judge_backend,
        temperature=_GREEDY,
        max_new_tokens=options.judge_max_tokens,
    ).settled()
    loaded: list[Answerer] = []

    def reply(prompts: list[str]) -> Any:
        if not loaded:
            loaded.append(cast(Answerer, load_generator(settings)))
        return loaded[0].answer(prompts, 0, 0)

    return LocalJudge(
        options.judge_model,
        reply,
        parameters={"temperature": _GREEDY},
        batch_size=options.judge_concurrency,
        max_tokens=options.judge_max_tokens,
    )


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
        cost=judged.cost,
        unknown_cost=judged.unknown_cost,
        cost_at_most=judged.cost_at_most,
    )


def _questions(options: JcqOptions) -> tuple[Question, ...]:
    if options.trial:
        if options.questions:
            raise ValueError("give either trial or questions, not both")
        return trial_questions()
    return load_questions(options.questions, options.questions_revision, complete=not options.any_questions)


def _price(options: JudgeOptions) -> Price | None:
    if options.price_in is None and options.price_out is None:
        return None
    if options.price_in is None or options.price_out is None:
        raise ValueError("price_in and price_out go together: what a million tokens cost, in and out")
    return Price(options.price_in, options.price_out)


def _digest(answers: tuple[Answer, ...]) -> str:
    return content_hash(Question(a.id, a.question_id, a.answer) for a in answers)
