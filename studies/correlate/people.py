"""People's ratings of answers against the judge's (Table 8), and the cells of every table of correlations."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sozo.data.errors import UserError
from sozo.data.published import CORRELATIONS, correlations
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.labels import labels
from sozo.scoring.measure import Measure
from sozo.scoring.statistics import holm
from sozo.studies.correlation import Correlation, pearson
from sozo.studies.ratings import Rating, read_ratings
from sozo.tasks import task_types
from sozo.tasks.run_result import ScoredAnswer
from sozo.tasks.task import Task

PEOPLE, ALL_TASKS, MEAN = "people", "All", "mean"
KIND = "kind of item"  # a column beside the criteria
# Fisher's interval covers 28% to 85% there, one with clusters by model and by question 91% to 99.7%.
_CLUSTERED = "answers share models or questions: neither interval nor p-value"


@dataclass(slots=True)
class CorrelationCell:
    """One cell of a table of correlations."""

    task: str  # kind of item, or `All`
    criterion: str  # criterion, or `mean` of them: of answers that both rated on every one of them
    correlation: Correlation  # over the pairs that both sides have
    of: int  # pairs that there could be; some may lack a score
    p_holm: float | None = (
        None  # its p-value corrected for the number of the table's cells; None where it has none
    )
    paper: float | None = None  # the paper's correlation in this cell

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        values = {
            "task": self.task,
            "criterion": self.criterion,
            **asdict(self.correlation),
        }
        return values | {"p_holm": self.p_holm, "of": self.of, "paper": self.paper}


def complete_table(
    cells: Sequence[CorrelationCell], first: str, second: str
) -> tuple[CorrelationCell, ...]:
    """The cells of a table of two tasks, their p-values corrected together, beside the paper's."""
    paper: dict[tuple[str, str], float] = {}
    for row in correlations(first, second):
        paper[row.get("task", "").lower(), row.get("criterion", "")] = float(
            row["pearson"]
        )
    for cell, p_holm in zip(
        cells, holm([cell.correlation.p for cell in cells]), strict=True
    ):
        cell.p_holm, cell.paper = p_holm, paper.get((cell.task.lower(), cell.criterion))
    return tuple(cells)


def grid_of(task: type[Task]) -> dict[tuple[str, str], Measure]:
    """The cells that are correlated one by one, by kind of item and criterion: the paper's Tables 8 to 10, row by row.

    They are of a task with measures of single kinds of items; the last one is the task's score.
    """
    known = {measure.name: measure for measure in task.measures}
    kinds = list(dict.fromkeys(m.kinds[0] for m in task.measures if len(m.kinds) == 1))
    mean, *criteria = (measure.short for measure in task.measures if not measure.kinds)
    grid: dict[tuple[str, str], Measure] = {}
    for kind in (*kinds, ALL_TASKS) if kinds else ():
        parts = [task.name] if kind == ALL_TASKS else [task.name, kind]
        grid |= {(kind, name): known["/".join((*parts, name))] for name in criteria}
        grid[kind, mean] = (
            known["/".join(parts)] if kind != ALL_TASKS else task.measures[0]
        )
    return grid


def rated_task() -> type[Task]:
    """The task whose answers people rate by the criteria of its grid."""
    return next(
        task for task in task_types().values() if (task.name, PEOPLE) in CORRELATIONS
    )


@dataclass(frozen=True, slots=True)
class People:
    """People's ratings of answers in finished runs, and what the judge gave these answers."""

    ratings: tuple[
        Rating, ...
    ]  # those that are about an answer of a run; criteria in English, items as in `judged`
    judged: pd.DataFrame  # see `judge_human_correlations`
    left_out: dict[str, int]  # why ratings of the file are not among them -> how many

    @property
    def raters(self) -> int:
        """How many people rated."""
        return len({rating.rater for rating in self.ratings})

    def table8(self) -> tuple[CorrelationCell, ...]:
        """Judge and people over answers, by those kinds of item and criteria that were rated (paper, section 4.3.1)."""
        table = complete_table(
            judge_human_correlations(self.ratings, self.judged),
            rated_task().name,
            PEOPLE,
        )
        if {rating.criterion for rating in self.ratings} != {*self.judged.columns} - {
            KIND
        }:
            for cell in table:
                cell.paper = (
                    None if cell.criterion == MEAN else cell.paper
                )  # the paper's mean is that of all criteria
        return table


def judge_human_correlations(
    ratings: Iterable[Rating], judged: pd.DataFrame
) -> list[CorrelationCell]:
    """Pearson correlation of judge and people over answers for each kind of item and criterion (paper, section 4.3.1).

    A person's score of an answer is the mean over its raters. Where answers share models or questions, r has neither
    interval nor p-value: they are no independent draws, and the models too few for clusters. Cells come in the order of
    `judged`, `mean` and `All` last, `All` over the answers of all kinds.

    `judged` has a row for each answer, its index the answer's (model, item), with its `KIND` and the judge's score by
    each criterion, NaN where it gave none.

    >>> index = pd.MultiIndex.from_tuples([(model, "q1") for model in "abc"])
    >>> judged = pd.DataFrame({KIND: "Unusual Uses", "流暢性": [2.0, 3.0, 4.0]}, index)
    >>> people = [Rating(model, "q1", "流暢性", "A", score) for model, score in (("a", 1), ("b", 3), ("c", 5))]
    >>> cell = judge_human_correlations(people, judged)[0]
    >>> cell.task, cell.criterion, round(cell.correlation.r, 6), cell.correlation.n, cell.of
    ('Unusual Uses', '流暢性', 1.0, 3, 3)
    """
    people = pd.DataFrame(ratings).pivot_table(
        index=["model", "item"], columns="criterion", values="score"
    )
    criteria = [name for name in judged.columns if name in people.columns]
    judged = judged.loc[[answer for answer in judged.index if answer in people.index]]
    judge, people = judged[criteria], people.loc[judged.index, criteria]
    # A mean is of all criteria, or there is none.
    judge, people = (
        scores.assign(**{MEAN: scores.mean(axis="columns", skipna=False)})
        for scores in (judge, people)
    )
    cells = []
    for kind in [*judged[KIND].unique(), ALL_TASKS]:
        of_kind = people if kind == ALL_TASKS else people[judged[KIND] == kind]
        for criterion in [*criteria, MEAN]:
            rated = of_kind[criterion].dropna()
            scores = judge.loc[rated.index, criterion].dropna()
            correlation = pearson(scores, rated[scores.index], unit="answers")
            if correlation.r is not None and _clustered(scores.index):
                correlation = replace(
                    correlation,
                    p=None,
                    low=None,
                    high=None,
                    reason=_CLUSTERED,
                    note=None,
                )
            cells.append(CorrelationCell(kind, criterion, correlation, len(rated)))
    return cells


def _clustered(answers: Iterable[tuple[str, str]]) -> bool:
    """Whether some of several models, or of several questions, have more than one of the answers (model, item)."""
    names = pd.DataFrame(
        [(model, item.rpartition("#")[0] or item) for model, item in answers]
    )
    return any(1 < count < len(names) for count in names.nunique())


def read_people(path: Path, models: Sequence[Evaluated]) -> People:
    """The ratings of a file (1 to 5, `sozo.studies.ratings.read_ratings`) that are about answers which a judge scored.

    `model` is a model's name as the runs have it, `item` the question's id (where a model gave it several answers, the
    answer's id, such as `12-0`) and `criterion` `fluency` or 流暢性, and so on.
    """
    task = rated_task()
    kinds, criteria = (
        list(dict.fromkeys(names)) for names in zip(*grid_of(task), strict=True)
    )
    criteria.remove(MEAN)
    criterion_of = {
        name.casefold(): key
        for key in criteria
        for name in (key, *labels().get(key, ()))
    }
    answers = {
        model.name: list(run.answers())
        for model in models
        if (run := model.run(task.name))
    }
    rows = {}
    for model, of_model in answers.items():
        for answer in of_model:
            scores = {
                name: answer.values.get(f"{task.name}/{name}") for name in criteria
            }
            rows[model, _item(answer)] = {KIND: answer.group, **scores}
    ids = {model: _by_name(of_model) for model, of_model in answers.items()}
    kept: dict[tuple[str, str, str, str], Rating] = {}
    left_out: Counter[str] = Counter()
    for rating in read_ratings(path):
        name = criterion_of.get(rating.criterion.strip().casefold())
        by_name, several = ids.get(rating.model, ({}, {}))
        about = by_name.get(rating.item)
        if about is None and rating.item in several:
            question = f"{rating.model}'s question {rating.item!r}, which has {len(several[rating.item])} answers"
            example = several[rating.item][0].id
            raise UserError(
                f"{path}: rates {question}; give the answer's id as item, such as {example!r}"
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
                twice = f"the rater {rating.rater!r} rates {name} of {rating.model}'s {rating.item!r} twice"
                raise UserError(f"{path}: {twice}, under two names; keep one")
            kept[key] = Rating(*key, rating.score)
    if not kept:
        why, most = left_out.most_common(1)[0]
        reason = f"{most} of {left_out.total()}: {why}; the runs are of {', '.join(answers) or 'no model'}"
        raise UserError(
            f"{path}: no rating is about an answer of these runs ({reason})"
        )
    judged = pd.DataFrame.from_dict(rows, orient="index").astype(
        dict.fromkeys(criteria, float)
    )
    judged = judged.sort_values(
        KIND, key=lambda column: column.map(kinds.index), kind="stable"
    )
    return People(tuple(kept.values()), judged, dict(left_out))


def _by_name(
    answers: Sequence[ScoredAnswer],
) -> tuple[dict[str, ScoredAnswer], dict[str, list[ScoredAnswer]]]:
    """A model's answers by the ids that a rating may give them, and by question where that says too little."""
    by_id = {answer.id: answer for answer in answers}
    by_question: dict[str, list[ScoredAnswer]] = {}
    for answer in answers:
        by_question.setdefault(answer.item, []).append(answer)
    if len(by_id) != len(by_question):
        return by_id, by_question
    # Numbers of answers and of questions may not agree: the question's counts.
    return by_id | {
        question: several[0] for question, several in by_question.items()
    }, {}


def _item(answer: ScoredAnswer) -> str:
    """A question's id and an answer's: answer ids alone may differ between runs."""
    return f"{answer.item}#{answer.id}"
