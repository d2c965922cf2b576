"""Japanese Creativity Questions (paper, section 3.1): open questions whose answers a judge scores by four criteria."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import first_object, write_records
from sozo.data.schema import FAILED, never_came
from sozo.data.settings import setting
from sozo.scoring.final_text import judged_part
from sozo.scoring.judges.protocol import JudgeSettings, ToJudge
from sozo.scoring.judges.run import Judging
from sozo.scoring.measure import Measure
from sozo.tasks.held_out import refuse
from sozo.tasks.jcq.files import (
    PARAMETERS,
    PROMPT,
    answers_path,
    import_judgements,
    judgements_path,
    read_answers,
    write_answers,
    write_jcq_judgements,
    write_questions,
)
from sozo.tasks.jcq.finished import ANSWERS, QUESTIONS, FinishedJcq
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question, content_hash, load_questions, trial_questions
from sozo.tasks.jcq.rubric import JCQ_RUBRICS, READERS
from sozo.tasks.jcq.view import JcqView
from sozo.tasks.judged import LEDGER, JudgedTask
from sozo.tasks.task import Answer, Complete, Item, Outcome


@dataclass(frozen=True)
class JcqSettings(JudgeSettings):
    """Which questions are asked, and who judges the answers."""

    questions: str | None = setting(
        None, "JSONL file or folder, or a hub dataset (default: nlp-waseda/JCQ, split test)."
    )
    questions_revision: str | None = setting(
        None, "Hub revision of the questions; their content is checked in any case."
    )
    any_questions: bool = setting(False, "Take questions that are not the 700 of the benchmark; no JCQ score.")
    trial: bool = setting(False, "Ask sozo's own 35 trial questions: offline, and not the benchmark.")
    judge_prompt: str = setting(
        "jcq-v1", "jcq-v1 (the paper's) or jcq-v1-guarded (against answers that address the judge)."
    )
    verdicts: str = setting(
        "strict",
        "strict (scores alone), or jcq-judge (what first looks like scores, as in the papers).",
    )
    judgements: str | None = setting(
        None, "Of answers that exist (score): what JCQ-judge had --judge-model say about them, JSONL. Nobody is asked."
    )


_OVERALL = tuple(Measure(f"jcq/{name}", 2, scale=(1, 5)) for name in ("mean", *CRITERIA))


class Jcq(JudgedTask):
    """The 700 questions of nlp-waseda/JCQ, or others of the same seven tasks."""

    name = "jcq"
    title = "Japanese Creativity Questions"
    Settings = JcqSettings
    measures = (
        *_OVERALL,
        *(Measure(f"jcq/{task}", 2, scale=(1, 5)) for task in TASKS),
        *(Measure(f"jcq/{task}/{name}", 2, compared=False, scale=(1, 5)) for task in TASKS for name in CRITERIA),
    )
    max_new_tokens = 4096  # as nlp-waseda/JCQ-judge has them answered
    rubrics = tuple(JCQ_RUBRICS.values())
    Finished = FinishedJcq
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
            return load_questions(settings.questions, settings.questions_revision, complete=not settings.any_questions)
        if settings.questions:
            raise UserError("give either --trial or --questions, not both")
        return trial_questions()

    def items(self) -> Sequence[Item]:
        return [Item(q.id, q.question, {"question": q.question, "task": q.task}) for q in self.questions]

    def deciding(self) -> dict[str, Any]:
        """The questions' content, and what the judgements' keys are made of."""
        questions = {"questions_sha256": content_hash(self.questions), "num_questions": len(self.questions)}
        if self.settings.verdicts not in READERS:
            raise UserError(f"verdicts must be one of {', '.join(READERS)}, not {self.settings.verdicts}")
        questions["verdicts"] = self.settings.verdicts
        if self.settings.judgements:
            return questions | self._imported(self.settings.judgements)
        prompt, judge = self.settings.judge_prompt, self.known_judge
        if prompt not in JCQ_RUBRICS:
            raise UserError(f"judge_prompt must be one of {', '.join(JCQ_RUBRICS)}, not {prompt}")
        return questions | {"judge": {"model": judge.name, "prompt": prompt, **judge.parameters}}

    def _imported(self, judgements: str) -> dict[str, Any]:
        """What decides the judgements where they come from JCQ-judge's file, and nobody is asked."""
        settings = self.settings
        of_asking = {field.name for field in fields(JudgeSettings)} - {"judge_model"} | {"judge_prompt"}
        for field in fields(settings):
            if field.name in of_asking and getattr(settings, field.name) != field.default:
                raise UserError(f"--{field.name.replace('_', '-')} is for a judge that is asked, not for --judgements")
        try:
            digest = hashlib.sha256(Path(judgements).read_bytes()).hexdigest()
        except OSError as error:
            remedy = "give JCQ-judge's file of judgements"
            raise UserError(f"{judgements}: cannot be read ({error.strerror}); {remedy}") from error
        return {"judge": {"model": settings.judge_model, "prompt": PROMPT, **PARAMETERS}, "judgements_sha256": digest}

    def read_answers(self, path: Path, source: str | None) -> Sequence[Answer]:
        """Answers in the form of nlp-waseda/JCQ-judge, or a file of any task's; they are judged as they are."""
        if "question_id" in first_object(path):
            return read_answers(path, source or str(path))
        return list(super().read_answers(path, source))

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
        came = [answer for answer in answers if not never_came(answer)]
        judged = self._judge(came, run.folder / LEDGER)
        source, tool = run.source or "", run.folder / "jcq-judge"
        # The questions, answers and judgements once more, as nlp-waseda/JCQ-judge keeps its `data/`. A second try that
        # stops early leaves a judgement of every answer: what an earlier one finished still holds.
        if judged.stopped is None or tool.exists():
            write_questions(tool / "test.jsonl", self.questions)
            write_answers(answers_path(tool, source), came)
            path = judgements_path(tool, self.settings.judge_model, source)
            write_jcq_judgements(path, came, judged.judgements)
        return Outcome(self._metrics(run, source, judged), judged.stopped)

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """The 700 questions of the benchmark, whoever wrote the prompt around them; the 35 trial questions are none."""
        texts = (text for item in items for text in (item.prompt, str(item.columns.get("question", ""))))
        refuse(texts, held_out(), "questions of the JCQ benchmark")

    def _judge(self, answers: Sequence[Answer], ledger: Path) -> Judging:
        settings, to_judge = self.settings, answers_to_judge(self.questions, answers)
        rubric = replace(JCQ_RUBRICS[settings.judge_prompt], read=READERS[settings.verdicts])
        if settings.judgements:
            return import_judgements(Path(settings.judgements), settings.judge_model, to_judge, ledger, rubric)
        return self.session.judge_answers(rubric, to_judge, ledger)

    def _metrics(self, run: Complete, source: str, judged: Judging) -> dict[str, Any]:
        finished: FinishedJcq = self.written(run.folder)
        of_questions = finished.by_item(self.measures[0]).values()
        return {
            "source": source,
            "judge": self.settings.judge_model,
            "prompt": self.settings.judge_prompt,
            "num_items": len(of_questions),
            "scored_items": sum(mean is not None for mean in of_questions),
            "num_answers": len(finished.written),
            "valid": judged.statuses["ok"],
            "reasons": {status: n for status, n in judged.statuses.items() if status != "ok"}
            | {FAILED: sum(map(never_came, finished.written))},
            "measures": {measure.name: asdict(finished.estimate(measure)) for measure in _OVERALL},
            "judged_by": finished.judged_by(),
            "answer_states": finished.answer_states(),
            "length": finished.length_and_score(),
            "with_prose": finished.with_prose(),
            "read_otherwise": finished.read_otherwise(),
            **judged.to_json(),
        }


@cache
def held_out() -> frozenset[str]:
    """Fingerprints of the questions of nlp-waseda/JCQ, split test: who trains on them measures nothing with them."""
    return frozenset(files(__package__).joinpath("held_out.txt").read_text("ascii").split())


def answers_to_judge(questions: Iterable[Question], answers: Sequence[Answer]) -> list[ToJudge]:
    """Each answer with its question."""
    by_id = {question.id: question for question in questions}
    for answer in answers:
        if answer.item not in by_id:
            raise UserError(f"answer {answer.id!r} is to question {answer.item!r}, which is not among the questions")
    pairs = [(answer, by_id[answer.item]) for answer in answers]
    return [
        ToJudge(answer.id, answer.item, question.question, answer.text, question.task) for answer, question in pairs
    ]
