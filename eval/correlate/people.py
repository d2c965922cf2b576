"""People's ratings of answers against the judge's (Table 8): which rating is about which answer of which run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from data.jcq import CRITERIA, TASKS, Answer
from eval.correlate.across import Cell, make_cells
from eval.finished import Evaluated
from eval.human import MEAN, judge_human_correlations
from eval.ratings import Rating, read_ratings
from rewards.judges.verdict import JAPANESE

_CRITERION = {name: name for name in CRITERIA} | {japanese: name for name, japanese in JAPANESE.items()}


@dataclass(frozen=True, slots=True)
class People:
    """People's ratings of answers in finished runs, and what the judge gave these answers.

    Attributes:
        ratings: Those that are about an answer of a run; criteria in English, items as in `task_of`.
        judged: (model, item, criterion) -> the judge's score, None where it gave none.
        task_of: Item -> task. An item is a question's id and an answer's: answer ids alone may differ between runs.
        raters: How many people there are.
        left_out: Why ratings of the file are not among them -> how many.
    """

    ratings: tuple[Rating, ...]
    judged: dict[tuple[str, str, str], float | None]
    task_of: dict[str, str]
    raters: int
    left_out: dict[str, int]

    def table8(self) -> tuple[Cell, ...]:
        """Judge and people over answers, by those tasks and criteria that were rated (paper, section 4.3.1)."""
        found = judge_human_correlations(self.ratings, self.judged, self.task_of)
        names = [(cell.task, cell.criterion) for cell in found]
        cells = make_cells(
            names, [cell.correlation for cell in found], [cell.rated for cell in found], "jcq_judge_human_correlation"
        )
        if {rating.criterion for rating in self.ratings} == set(CRITERIA):
            return cells
        return tuple(
            replace(cell, paper=None) if cell.criterion == MEAN else cell for cell in cells
        )  # its mean of four


def read_people(path: Path, models: Sequence[Evaluated]) -> People:
    """The ratings of a file that are about answers of these models' JCQ runs.

    `model` is a model's name as the runs have it, `item` the question's id (where a model gave it several answers, the
    answer's id, such as `12-0`) and `criterion` `fluency` or 流暢性, and so on.

    Args:
        path: See `eval.ratings.read_ratings`; scores from 1 to 5.
        models: Those with JCQ runs count.

    Raises:
        FileNotFoundError: No such file.
        ValueError: A line cannot be used, no rating is about an answer, a rated question has several answers, or one
            answer is rated twice by one person.
    """
    runs = {model.name: model.jcq for model in models if model.jcq}
    answers = {name: _Answers(name, run.answers) for name, run in runs.items()}
    task_of: dict[str, str] = {}
    judged: dict[tuple[str, str, str], float | None] = {}
    for name, run in runs.items():
        tasks = {question.id: question.task for question in run.questions}
        for there, judgement in zip(run.answers, run.judgements, strict=True):
            task_of[_item(there)] = tasks[there.question_id]
            given = judgement.scores if judgement and judgement.scores else {}
            judged |= {(name, _item(there), criterion): given.get(criterion) for criterion in CRITERIA}
    kept: dict[tuple[str, str, str, str], Rating] = {}
    left_out: Counter[str] = Counter()
    for rating in read_ratings(path):
        criterion = _CRITERION.get(rating.criterion.strip().casefold())
        answer = answers[rating.model].find(path, rating.item) if rating.model in answers else None
        if rating.model not in answers:
            left_out[f"no JCQ run of the model {rating.model}"] += 1
        elif criterion is None:
            left_out[f"no criterion {rating.criterion}"] += 1
        elif answer is None:
            left_out[f"no answer {rating.item} of {rating.model}"] += 1
        else:
            key = (rating.model, _item(answer), criterion, rating.rater)
            if key in kept:
                raise ValueError(
                    f"{path}: the rater {rating.rater!r} rates {criterion} of {rating.model}'s {rating.item!r} twice, "
                    "under two names; keep one"
                )
            kept[key] = replace(rating, item=_item(answer), criterion=criterion)
    if not kept:
        raise ValueError(f"{path}: no rating is about an answer of these runs ({_nothing_fits(left_out, runs)})")
    ordered = sorted(kept.values(), key=lambda one: (TASKS.index(task_of[one.item]), CRITERIA.index(one.criterion)))
    return People(tuple(ordered), judged, task_of, len({one.rater for one in ordered}), dict(left_out))


class _Answers:
    """A model's answers by the ids that a rating may give them."""

    def __init__(self, model: str, answers: Sequence[Answer]) -> None:
        self.model = model
        self.by_id = {answer.id: answer for answer in answers}
        self.by_question: dict[str, list[Answer]] = {}
        for answer in answers:
            self.by_question.setdefault(answer.question_id, []).append(answer)

    def find(self, path: Path, item: str) -> Answer | None:
        """The answer; None if there is none.

        Raises:
            ValueError: It is one of several answers to the question.
        """
        to_question = self.by_question.get(item, [])
        if len(self.by_id) == len(self.by_question):  # numbers of answers and of questions may not agree
            return to_question[0] if to_question else self.by_id.get(item)
        if item not in self.by_id and to_question:
            raise ValueError(
                f"{path}: rates {self.model}'s question {item!r}, which has {len(to_question)} answers; give the "
                f"answer's id as item, such as {to_question[0].id!r}"
            )
        return self.by_id.get(item)


def _item(answer: Answer) -> str:
    return f"{answer.question_id}#{answer.id}"


def _nothing_fits(left_out: Mapping[str, int], runs: Mapping[str, object]) -> str:
    why = max(left_out, key=lambda reason: left_out[reason])
    return f"{left_out[why]} of {sum(left_out.values())}: {why}; the runs are of {', '.join(runs) or 'no model'}"
