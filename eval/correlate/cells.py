"""Cells of Tables 8, 9 and 10: a correlation for each kind of item and criterion, beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from data.published import correlations
from eval.ratings import Rating, mean_scores
from eval.statistics.correlation import Correlation, holm, pearson

ALL_TASKS = "All"
MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    task: str  # kind of item, or `All`
    criterion: str  # criterion, or `mean` of them: of answers that both rated on every one of them
    correlation: Correlation  # over the pairs that both sides have
    of: int  # pairs that there could be; some may lack a score
    p_holm: float | None = None  # its p-value corrected for the number of the table's cells; None where it has none
    paper: float | None = None  # the paper's correlation in this cell

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        own = {"p_holm": self.p_holm, "of": self.of, "paper": self.paper}
        return {"task": self.task, "criterion": self.criterion, **asdict(self.correlation), **own}


def complete_table(cells: Sequence[Cell], first: str, second: str) -> tuple[Cell, ...]:
    """The cells of a table of two tasks, their p-values corrected together, beside the paper's."""
    published = correlations(first, second)
    paper = {(row["task"].lower(), row["criterion"]): float(row["pearson"]) for row in published}
    corrected = holm([cell.correlation.p for cell in cells])
    return tuple(
        replace(cell, p_holm=p_holm, paper=paper.get((cell.task.lower(), cell.criterion)))
        for cell, p_holm in zip(cells, corrected, strict=True)
    )


def judge_human_correlations(
    ratings: Iterable[Rating], judged: Mapping[tuple[str, str, str], float | None], task_of: Mapping[str, str]
) -> list[Cell]:
    """Pearson correlation of judge and people over answers for each task and criterion (paper, section 4.3.1).

    A person's score of an answer is the mean over its raters. Cells come in the order in which tasks and criteria first
    appear in the ratings, `mean` and `All` last, `All` over the answers of all tasks together.

    Args:
        ratings: People's.
        judged: (model, item, criterion) -> the judge's score, None where it gave none; others are left alone.
        task_of: Item -> task.

    >>> people = [Rating(model, "q1", "流暢性", "A", score) for model, score in (("a", 1), ("b", 3), ("c", 5))]
    >>> judge = {("a", "q1", "流暢性"): 2, ("b", "q1", "流暢性"): 3, ("c", "q1", "流暢性"): 4}
    >>> cell = judge_human_correlations(people, judge, {"q1": "Unusual Uses"})[0]
    >>> cell.task, cell.criterion, round(cell.correlation.r, 6), cell.correlation.n, cell.of
    ('Unusual Uses', '流暢性', 1.0, 3, 3)
    """
    people = mean_scores(ratings)
    judge = {key: score for key, score in judged.items() if score is not None}
    tasks = dict.fromkeys(task_of[item] for _, item in people)
    criteria = list(dict.fromkeys(criterion for by_criterion in people.values() for criterion in by_criterion))
    cells = []
    for task in [*tasks, ALL_TASKS]:
        answers = [answer for answer in people if task in (ALL_TASKS, task_of[answer[1]])]
        for criterion in [*criteria, MEAN]:
            wanted = criteria if criterion == MEAN else [criterion]
            rated = [answer for answer in answers if all(c in people[answer] for c in wanted)]
            both = [answer for answer in rated if all((*answer, c) in judge for c in wanted)]
            judges = [sum(judge[*answer, c] for c in wanted) / len(wanted) for answer in both]
            humans = [sum(people[answer][c] for c in wanted) / len(wanted) for answer in both]
            cells.append(Cell(task, criterion, pearson(judges, humans, unit="answers"), len(rated)))
    return cells
