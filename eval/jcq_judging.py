"""Who judges a JCQ run, as the flags say: a judge that is asked, or the judgements that JCQ-judge made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from data.jcq import Answer, Question
from eval.generate.load import GeneratorSettings, load_generator
from eval.generate.protocol import Answerer
from eval.jcq_files import PARAMETERS, PROMPT, read_jcq_judgements
from eval.judge import PROMPTS, EndpointJudge, Judge, Judging, LocalJudge, Price, judge_answers
from eval.judge.ledger import Ledger
from eval.judge.protocol import Status
from eval.judge.run import answer_keys, judging_of
from eval.options import JudgeOptions
from eval.progress import responses_bar

# As near to the paper's temperature 0 as sampling comes: a token two nats less likely has a chance of e^-20000.
_GREEDY = 1e-4

# Questions, answers and the ledger's path in, what holds of the answers out.
_Judge = Callable[[Sequence[Question], Sequence[Answer], Path], Judging]


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """Where a run's judgements come from.

    Args:
        name: The judge model's name.
        settings: What decides the judgements, for `config.json`; `judge` is what their keys are made of.
        judge: Brings them into the ledger.
    """

    name: str
    settings: dict[str, Any]
    judge: _Judge


def asked_judge(options: JudgeOptions) -> JudgedBy:
    """A judge that is asked about every answer that the ledger knows nothing of.

    Raises:
        ValueError: A flag is wrong; see `make_judge`.
    """
    judge, price = make_judge(options), _price(options)

    def ask(questions: Sequence[Question], answers: Sequence[Answer], ledger: Path) -> Judging:
        with responses_bar(f"judging by {judge.name}", len(answers)) as advance:
            return judge_answers(
                judge,
                questions,
                answers,
                ledger,
                prompt=options.judge_prompt,
                price=price,
                max_cost=options.max_cost,
                retry_failed=options.retry_failed,
                on_judgement=lambda judgement: advance(1, int(judgement.scores is not None)),
            )

    key = {"model": judge.name, "prompt": options.judge_prompt, **judge.parameters}
    return JudgedBy(judge.name, {"judge": key}, ask)


def imported_judge(
    path: Path, options: JudgeOptions, questions: Sequence[Question], answers: Sequence[Answer]
) -> JudgedBy:
    """The judgements in a file of nlp-waseda/JCQ-judge; nobody is asked, and an answer without one stays without.

    The ledger then holds every line of the file. Of equal answers to one question, which share a judgement here, a
    judgement with scores holds before one without, and the last before the others.

    Args:
        path: The file.
        options: `judge_model` names the judge.
        questions: What was asked.
        answers: Those that were judged.

    Raises:
        OSError: The file cannot be read.
        ValueError: A line cannot be used, or a flag is about a judge that is asked.
    """
    plain = JudgeOptions(judge_model=options.judge_model)
    for field in fields(options):
        if getattr(options, field.name) != getattr(plain, field.name):
            raise ValueError(f"--{field.name.replace('_', '-')} is for a judge that is asked, not for --judgements")
    judge = options.judge_model
    found = read_jcq_judgements(path, judge, questions, answers)
    keys = answer_keys(questions, answers, judge, PROMPT, PARAMETERS)

    def keep(_: Sequence[Question], __: Sequence[Answer], path: Path) -> Judging:
        with Ledger(path) as ledger:
            there = {(line.key, line.answer_id) for line in ledger.judgements}  # what an earlier call had written
            for judgement in sorted(filter(None, found), key=lambda one: one.status is Status.OK):
                if (judgement.key, judgement.answer_id) not in there:
                    ledger.append(judgement)
            return judging_of(ledger.judgements, keys)

    settings = {
        "judge": {"model": judge, "prompt": PROMPT, **PARAMETERS},
        "judgements_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    return JudgedBy(judge, settings, keep)


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


def _price(options: JudgeOptions) -> Price | None:
    if options.price_in is None and options.price_out is None:
        return None
    if options.price_in is None or options.price_out is None:
        raise ValueError("price_in and price_out go together: what a million tokens cost, in and out")
    return Price(options.price_in, options.price_out)
