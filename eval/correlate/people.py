"""People's ratings of answers against the judge's (Table 8): which rating is about which answer of which run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from data.errors import UserError
from data.published import CORRELATIONS
from eval.correlate.across import Cell, make_cells
from eval.evaluated import Evaluated
from eval.human import MEAN, judge_human_correlations
from eval.ratings import Rating, read_ratings
from eval.report.labels import labels
from rewards.finished import ScoredAnswer
from rewards.task import Task
from rewards.tasks import task_types

PEOPLE = "people"


def rated_task() -> type[Task]:
    """The task whose answers people rate by the criteria of its grid."""
    return next(task for task in task_types().values() if (task.name, PEOPLE) in CORRELATIONS)


@dataclass(frozen=True, slots=True)
class People:
    """People's ratings of answers in finished runs, and what the judge gave these answers.

    Attributes:
        task: The task whose answers were rated.
        ratings: Those that are about an answer of a run; criteria in English, items as in `task_of`.
        judged: (model, item, criterion) -> the judge's score, None where it gave none.
        task_of: Item -> kind of item. An item is a question's id and an answer's: answer ids alone may differ between
            runs.
        raters: How many people there are.
        left_out: Why ratings of the file are not among them -> how many.
    """

    task: type[Task]
    ratings: tuple[Rating, ...]
    judged: dict[tuple[str, str, str], float | None]
    task_of: dict[str, str]
    raters: int
    left_out: dict[str, int]

    def table8(self) -> tuple[Cell, ...]:
        """Judge and people over answers, by those kinds of item and criteria that were rated (paper, section 4.3.1)."""
        correlated = judge_human_correlations(self.ratings, self.judged, self.task_of)
        names = [(cell.task, cell.criterion) for cell in correlated]
        correlations, rated = [cell.correlation for cell in correlated], [cell.rated for cell in correlated]
        cells = make_cells(names, correlations, rated, self.task.name, PEOPLE)
        if {rating.criterion for rating in self.ratings} == set(criteria(self.task)):
            return cells
        # The paper's mean is that of all criteria.
        return tuple(replace(cell, paper=None) if cell.criterion == MEAN else cell for cell in cells)


def criteria(task: type[Task]) -> list[str]:
    """The criteria of a task's grid, in order."""
    return [name for name in dict.fromkeys(criterion for _, criterion in task.Finished.grid) if name != MEAN]


def read_people(path: Path, models: Sequence[Evaluated]) -> People:
    """The ratings of a file that are about answers of these models' runs of the task that has a judge.

    `model` is a model's name as the runs have it, `item` the question's id (where a model gave it several answers, the
    answer's id, such as `12-0`) and `criterion` `fluency` or 流暢性, and so on.

    Args:
        path: See `eval.ratings.read_ratings`; scores from 1 to 5.
        models: Those with such runs count.
    """
    task = rated_task()
    known = criteria(task)
    criterion_of = {name.casefold(): key for key in known for name in (key, *labels().get(key, ()))}
    answers: dict[str, _Answers] = {}
    task_of: dict[str, str] = {}
    judged: dict[tuple[str, str, str], float | None] = {}
    for model in models:
        run = model.run(task.name)
        if run is None:
            continue
        answers[model.name] = _Answers(model.name, list(run.answers()))
        for answer in answers[model.name].by_id.values():
            task_of[_item(answer)] = answer.group
            scores = {criterion: answer.values.get(f"{task.name}/{criterion}") for criterion in known}
            judged |= {(model.name, _item(answer), criterion): score for criterion, score in scores.items()}
    kept: dict[tuple[str, str, str, str], Rating] = {}
    left_out: Counter[str] = Counter()
    for rating in read_ratings(path):
        criterion = criterion_of.get(rating.criterion.strip().casefold())
        answer_or_none = answers[rating.model].find(path, rating.item) if rating.model in answers else None
        if rating.model not in answers:
            left_out[f"no {task.name.upper()} run of the model {rating.model}"] += 1
        elif criterion is None:
            left_out[f"no criterion {rating.criterion}"] += 1
        elif answer_or_none is None:
            left_out[f"no answer {rating.item} of {rating.model}"] += 1
        else:
            item = _item(answer_or_none)
            key = (rating.model, item, criterion, rating.rater)
            if key in kept:
                raise UserError(
                    f"{path}: the rater {rating.rater!r} rates {criterion} of {rating.model}'s {rating.item!r} twice, "
                    "under two names; keep one"
                )
            kept[key] = replace(rating, item=item, criterion=criterion)
    if not kept:
        raise UserError(f"{path}: no rating is about an answer of these runs ({_nothing_fits(left_out, answers)})")
    groups = list(dict.fromkeys(group for group, _ in task.Finished.grid))
    ordered = sorted(kept.values(), key=lambda r: (groups.index(task_of[r.item]), known.index(r.criterion)))
    raters = len({rating.rater for rating in ordered})
    return People(task, tuple(ordered), judged, task_of, raters, dict(left_out))


class _Answers:
    """A model's answers by the ids that a rating may give them."""

    def __init__(self, model: str, answers: Sequence[ScoredAnswer]) -> None:
        self.model = model
        self.by_id = {answer.id: answer for answer in answers}
        self.by_question: dict[str, list[ScoredAnswer]] = {}
        for answer in answers:
            self.by_question.setdefault(answer.item, []).append(answer)

    def find(self, path: Path, item: str) -> ScoredAnswer | None:
        """The answer; None if there is none."""
        to_question = self.by_question.get(item, [])
        if len(self.by_id) == len(self.by_question):  # numbers of answers and of questions may not agree
            return to_question[0] if to_question else self.by_id.get(item)
        if item not in self.by_id and to_question:
            raise UserError(
                f"{path}: rates {self.model}'s question {item!r}, which has {len(to_question)} answers; give the "
                f"answer's id as item, such as {to_question[0].id!r}"
            )
        return self.by_id.get(item)


def _item(answer: ScoredAnswer) -> str:
    return f"{answer.item}#{answer.id}"


def _nothing_fits(left_out: Mapping[str, int], runs: Mapping[str, object]) -> str:
    why = max(left_out, key=lambda reason: left_out[reason])
    return f"{left_out[why]} of {sum(left_out.values())}: {why}; the runs are of {', '.join(runs) or 'no model'}"
