"""Finished JCQ runs: answers with their judgements."""

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from sozo.scoring.judges.ledger import Judgement, judgement_key, latest, read_judgements
from sozo.scoring.measure import Measure
from sozo.tasks.finished import Finished, ScoredAnswer
from sozo.tasks.jcq.files import read_answers
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question, load_questions
from sozo.tasks.jcq.rubric import JCQ_RUBRICS
from sozo.tasks.jcq.tables import ModelScores, means, model_scores
from sozo.tasks.task import Answer

LEDGER = "judgements.jsonl"
# What was asked and answered, so that a run's folder can be read without the hub: in the form of nlp-waseda/JCQ-judge.
QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"
ALL, MEAN = "All", "mean"


class FinishedJcq(Finished):
    """Answers to JCQ with their judgements. The grid is that of the paper's Tables 8 to 10, row by row."""

    grid = tuple((task, criterion) for task in (*TASKS, ALL) for criterion in (*CRITERIA, MEAN))

    @property
    def scale(self) -> dict[str, Any]:
        # A verdict that was not cut does not depend on the limit, and one that was has no scores.
        judge = {name: v for name, v in self.settings["judge"].items() if name not in ("max_tokens", "server")}
        return {"judge": judge, "questions_sha256": self.settings.get("questions_sha256")}

    @property
    def servers(self) -> dict[str, Any]:
        """Where the judge is, and what replied. Judgements that were brought in do not say."""
        models = sorted({line.reply_model for line in self.judgements if line and line.reply_model})
        known = {"the judge's server": self.settings["judge"].get("server"), "what judged": ", ".join(models)}
        return {name: value for name, value in known.items() if value}

    @cached_property
    def questions(self) -> dict[str, Question]:
        """What was asked, by id."""
        return {question.id: question for question in load_questions(self.folder / QUESTIONS, complete=False)}

    @cached_property
    def prompts(self) -> dict[str, str]:
        return {name: question.question for name, question in self.questions.items()}

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
        keys = [judgement_key(self.prompts[a.item], a.text, name, rubric, judge) for a in self.written]
        return tuple(by_key.get(key) for key in keys)

    @cached_property
    def scores(self) -> ModelScores:
        """Question by question."""
        return model_scores(tuple(self.questions.values()), self.written, self.judgements)

    def answers(self) -> Iterator[ScoredAnswer]:
        for answer, judgement in zip(self.written, self.judgements, strict=True):
            task, values = self.questions[answer.item].task, dict[str, float]()
            if judgement and judgement.scores:
                scores = {criterion: float(judgement.scores[criterion]) for criterion in CRITERIA}
                mean = sum(scores.values()) / len(CRITERIA)
                values = {f"jcq/{name}": value for name, value in (scores | {MEAN: mean}).items()}
                values |= {f"jcq/{task}": mean} | {f"jcq/{task}/{name}": value for name, value in scores.items()}
            reason = None if values else str(judgement.status) if judgement else "not_asked"
            yield ScoredAnswer(answer.id, answer.item, answer.text, values, reason, task)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Question -> mean over its judged answers; of a measure of one task, that task's questions only."""
        (task, criterion), values = task_and_criterion(measure), self.scores.values
        column = values.mean(axis=1) if criterion is None else values[:, CRITERIA.index(criterion)]
        return {
            question.id: None if math.isnan(value) else float(value)
            for question, value in zip(self.scores.questions, column, strict=True)
            if task in (None, question.task)
        }

    def counts(self, measure: Measure) -> tuple[int, int]:
        cell = means([self.scores], task_and_criterion(measure)[0])[-1]
        return cell.scored, cell.asked

    def grid_means(self) -> Mapping[tuple[str, str], float | None]:
        rows = [means([self.scores], None if task == ALL else task) for task in (*TASKS, ALL)]
        return dict(zip(self.grid, (cell.mean for row in rows for cell in row), strict=True))


def task_and_criterion(measure: Measure) -> tuple[str | None, str | None]:
    """Of which task and which criterion a measure is; None stands for all of them.

    >>> task_and_criterion(Measure("jcq/situation/fluency")), task_and_criterion(Measure("jcq/mean"))
    (('situation', 'fluency'), (None, None))
    """
    parts = measure.short.split("/")
    return next((p for p in parts if p in TASKS), None), next((p for p in parts if p in CRITERIA), None)
