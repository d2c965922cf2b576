"""Finished JCQ runs: answers with their judgements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from data.jcq import CRITERIA, TASKS, Answer, Question, load_questions
from rewards.finished import Finished, GridScores, ScoredAnswer
from rewards.judges.judgement import Judgement, judgement_key, latest
from rewards.judges.ledger import read_judgements
from rewards.measure import Estimate, Measure
from rewards.tasks.jcq.files import read_answers
from rewards.tasks.jcq.rubric import JCQ_RUBRICS
from rewards.tasks.jcq.tables import ModelScores, model_scores

LEDGER = "judgements.jsonl"
# What was asked and answered, so that a run's folder can be read without the hub: in the form of nlp-waseda/JCQ-judge.
QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"


ALL, MEAN = "All", "mean"


class FinishedJcq(Finished):
    """Answers to JCQ with their judgements. The grid is that of the paper's Tables 8 to 10, row by row."""

    grid = tuple((task, criterion) for task in (*TASKS, ALL) for criterion in (*CRITERIA, MEAN))

    @property
    def scale(self) -> dict[str, Any]:
        """Judge, its prompt and parameters, and the questions."""
        return {name: self.settings.get(name) for name in ("judge", "questions_sha256")}

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What was asked."""
        return load_questions(self.folder / QUESTIONS, complete=False)

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Question's id -> what was asked."""
        return {question.id: question.question for question in self.questions}

    @cached_property
    def written(self) -> tuple[Answer, ...]:
        """What the model wrote."""
        return read_answers(self.folder / ANSWERS)

    @cached_property
    def judgements(self) -> tuple[Judgement | None, ...]:
        """What holds of each answer now; None where the judge was not asked."""
        judge = dict(self.settings["judge"])
        name, rubric = judge.pop("model"), judge.pop("prompt")
        by_key = latest(read_judgements(self.folder / LEDGER, tuple(JCQ_RUBRICS.values())))
        keys = [judgement_key(self.prompts[a.question_id], a.answer, name, rubric, judge) for a in self.written]
        return tuple(by_key.get(key) for key in keys)

    @cached_property
    def scores(self) -> ModelScores:
        """Question by question."""
        return model_scores(self.metrics["source"], self.questions, self.written, self.judgements)

    def answers(self) -> Iterator[ScoredAnswer]:
        """Every answer with its judgement's values."""
        task_of = {question.id: question.task for question in self.questions}
        for answer, judgement in zip(self.written, self.judgements, strict=True):
            values = answer_values(task_of[answer.question_id], judgement)
            reason = None if values else str(judgement.status) if judgement else "not_asked"
            yield ScoredAnswer(answer.id, answer.question_id, answer.answer, values, reason)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Question -> mean over its judged answers; of a measure of one task, that task's questions only."""
        task, criterion = task_and_criterion(measure)
        values = self.scores.values
        column = values.mean(axis=1) if criterion is None else values[:, CRITERIA.index(criterion)]
        return {
            question.id: None if math.isnan(value) else float(value)
            for question, value in zip(self.scores.questions, column, strict=True)
            if task in (None, question.task)
        }

    def counts(self, measure: Measure) -> tuple[int, int]:
        """Answers with scores, and all answers, to the questions of a measure."""
        task, _ = task_and_criterion(measure)
        places = [k for k, question in enumerate(self.scores.questions) if task in (None, question.task)]
        return int(self.scores.scored[places].sum()), int(self.scores.asked[places].sum())

    def estimate(self, measure: Measure) -> Estimate | None:
        """Mean and interval over questions of a criterion or of their mean, beside the number of answers."""
        stored = self.metrics.get("means", {}).get(measure.short)
        return (
            None if stored is None else Estimate(stored["mean"], stored["low"], stored["high"], *self.counts(measure))
        )

    def grid_means(self) -> Mapping[tuple[str, str], float | None]:
        """Means over the questions with scores."""
        scores, means = self.scores, dict[tuple[str, str], float | None]()
        for task in (*TASKS, ALL):
            of_task = np.array([task in (ALL, question.task) for question in scores.questions], bool)
            values = scores.values[(scores.scored > 0) & of_task]
            by_criterion = values.mean(axis=0) if len(values) else None
            row = [None] * 5 if by_criterion is None else [*by_criterion.tolist(), float(by_criterion.mean())]
            means |= {(task, name): mean for name, mean in zip((*CRITERIA, MEAN), row, strict=True)}
        return means

    def grid_scores(self) -> Iterator[GridScores]:
        """The judge's scores."""
        task_of = {question.id: question.task for question in self.questions}
        for answer, judgement in zip(self.written, self.judgements, strict=True):
            scores = judgement.scores if judgement and judgement.scores else {}
            yield GridScores(answer.id, answer.question_id, task_of[answer.question_id], scores)


def task_and_criterion(measure: Measure) -> tuple[str | None, str | None]:
    """Of which task and which criterion a measure is; None stands for all of them.

    >>> task_and_criterion(Measure("jcq/situation/fluency")), task_and_criterion(Measure("jcq/mean"))
    (('situation', 'fluency'), (None, None))
    """
    parts = measure.short.split("/")
    return next((p for p in parts if p in TASKS), None), next((p for p in parts if p in CRITERIA), None)


def answer_values(task: str, judgement: Judgement | None) -> dict[str, float]:
    """The values of one answer by the measures' names; none without scores."""
    if judgement is None or judgement.scores is None:
        return {}
    scores: dict[str, float] = {criterion: float(judgement.scores[criterion]) for criterion in CRITERIA}
    scores["mean"] = sum(scores.values()) / len(CRITERIA)
    values = {f"jcq/{name}": value for name, value in scores.items()}
    values[f"jcq/{task}"] = scores.pop("mean")
    return values | {f"jcq/{task}/{criterion}": value for criterion, value in scores.items()}
