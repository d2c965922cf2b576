"""Japanese Creativity Questions (paper, section 3.1): open questions whose answers a judge scores by four criteria."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import write_records
from sozo.scoring.final_text import judged_part
from sozo.scoring.judges.protocol import Asked
from sozo.scoring.judges.run import Judging, judge_with_bar
from sozo.scoring.measure import Measure
from sozo.tasks.held_out import refuse
from sozo.tasks.jcq.files import (
    answers_path,
    judgements_path,
    read_answers,
    write_answers,
    write_jcq_judgements,
    write_questions,
)
from sozo.tasks.jcq.finished import ANSWERS, LEDGER, QUESTIONS, FinishedJcq
from sozo.tasks.jcq.judging import JcqSettings, import_judgements, judging_settings
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question, content_hash, load_questions, trial_questions
from sozo.tasks.jcq.rubric import JCQ_RUBRICS
from sozo.tasks.jcq.tables import answer_states, judged_by, length_and_score, means, model_scores
from sozo.tasks.jcq.view import JcqView
from sozo.tasks.task import Answer, Complete, Item, Outcome, Task


class Jcq(Task):
    """The 700 questions of nlp-waseda/JCQ, or others of the same seven tasks."""

    name = "jcq"
    title = "Japanese Creativity Questions"
    Settings = JcqSettings
    measures = (
        Measure("jcq/mean", 2),
        *(Measure(f"jcq/{criterion}", 2) for criterion in CRITERIA),
        *(Measure(f"jcq/{task}", 2, group="task_changes") for task in TASKS),
        *(Measure(f"jcq/{task}/{criterion}", 2, group=None) for task in TASKS for criterion in CRITERIA),
    )
    max_new_tokens = 4096  # as nlp-waseda/JCQ-judge has them answered
    scores_parts = False
    rubrics = tuple(JCQ_RUBRICS.values())
    Finished = FinishedJcq
    view = JcqView()
    settings: JcqSettings

    def __init__(self, settings: JcqSettings | None = None) -> None:
        super().__init__(settings)
        self.judge_settings = None if self.settings.judgements else self.settings
        self.again = self.settings.retry_failed or self.settings.reparse
        self._left = self.settings.max_cost  # of the budget, which is for all models of a command together

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What is asked."""
        settings = self.settings
        if not settings.trial:
            return load_questions(settings.questions, settings.questions_revision, complete=not settings.any_questions)
        if settings.questions:
            raise UserError("give either --trial or --questions, not both")
        return trial_questions()

    def items(self) -> Sequence[Item]:
        return [Item(q.id, q.question, {"question": q.question, "task": q.task}) for q in self.questions]

    def deciding(self) -> dict[str, Any]:
        """The questions' content, and what the judgements' keys are made of."""
        questions = {"questions_sha256": content_hash(self.questions), "num_questions": len(self.questions)}
        return questions | judging_settings(self.settings, self.judge)

    def facts(self) -> dict[str, Any]:
        return self.settings.facts(self.judge)

    def read_answers(self, path: Path, source: str | None) -> Sequence[Answer]:
        """Answers in the form of nlp-waseda/JCQ-judge; they are judged as they are."""
        return read_answers(path, source or str(path))

    def finish(self, run: Complete) -> Outcome:
        """Have the answers judged, as far as the ledger lacks judgements; the row of Tables 3 and 4."""
        # A file's answers are judged as they are, a model's without its reasoning. JCQ-judge's ids have no `#`.
        texts = [a.text if a.seed is None else judged_part(a.text) for a in run.answers]
        answers = [
            Answer(a.id.replace("#", "-"), a.item, t, finish_reason=a.finish_reason)
            for a, t in zip(run.answers, texts, strict=True)
        ]
        write_records(run.folder / QUESTIONS, self.questions)
        write_answers(run.folder / ANSWERS, answers)
        judged = self._judge(answers, run.folder / LEDGER)
        source, tool = run.source or "", run.folder / "jcq-judge"
        # The questions, answers and judgements once more, as nlp-waseda/JCQ-judge keeps its `data/`. A second try that
        # stops early leaves a judgement of every answer: what an earlier one finished still holds.
        if judged.stopped is None or tool.exists():
            write_questions(tool / "test.jsonl", self.questions)
            write_answers(answers_path(tool, source), answers)
            path = judgements_path(tool, self.settings.judge_model, source)
            write_jcq_judgements(path, answers, judged.judgements)
        return Outcome(self._metrics(run, source, answers, judged), judged.stopped)

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The 700 questions of the benchmark, whoever wrote the prompt around them; the 35 trial questions are none."""
        texts = (text for item in items for text in (item.prompt, str(item.columns.get("question", ""))))
        refuse(texts, held_out(), "questions of the JCQ benchmark")

    def _judge(self, answers: Sequence[Answer], ledger: Path) -> Judging:
        settings, judge, asked = self.settings, self.judge, asked_of(self.questions, answers)
        if settings.judgements:
            return import_judgements(settings, asked, ledger)
        assert judge is not None  # `deciding` has refused to begin without one
        judged = judge_with_bar(judge, JCQ_RUBRICS[settings.judge_prompt], asked, ledger, settings, self._left)
        if self._left is not None:
            self._left = max(0.0, self._left - judged.cost_at_most)
        return judged

    def _metrics(self, run: Complete, source: str, answers: Sequence[Answer], judged: Judging) -> dict[str, Any]:
        scores = model_scores(self.questions, answers, judged.judgements)
        values = scores.values[scores.scored > 0]
        columns = dict(zip(CRITERIA, values.T, strict=True)) | {"mean": values.mean(axis=1)}
        by_task = [asdict(means([scores], task)[-1]) for task in (*TASKS, None)]
        return {
            "source": source,
            "judge": self.settings.judge_model,
            "prompt": self.settings.judge_prompt,
            "num_questions": len(scores.questions),
            "statuses": judged.statuses,
            "judged_by": judged_by(judged.judgements),
            "answer_states": answer_states(answers),
            "length": length_and_score(answers, judged.judgements),
            "means": {name: run.interval(column) for name, column in columns.items()},
            "by_task": {"rows": [source], "columns": [*TASKS, "mean"], "cells": [by_task]},
            "prompt_tokens": judged.prompt_tokens,
            "completion_tokens": judged.completion_tokens,
            "cost": round(judged.cost, 9),  # the order of arrival shows in the last digits
            "unknown_cost": judged.unknown_cost,
            "cost_at_most": round(judged.cost_at_most, 9),
        }


@cache
def held_out() -> frozenset[str]:
    """Fingerprints of the questions of nlp-waseda/JCQ, split test: who trains on them measures nothing with them."""
    return frozenset(files(__package__).joinpath("held_out.txt").read_text("ascii").split())


def asked_of(questions: Iterable[Question], answers: Sequence[Answer]) -> list[Asked]:
    """Each answer with its question."""
    by_id = {question.id: question for question in questions}
    for answer in answers:
        if answer.item not in by_id:
            raise UserError(f"answer {answer.id!r} is to question {answer.item!r}, which is not among the questions")
    pairs = [(answer, by_id[answer.item]) for answer in answers]
    return [Asked(answer.id, answer.item, question.question, answer.text, question.task) for answer, question in pairs]
