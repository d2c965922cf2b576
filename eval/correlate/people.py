"""People's ratings of answers against the judge's (Table 8): which rating is about which answer of which run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from data.errors import UserError
from data.published import CORRELATIONS
from eval.correlate.across import PEOPLE
from eval.correlate.cells import MEAN, Cell, complete_table, judge_human_correlations
from eval.evaluated import Evaluated
from eval.ratings import Rating, read_ratings
from eval.report.labels import labels
from rewards.finished import ScoredAnswer
from rewards.task import Task
from rewards.tasks import task_types


def rated_task() -> type[Task]:
    """The task whose answers people rate by the criteria of its grid."""
    return next(task for task in task_types().values() if (task.name, PEOPLE) in CORRELATIONS)


@dataclass(frozen=True, slots=True)
class People:
    """People's ratings of answers in finished runs, and what the judge gave these answers.

    An item is a question's id and an answer's: answer ids alone may differ between runs.
    """

    ratings: tuple[Rating, ...]  # those that are about an answer of a run; criteria in English
    judged: dict[tuple[str, str, str], float | None]  # (model, item, criterion) -> score, None where there is none
    task_of: dict[str, str]  # item -> kind of item
    left_out: dict[str, int]  # why ratings of the file are not among them -> how many

    @property
    def raters(self) -> int:
        """How many people there are."""
        return len({rating.rater for rating in self.ratings})

    def table8(self) -> tuple[Cell, ...]:
        """Judge and people over answers, by those kinds of item and criteria that were rated (paper, section 4.3.1)."""
        task = rated_task()
        cells = judge_human_correlations(self.ratings, self.judged, self.task_of)
        table = complete_table(cells, task.name, PEOPLE)
        if {rating.criterion for rating in self.ratings} == set(_criteria(task)):
            return table
        # The paper's mean is that of all criteria.
        return tuple(replace(cell, paper=None) if cell.criterion == MEAN else cell for cell in table)


def _criteria(task: type[Task]) -> list[str]:
    """The criteria of a task's grid, in order."""
    return [name for name in dict.fromkeys(criterion for _, criterion in task.Finished.grid) if name != MEAN]


def read_people(path: Path, models: Sequence[Evaluated]) -> People:
    """The ratings of a file (1 to 5, `eval.ratings.read_ratings`) that are about answers which a judge scored.

    `model` is a model's name as the runs have it, `item` the question's id (where a model gave it several answers, the
    answer's id, such as `12-0`) and `criterion` `fluency` or 流暢性, and so on.
    """
    task = rated_task()
    known = _criteria(task)
    criterion_of = {name.casefold(): key for key in known for name in (key, *labels().get(key, ()))}
    answers: dict[str, tuple[dict[str, ScoredAnswer], dict[str, list[ScoredAnswer]]]] = {}
    task_of: dict[str, str] = {}
    judged: dict[tuple[str, str, str], float | None] = {}
    for model in models:
        run = model.run(task.name)
        if run is None:
            continue
        of_model = list(run.answers())
        answers[model.name] = _by_name(of_model)
        for answer in of_model:
            task_of[_item(answer)] = answer.group
            for criterion in known:
                judged[model.name, _item(answer), criterion] = answer.values.get(f"{task.name}/{criterion}")
    kept: dict[tuple[str, str, str, str], Rating] = {}
    left_out: Counter[str] = Counter()
    for rating in read_ratings(path):
        name = criterion_of.get(rating.criterion.strip().casefold())
        by_name, by_question = answers.get(rating.model, ({}, {}))
        about = by_name.get(rating.item)
        if about is None and (several := by_question.get(rating.item)):
            raise UserError(
                f"{path}: rates {rating.model}'s question {rating.item!r}, which has {len(several)} answers; give the "
                f"answer's id as item, such as {several[0].id!r}"
            )
        if rating.model not in answers:
            left_out[f"no {task.name.upper()} run of the model {rating.model}"] += 1
        elif name is None:
            left_out[f"no criterion {rating.criterion}"] += 1
        elif about is None:
            left_out[f"no answer {rating.item} of {rating.model}"] += 1
        else:
            key = (rating.model, _item(about), name, rating.rater)
            if key in kept:
                raise UserError(
                    f"{path}: the rater {rating.rater!r} rates {name} of {rating.model}'s {rating.item!r} twice, "
                    "under two names; keep one"
                )
            kept[key] = Rating(*key, rating.score)
    if not kept:
        why, most = left_out.most_common(1)[0]
        reason = f"{most} of {left_out.total()}: {why}; the runs are of {', '.join(answers) or 'no model'}"
        raise UserError(f"{path}: no rating is about an answer of these runs ({reason})")
    groups = list(dict.fromkeys(group for group, _ in task.Finished.grid))
    ordered = sorted(kept.values(), key=lambda r: (groups.index(task_of[r.item]), known.index(r.criterion)))
    return People(tuple(ordered), judged, task_of, dict(left_out))


def _by_name(answers: Sequence[ScoredAnswer]) -> tuple[dict[str, ScoredAnswer], dict[str, list[ScoredAnswer]]]:
    """A model's answers by the ids that a rating may give them, and by question where that says too little."""
    by_id = {answer.id: answer for answer in answers}
    by_question: dict[str, list[ScoredAnswer]] = {}
    for answer in answers:
        by_question.setdefault(answer.item, []).append(answer)
    if len(by_id) != len(by_question):
        return by_id, by_question
    # Numbers of answers and of questions may not agree: the question's counts.
    return by_id | {question: several[0] for question, several in by_question.items()}, {}


def _item(answer: ScoredAnswer) -> str:
    return f"{answer.item}#{answer.id}"
