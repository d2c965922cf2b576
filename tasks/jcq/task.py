"""Japanese Creativity Questions (paper, section 3.1): open questions whose answers a judge scores by four criteria."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.schema import ERROR
from sozo.data.settings import rare_setting, setting
from sozo.scoring.final_text import NOT_AT_HAND, judged_part, no_answer
from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import JudgeSettings, Rubric, ToJudge
from sozo.scoring.judges.run import NOT_ASKED, Judging
from sozo.tasks.held_out import refuse
from sozo.tasks.jcq.files import PARAMETERS, PROMPT, export, import_judgements
from sozo.tasks.jcq.questions import (
    CRITERIA,
    TASKS,
    Question,
    content_hash,
    load_questions,
    trial_questions,
)
from sozo.tasks.jcq.rubric import JCQ_RUBRICS, READERS
from sozo.tasks.jcq.run_result import ALL, MEAN, JcqRunResult, measure_of
from sozo.tasks.jcq.view import JcqView
from sozo.tasks.judged import JudgedTask
from sozo.tasks.task import Answer, Complete, Item, Row


@dataclass(frozen=True)
class JcqJudgeSettings(JudgeSettings):
    """Who judges, by which prompt, and how its replies are read."""

    judge_prompt: str = rare_setting(
        "jcq-v1",
        "jcq-v1 (the paper's) or jcq-v1-guarded-2 (against answers that address the judge).",
    )
    verdicts: str = rare_setting(
        "strict",
        "strict (scores alone), or jcq-judge (what first looks like scores, as in the papers).",
    )


@dataclass(frozen=True)
class JcqSettings(JcqJudgeSettings):
    """Which questions are asked, and who judges the answers."""

    trial: bool = setting(
        False,
        "Ask sozo's own 35 trial questions: offline, and not the benchmark.",
        affects_result=False,
    )
    questions: str | None = setting(
        None,
        "JSONL file, or a hub dataset (default: nlp-waseda/JCQ, split test).",
        affects_result=False,
    )
    questions_revision: str | None = rare_setting(
        None,
        "Hub revision of the questions; their content is checked in any case.",
        affects_result=False,
    )
    any_questions: bool = rare_setting(
        False,
        "Take questions that are not the 700 of the benchmark; no JCQ score.",
        affects_result=False,
    )
    judgements: str | None = setting(
        None,
        "Of answers that exist (score): what JCQ-judge had --judge-model say about them, JSONL. Nobody is asked.",
        affects_result=False,
    )


class Jcq(JudgedTask):
    """The 700 questions of nlp-waseda/JCQ, or others of the same seven tasks."""

    name = "jcq"
    title = "Japanese Creativity Questions"
    Settings = JcqSettings
    measures = (
        *(measure_of(ALL, name) for name in (MEAN, *CRITERIA)),
        *(measure_of(task, MEAN) for task in TASKS),
        *(measure_of(task, criterion) for task in TASKS for criterion in CRITERIA),
    )
    max_new_tokens = 4096  # as nlp-waseda/JCQ-judge has them answered
    rubrics = tuple(JCQ_RUBRICS.values())
    result_type = JcqRunResult
    view = JcqView()
    settings: JcqSettings

    def __init__(self, settings: JcqSettings | None = None) -> None:
        super().__init__(settings)
        if self.settings.judgements:
            self.judge_settings = None

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What is asked."""
        settings = self.settings
        if not settings.trial:
            return load_questions(
                settings.questions,
                settings.questions_revision,
                complete=not settings.any_questions,
            )
        if settings.questions:
            raise UserError("give either --trial or --questions, not both")
        return trial_questions()

    def items(self) -> Sequence[Item]:
        columns = ("question", "task")
        return [
            Item(q.id, q.question, {c: getattr(q, c) for c in columns}, group=q.task)
            for q in self.questions
        ]

    @property
    def asked_by(self) -> tuple[Rubric, ...]:
        """The paper's, or the guarded one."""
        settings = self.settings
        rubric = JCQ_RUBRICS[settings.judge_prompt]
        return (replace(rubric, read=READERS[settings.verdicts]),)

    def deciding(self) -> dict[str, Any]:
        """The content of questions and judgements, too, and all of the judge that decides a reply."""
        known = {"questions_sha256": content_hash(self.questions)}
        settings = super().deciding()
        if self.settings.verdicts not in READERS:
            raise UserError(
                f"verdicts must be one of {', '.join(READERS)}, not {self.settings.verdicts}"
            )
        if self.settings.judgements:
            return known | self._imported(self.settings.judgements) | settings
        prompt, judge = self.settings.judge_prompt, self.known_judge
        if prompt not in JCQ_RUBRICS:
            raise UserError(
                f"judge_prompt must be one of {', '.join(JCQ_RUBRICS)}, not {prompt}"
            )
        asked = {"model": judge.name, "prompt": prompt, **judge.parameters}
        return known | {"judge": asked} | settings

    def _imported(self, judgements: str) -> dict[str, Any]:
        """What decides the judgements where they come from JCQ-judge's file, and nobody is asked."""
        settings = self.settings
        of_asking = {field.name for field in fields(JudgeSettings)} - {
            "judge_model"
        } | {"judge_prompt"}
        for field in fields(settings):
            if (
                field.name in of_asking
                and getattr(settings, field.name) != field.default
            ):
                raise UserError(
                    f"--{field.name.replace('_', '-')} is for a judge that is asked, not for --judgements"
                )
        try:
            digest = hashlib.sha256(Path(judgements).read_bytes()).hexdigest()
        except OSError as error:
            remedy = "give JCQ-judge's file of judgements"
            raise UserError(
                f"{judgements}: cannot be read ({error.strerror}); {remedy}"
            ) from error
        return {
            "judge": {"model": settings.judge_model, "prompt": PROMPT, **PARAMETERS},
            "judgements_sha256": digest,
        }

    def judged(
        self, items: Sequence[Item], answers: Sequence[Answer], ledger: Path
    ) -> tuple[list[Row], Judging]:
        """A file's answers are judged as they are, a model's without its reasoning; nobody is shown one without text."""
        settings, to_judge = self.settings, list[ToJudge]()
        if not settings.judgements and any(
            answer.finish_reason == NOT_AT_HAND for answer in answers
        ):
            raise UserError(
                "the file holds judgements and no answers; give it as --judgements too, and who judged"
            )
        unusable = dict[str, Row]()
        for item, answer in zip(items, answers, strict=True):
            text = answer.text if answer.seed is None else judged_part(answer.text)
            # Which no text is, so that its judgement is of no other answer
            if answer.finish_reason == NOT_AT_HAND:
                text = f"{NOT_AT_HAND}: {answer.id}"
            if why := no_answer(answer):
                facts = {} if why == ERROR else {"judged": text}
                unusable[answer.id] = Row(reason=why, facts=facts)
                # Else its file has a judgement of it, which must find its answer.
                if why == ERROR or not settings.judgements:
                    continue
            to_judge.append(
                ToJudge(answer.id, item.id, item.columns["question"], text, item.group)
            )
        (rubric,) = self.asked_by
        if settings.judgements:
            judging = import_judgements(
                Path(settings.judgements),
                settings.judge_model,
                to_judge,
                ledger,
                rubric,
            )
        else:
            judging = self.session.judge_answers(rubric, to_judge, ledger)
        known = {
            asked.id: (asked, line)
            for asked, line in zip(to_judge, judging.judgements, strict=True)
        }
        return [
            unusable.get(answer.id) or judged_row(answer, *known[answer.id])
            for answer in answers
        ], judging

    def finish(self, run: Complete) -> dict[str, Any]:
        """The row of Tables 3 and 4, and what was judged how; the run as nlp-waseda/JCQ-judge keeps its data, too."""
        finished: JcqRunResult = self.written(run.folder)
        metrics, tool = super().finish(run), run.folder / "jcq-judge"
        # A second try that stops early leaves a judgement of every answer: what an earlier one finished still holds.
        if tool.exists() or not (run.judging and run.judging.stopped):
            export(tool, finished, self.settings.judge_model, run.source)
        return metrics | {
            "scored_items": sum(
                mean is not None for mean in finished.by_item(self.measures[0]).values()
            ),
            # Zeros too, which a curve needs.
            "reasons": dict.fromkeys((ERROR, "refusal", "filtered", "no_text"), 0)
            | metrics["reasons"],
            "judged_by": finished.judged_by(),
            "length": finished.length_and_score(),
            "with_prose": finished.with_prose(),
        }

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The 700 questions of the benchmark, whoever wrote the prompt around them; the 35 trial questions are none."""
        refuse(items, held_out(), "questions of the JCQ benchmark")


@cache
def held_out() -> frozenset[str]:
    """Fingerprints of the questions of nlp-waseda/JCQ, split test: who trains on them measures nothing with them."""
    return frozenset(
        files(__package__).joinpath("held_out.txt").read_text("ascii").split()
    )


def judged_row(answer: Answer, asked: ToJudge, judgement: Judgement | None) -> Row:
    """An answer with its scores and their mean, by criterion and by the question's task."""
    facts = {} if asked.answer == answer.text else {"judged": asked.answer}
    if judgement is None:
        return Row(reason=NOT_ASKED, facts=facts)
    facts |= {
        name: getattr(judgement, name)
        for name in ("reply", "reply_model", "fingerprint")
    }
    if judgement.scores is None:
        return Row(reason=str(judgement.status), facts=facts)
    scores = {criterion: float(judgement.scores[criterion]) for criterion in CRITERIA}
    scores[MEAN] = sum(scores.values()) / len(CRITERIA)
    values = {
        measure_of(kind, name).name: score
        for kind in (ALL, asked.group)
        for name, score in scores.items()
    }
    return Row(values, facts=facts)
