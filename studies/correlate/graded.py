"""Raters of finished runs that are asked now: other encoders, and a judge by the task's rubric (appendix C, Table 22)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.progress import answers_bar
from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Judge, JudgeSettings, ToJudge
from sozo.scoring.judges.run import NOT_ASKED, JudgeSession
from sozo.studies.ratings import COLUMNS
from sozo.tasks import task_type
from sozo.tasks.judged import JudgedTask
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Answer, Item

LEDGER = "judgements.jsonl"
NO_ANSWER = (
    "no_rewrite"  # nothing to judge (empty, or half a reasoning block): never asked
)
Runs = Mapping[str, RunResult]  # by model, of one task


def scored_by(encoders: Sequence[str], runs: Runs, cache: Path | None) -> pd.DataFrame:
    """The runs' answers scored with other encoders, as the table of rated answers."""
    kind = task_type(next(iter(runs.values())).task)
    known = {field.name for field in fields(kind.Settings)}
    name = f"{kind.name}_embedding_model"
    if name not in known or kind.in_groups() or issubclass(kind, JudgedTask):
        raise UserError(
            f"{kind.name} has no encoder that could be exchanged; leave --embedding-models out"
        )
    scores = []
    for encoder in dict.fromkeys(encoders):
        wanted = {f"{kind.name}_embedding_cache": cache and str(cache)}
        wanted = {key: value for key, value in wanted.items() if key in known}
        task = kind(kind.Settings(**wanted, **{name: encoder}))
        with answers_bar(f"scoring by {encoder}", len(runs)) as advance:
            for system, run in runs.items():
                items = [
                    Item(a.item, run.prompts[a.item], run.items[a.item])
                    for a in run.scored
                ]
                answers = [Answer(a.id, a.item, a.text) for a in run.scored]
                worth = task.score(items, answers)
                rater = task.describe()["embedding_model"]
                for answer, row in zip(answers, worth, strict=True):
                    facts = (system, answer.item, answer.id, run.main.short, rater)
                    scores.append((*facts, row.values.get(run.main.name)))
                advance(1, None)
    return pd.DataFrame(scores, columns=COLUMNS[:6]).astype({"score": float})


def check_rubric(run: RunResult) -> None:
    """UserError where a judge cannot grade a run's answers beside the task's own scores: it has none, or is the judge."""
    if run.judge or not task_type(run.task).rubrics:
        raise UserError(
            f"{run.task} has no rubric by which a judge could grade its answers; leave --judge out"
        )


def graded_by(
    judge: Judge, settings: JudgeSettings, runs: Runs, ledger: Path
) -> tuple[pd.DataFrame, dict[str, Any], str | None]:
    """Every answer's grades by a judge as the table of rated answers, divided by the highest; the bill; why it stopped.

    The ledger's judgements are asked no more, and equal answers once. An answer with nothing to judge is `no_rewrite`.
    """
    first = next(iter(runs.values()))
    rubric = task_type(first.task).rubrics[0]
    answers = [(model, a) for model, run in runs.items() for a in _to_judge(model, run)]
    to_ask = [answer for _, answer in answers if answer.answer]
    judging = JudgeSession(judge, settings).judge_answers(rubric, to_ask, ledger)
    judgements = iter(judging.judgements)
    statuses = {model: Counter[str]() for model in runs}
    scores = []
    for system, answer in answers:
        judgement = next(judgements) if answer.answer else None
        status = NOT_ASKED if answer.answer else NO_ANSWER
        statuses[system][str(judgement.status) if judgement else status] += 1
        for criterion, score in ((judgement and judgement.scores) or {}).items():
            facts = (system, answer.question_id, answer.id.partition("/")[2], criterion)
            scores.append((*facts, f"judge {judge.name}", score / rubric.highest))
    ended = {model: dict(sorted(count.items())) for model, count in statuses.items()}
    bill = ("prompt_tokens", "completion_tokens", "cost", "unknown_cost")
    cost = {"statuses": ended} | {name: getattr(judging, name) for name in bill}
    return pd.DataFrame(scores, columns=COLUMNS[:6]), cost, judging.stopped


def _to_judge(model: str, run: RunResult) -> Iterator[ToJudge]:
    """What is judged is what was scored: a judge that reads the reasoning too judges something else."""
    for answer in run.scored:
        text = final_text(answer.text) or ""
        asked = run.items[answer.item].get("story", run.prompts[answer.item])
        said = text if any(map(str.isalnum, text)) else ""
        yield ToJudge(f"{model}/{answer.id}", answer.item, asked, said)
