"""A judge's grades of the answers of several models' finished runs, by the rubric that their task has for it."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sozo.eval.matrix import Matrix
from sozo.scoring.judges.options import JudgeSettings
from sozo.scoring.judges.protocol import Judge, Rubric
from sozo.scoring.judges.run import NOT_ASKED, Judging, judge_with_bar
from sozo.tasks.finished import Finished

NO_ANSWER = "no_rewrite"  # nothing to judge (empty, or half a reasoning block): never asked


@dataclass(frozen=True, slots=True)
class Graded:
    """What holds after judging."""

    matrix: Matrix  # mean over the criteria and an item's answers, divided by the highest score
    statuses: dict[str, list[str]]  # model -> the status of each of its answers; `no_rewrite` with nothing to judge
    judging: Judging  # of what there was something to ask about: tokens, cost, why it stopped

    def to_json(self) -> dict[str, Any]:
        """For a results file; the judgements themselves are in the ledger."""
        names = ("prompt_tokens", "completion_tokens", "cost", "unknown_cost", "stopped")
        counts = {model: dict(sorted(Counter(statuses).items())) for model, statuses in self.statuses.items()}
        return {"statuses": counts, **{name: getattr(self.judging, name) for name in names}}


def grade_answers(
    judge: Judge, rubric: Rubric, runs: Mapping[str, Finished], settings: JudgeSettings, ledger: Path
) -> Graded:
    """Ask for the grade of every answer that the ledger has no judgement of; equal answers are asked about once."""
    to_judge = {model: list(run.to_judge()) for model, run in runs.items()}
    named = [(model, answer) for model, answers in to_judge.items() for answer in answers if answer.answer]
    questions = [replace(answer, id=f"{model}/{answer.id}") for model, answer in named]
    judging = judge_with_bar(judge, rubric, questions, ledger, settings, settings.max_cost)
    by_id = {answer.id: judgement for answer, judgement in zip(questions, judging.judgements, strict=True)}
    statuses: dict[str, list[str]] = {}
    scores: dict[str, dict[str, float | None]] = {}
    for model, answers in to_judge.items():
        statuses[model], grades = [], dict[str, list[float]]()
        for answer in answers:
            judgement = by_id.get(f"{model}/{answer.id}")
            statuses[model].append(str(judgement.status) if judgement else NOT_ASKED if answer.answer else NO_ANSWER)
            if judgement and judgement.scores:
                grade = sum(judgement.scores.values()) / len(judgement.scores) / rubric.highest
                grades.setdefault(answer.question_id, []).append(grade)
        scores[model] = {item: math.fsum(values) / len(values) for item, values in grades.items()}
    return Graded(Matrix.of(f"judge {judge.name}", scores), statuses, judging)
