"""Does the judge see what people see? Correlation of their scores by task and criterion, as in the paper's Table 8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eval.ratings import Rating, mean_scores
from eval.statistics import Correlation, pearson

ALL_TASKS = "All"
MEAN = "mean"

Judged = Mapping[tuple[str, str, str], float | None]
"""(model, item, criterion) -> the judge's score, None where it gave none."""


@dataclass(frozen=True, slots=True)
class JudgeCell:
    """One cell of Table 8."""

    task: str  # task, or `All`
    criterion: str  # criterion, or `mean`: the mean over the criteria of answers that both rated on every one of them
    correlation: Correlation  # of the judge's scores with the mean over raters, over answers
    rated: int  # answers that people rated here; `correlation.n` of them have a judge's score too


def judge_human_correlations(ratings: Iterable[Rating], judged: Judged, task_of: Mapping[str, str]) -> list[JudgeCell]:
    """Pearson correlation of judge and people for each task and criterion (paper, section 4.3.1).

    A person's score of an answer is the mean over its raters. Cells come in the order in which tasks and criteria first
    appear in the ratings, `mean` and `All` last, `All` over the answers of all tasks together.

    Args:
        ratings: See `eval.ratings.read_ratings`.
        judged: The judge's scores of the same answers; further ones are left alone.
        task_of: Item -> task.

    Raises:
        ValueError: There are no ratings, or a rated item belongs to no task.

    >>> people = [Rating(model, "q1", "流暢性", "A", score) for model, score in (("a", 1), ("b", 3), ("c", 5))]
    >>> judge = {("a", "q1", "流暢性"): 2, ("b", "q1", "流暢性"): 3, ("c", "q1", "流暢性"): 4}
    >>> cell = judge_human_correlations(people, judge, {"q1": "Unusual Uses"})[0]
    >>> cell.task, cell.criterion, round(cell.correlation.r, 6), cell.correlation.n, cell.rated
    ('Unusual Uses', '流暢性', 1.0, 3, 3)
    """
    people = mean_scores(ratings)
    if not people:
        raise ValueError("there are no ratings to compare the judge with")
    for _, item in people:
        if item not in task_of:
            raise ValueError(f"the rated item {item!r} is none of the questions; give the ids of the questions file")
    tasks = list(dict.fromkeys(task_of[item] for _, item in people))
    criteria = list(dict.fromkeys(criterion for by_criterion in people.values() for criterion in by_criterion))
    cells = []
    for task in [*tasks, ALL_TASKS]:
        answers = [answer for answer in people if task in (ALL_TASKS, task_of[answer[1]])]
        for criterion in [*criteria, MEAN]:
            wanted = criteria if criterion == MEAN else [criterion]
            rated = [answer for answer in answers if all(c in people[answer] for c in wanted)]
            pairs = [pair for answer in rated if (pair := _pair(answer, people[answer], judged, wanted))]
            correlation = pearson([judge for judge, _ in pairs], [human for _, human in pairs], unit="answers")
            cells.append(JudgeCell(task, criterion, correlation, len(rated)))
    return cells


def _pair(
    answer: tuple[str, str], people: Mapping[str, float], judged: Judged, criteria: list[str]
) -> tuple[float, float] | None:
    """The judge's and the people's mean over some criteria; None if the judge lacks one of them."""
    judge = [judged.get((*answer, criterion)) for criterion in criteria]
    scores = [score for score in judge if score is not None]
    if len(scores) < len(criteria):
        return None
    return sum(scores) / len(scores), sum(people[c] for c in criteria) / len(criteria)
