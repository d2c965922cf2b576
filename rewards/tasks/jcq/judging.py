"""Who judges a JCQ run, as the flags say: a judge that is asked, or the judgements that JCQ-judge made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from data.jcq import Answer, Question
from data.progress import responses_bar
from generate.judges import make_judge, make_price
from rewards.judges import JCQ_PROMPTS, Judging, judge_answers
from rewards.judges.ledger import Ledger
from rewards.judges.options import JudgeOptions
from rewards.judges.protocol import Status
from rewards.judges.run import answer_keys, judging_of
from rewards.tasks.jcq.files import PARAMETERS, PROMPT, read_jcq_judgements

# Questions, answers and the ledger's path in, what holds of the answers out.
_Judge = Callable[[Sequence[Question], Sequence[Answer], Path], Judging]


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """Where a run's judgements come from.

    Args:
        name: The judge model's name.
        settings: What decides the judgements, for `config.json`; `judge` is what their keys are made of.
        facts: What else `config.json` records.
        judge: Brings them into the ledger.
    """

    name: str
    settings: dict[str, Any]
    facts: dict[str, Any]
    judge: _Judge


def asked_judge(options: JudgeOptions) -> JudgedBy:
    """A judge that is asked about every answer that the ledger knows nothing of.

    Raises:
        ValueError: A flag is wrong.
    """
    if options.judge_prompt not in JCQ_PROMPTS:
        raise ValueError(f"judge_prompt must be one of {', '.join(JCQ_PROMPTS)}, not {options.judge_prompt}")
    judge, price = make_judge(options), make_price(options)

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
    facts = {"judge": {"backend": options.judge_backend, **judge.describe()}}
    return JudgedBy(judge.name, {"judge": key}, facts, ask)


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
    return JudgedBy(judge, settings, {}, keep)
