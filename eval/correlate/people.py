"""People's ratings of answers against the judge's (Table 8), and the cells of every table of correlations."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.published import CORRELATIONS, correlations
from sozo.data.ratings import Rating, mean_scores, read_ratings
from sozo.eval.evaluated import Evaluated
from sozo.eval.report.labels import labels
from sozo.scoring.statistics import holm
from sozo.scoring.statistics.correlation import Correlation, pearson
from sozo.tasks import task_types
from sozo.tasks.finished import ScoredAnswer
from sozo.tasks.task import Task

PEOPLE = "people"
ALL_TASKS = "All"
MEAN = "mean"
# Fisher's interval covers 28% to 85% there, one with clusters by model and by question 91% to 99.7%.
_CLUSTERED = "answers share models or questions: neither interval nor p-value"


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
        """How many people."""
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


def judge_human_correlations(
    ratings: Iterable[Rating], judged: Mapping[tuple[str, str, str], float | None], task_of: Mapping[str, str]
) -> list[Cell]:
    """Pearson correlation of judge and people over answers for each task and criterion (paper, section 4.3.1).

    A person's score of an answer is the mean over its raters. Where answers share models or questions, r has neither
    interval nor p-value: they are no independent draws, and the models too few for clusters. Cells come in the order in
    which tasks and criteria first appear in the ratings, `mean` and `All` last, `All` over the answers of all tasks.

    `judged` is (model, item, criterion) -> the judge's score, None where it gave none; `task_of` item -> task.

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
            correlation = pearson(judges, humans, unit="answers")
            if correlation.r is not None and _clustered(both):
                correlation = replace(correlation, p=None, low=None, high=None, reason=_CLUSTERED, note=None)
            cells.append(Cell(task, criterion, correlation, len(rated)))
    return cells


def _clustered(answers: Sequence[tuple[str, str]]) -> bool:
    """Whether some of several models, or of several questions, have more than one of the answers (model, item)."""
    models, questions = {model for model, _ in answers}, {item.rpartition("#")[0] or item for _, item in answers}
    return any(1 < len(names) < len(answers) for names in (models, questions))


def _criteria(task: type[Task]) -> list[str]:
    return [name for name in dict.fromkeys(criterion for _, criterion in task.Finished.grid) if name != MEAN]


def read_people(path: Path, models: Sequence[Evaluated]) -> People:
    """The ratings of a file (1 to 5, `sozo.data.ratings.read_ratings`) that are about answers which a judge scored.

    `model` is a model's name as the runs have it, `item` the question's id (where a model gave it several answers, the
    answer's id, such as `12-0`) and `criterion` `fluency` or 流暢性, and so on.
    """
    known = _criteria(task := rated_task())
    criterion_of = {name.casefold(): key for key in known for name in (key, *labels().get(key, ()))}
    answers: dict[str, tuple[dict[str, ScoredAnswer], dict[str, list[ScoredAnswer]]]] = {}
    task_of: dict[str, str] = {}
    judged: dict[tuple[str, str, str], float | None] = {}
    for model in models:
        if (run := model.run(task.name)) is None:
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
            question = f"{rating.model}'s question {rating.item!r}, which has {len(several)} answers"
            raise UserError(f"{path}: rates {question}; give the answer's id as item, such as {several[0].id!r}")
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
