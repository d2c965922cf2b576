"""JCQ results: from judgements to the paper's tables (ACL, tables 3 to 5, 12 and 13), every mean with its n of N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from data.jcq import CRITERIA, TASKS, Answer, Question
from rewards.judges.judgement import Judgement

Counts = np.ndarray[tuple[int], np.dtype[np.int64]]
Values = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean beside what it rests on."""

    mean: float | None  # 1 to 5; None if nothing was scored
    scored: int  # n, answers with scores
    asked: int  # N, all answers that should have been judged, whatever became of them


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by columns."""

    rows: tuple[str, ...]  # names of the rows
    columns: tuple[str, ...]  # names of the columns
    cells: tuple[tuple[Cell, ...], ...]  # one tuple for each row, one cell for each column

    def cell(self, row: str, column: str) -> Cell:
        """The cell with these names."""
        return self.cells[self.rows.index(row)][self.columns.index(column)]


@dataclass(frozen=True, slots=True)
class JcqTables:
    """The paper's three tables. Their last column `mean` is the mean of the four criteria."""

    model_by_criterion: Table  # mean over all questions (ACL, tables 3 and 12)
    model_by_task: Table  # mean over the task's questions and the four criteria (ACL, tables 4 and 13)
    task_by_criterion: Table  # mean over the task's questions and all models (ACL, table 5)

    def to_json(self) -> dict[str, Any]:
        """Plain values for `metrics.json`."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """One model's scores, question by question: what the tables, intervals and comparisons are made of."""

    model: str  # the model's name
    questions: tuple[Question, ...]  # those that were asked, in their order
    values: Values  # shape (questions, 4), 1 to 5: mean over the question's scored answers; NaN where there is none
    scored: Counts  # shape (questions,): how many answers have scores
    asked: Counts  # shape (questions,): how many answers there are

    def to_json(self) -> dict[str, Any]:
        """Plain values: one row for each question, scores None where there are none."""
        return {
            "model": self.model,
            "questions": [
                {
                    "id": question.id,
                    "task": question.task,
                    "scored": int(self.scored[k]),
                    "asked": int(self.asked[k]),
                    "scores": dict(zip(CRITERIA, self.values[k].tolist(), strict=True)) if self.scored[k] else None,
                }
                for k, question in enumerate(self.questions)
            ],
        }


def model_scores(
    model: str,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    judgements: Sequence[Judgement | None],
) -> ModelScores:
    """Gather one model's judgements by question.

    Several answers to a question are averaged first, so that every question weighs the same, however many of its
    answers have scores. With all answers scored this is the mean over all answers.

    Args:
        model: The model's name.
        questions: All of the benchmark; those without an answer are left out.
        answers: The model's answers.
        judgements: One for each answer, in order; None where it was not asked.

    Raises:
        ValueError: An answer's question is not there, or the numbers differ.

    Two answers to one question, one of them refused:

    >>> from rewards.judges.protocol import Status
    >>> questions, answers = [Question("1", "situation", "?")], [Answer("a", "1", "x"), Answer("b", "1", "y")]
    >>> ok = Judgement("k", "1", "a", "judge", "jcq-v1", Status.OK, dict.fromkeys(CRITERIA, 4))
    >>> model_by_criterion = jcq_tables([model_scores("m", questions, answers, [ok, None])]).model_by_criterion
    >>> model_by_criterion.cell("m", "fluency")
    Cell(mean=4.0, scored=1, asked=2)
    """
    place = {question.id: k for k, question in enumerate(questions)}
    sums = np.zeros((len(questions), len(CRITERIA)))
    scored, asked = np.zeros(len(questions), np.int64), np.zeros(len(questions), np.int64)
    for answer, judgement in zip(answers, judgements, strict=True):
        k = place.get(answer.question_id)
        if k is None:
            raise ValueError(f"{model}: answer {answer.id!r} is to question {answer.question_id!r}, which is not there")
        asked[k] += 1
        if judgement is not None and judgement.scores is not None:
            sums[k] += [judgement.scores[criterion] for criterion in CRITERIA]
            scored[k] += 1
    there = [k for k in range(len(questions)) if asked[k]]
    with np.errstate(invalid="ignore"):
        values = sums[there] / scored[there, None]
    return ModelScores(model, tuple(questions[k] for k in there), values, scored[there], asked[there])


def jcq_tables(models: Sequence[ModelScores]) -> JcqTables:
    """The paper's tables of these models.

    Raises:
        ValueError: Two models have one name.
    """
    names = tuple(scores.model for scores in models)
    if len(set(names)) != len(names):
        raise ValueError(f"two models have one name: {', '.join(names)}")
    columns = (*CRITERIA, "mean")
    every = [(scores, np.ones(len(scores.questions), bool)) for scores in models]
    by_task = {task: [(scores, _of_task(scores, task)) for scores in models] for task in TASKS}
    return JcqTables(
        model_by_criterion=Table(names, columns, tuple(_row([pair]) for pair in every)),
        model_by_task=Table(
            names,
            (*TASKS, "mean"),
            tuple(
                (*(_row([by_task[task][k]])[-1] for task in TASKS), _row([every[k]])[-1]) for k in range(len(models))
            ),
        ),
        task_by_criterion=Table(TASKS, columns, tuple(_row(by_task[task]) for task in TASKS)),
    )


def _of_task(scores: ModelScores, task: str) -> np.ndarray:
    return np.array([question.task == task for question in scores.questions], bool)


def _row(selections: Sequence[tuple[ModelScores, np.ndarray]]) -> tuple[Cell, ...]:
    """One cell for each criterion and one for their mean, over the questions selected of each model."""
    values = np.concatenate([np.zeros((0, len(CRITERIA))), *(scores.values[which] for scores, which in selections)])
    scored = sum(int(scores.scored[which].sum()) for scores, which in selections)
    asked = sum(int(scores.asked[which].sum()) for scores, which in selections)
    values = values[~np.isnan(values[:, 0])]
    if not len(values):
        return (Cell(None, scored, asked),) * (len(CRITERIA) + 1)
    means = values.mean(axis=0)
    return tuple(Cell(float(mean), scored, asked) for mean in (*means, means.mean()))
