r"""The files of nlp-waseda/JCQ-judge, the benchmark authors' own tool, so that answers and judgements move both ways.

    data/test.jsonl                      {"id": 1, "task": "unusual uses", "question": "..."}
    data/answers/MODEL.jsonl             {"id": 1, "question_id": 1, "answer": "..."}
    data/judgements/JUDGE/MODEL.jsonl    {"answer_id": 1, "judgement": "流暢性: 4\n..."}

A judgement is the judge's raw reply. The files do not say which model, judge or settings; their names do, in part.
"""

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_objects, read_records, text_column, write_objects
from sozo.data.schema import utf8_safe
from sozo.scoring.final_text import Ending, ending
from sozo.scoring.judges.ledger import Judgement, Ledger, judgement_key
from sozo.scoring.judges.protocol import Rubric, Status, ToJudge
from sozo.scoring.judges.run import Judging, answer_keys, judging_of
from sozo.tasks.jcq.questions import Question
from sozo.tasks.jcq.rubric import JCQ_V1
from sozo.tasks.jcq.verdict import read_as_jcq_judge, write_verdict
from sozo.tasks.task import Answer

# How that tool asks: the paper's prompt, temperature 0, no limit on the reply.
PROMPT, PARAMETERS = JCQ_V1.name, {"temperature": 0.0, "max_tokens": None}
# What `eval run` calls the models of a training output.
_END = re.compile(r"checkpoint-\d+|final")


def answers_path(data: Path, model: str) -> Path:
    """Where the tool keeps a model's answers; of a hub id or a path, the last part names the model.

    >>> answers_path(Path("data"), "Qwen/Qwen2.5-7B-Instruct").as_posix()
    'data/answers/Qwen2.5-7B-Instruct.jsonl'
    """
    return data / "answers" / f"{_model_id(model)}.jsonl"


def judgements_path(data: Path, judge: str, model: str) -> Path:
    """Where the tool keeps a judge's replies about a model's answers."""
    return data / "judgements" / _model_id(judge) / f"{_model_id(model)}.jsonl"


def read_answers(path: Path, source: str = "") -> tuple[Answer, ...]:
    """A file of answers. Without `id` (the tool's first version), answers are numbered in order, from 1.

    `finish_reason` is a column of ours: how an answer ended, where that was not well.
    """
    numbers = count(1)

    def answer(where: str, row: dict[str, Any]) -> Answer:
        row_id, question = id_column(row, "id", where, str(next(numbers))), id_column(row, "question_id", where)
        text, reason = (
            utf8_safe(text_column(row, "answer", where)),
            text_column(row, "finish_reason", where, "") or None,
        )
        return Answer(utf8_safe(row_id), utf8_safe(question), text, source, finish_reason=reason)

    return read_records(path, answer, "answers", '{"id": 1, "question_id": 1, "answer": "..."}')


def write_answers(path: Path, answers: Sequence[Answer]) -> None:
    """Write a file of answers, whole or not at all, with `finish_reason` where one did not end well."""
    rows = []
    for a in answers:
        rows.append({"id": _theirs(a.id), "question_id": _theirs(a.item), "answer": utf8_safe(a.text)})
        if ending(a.finish_reason) is not Ending.WELL:
            rows[-1]["finish_reason"] = utf8_safe(str(a.finish_reason))
    write_objects(path, rows)


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write the questions as the tool keeps them beside answers and judgements."""
    write_objects(path, [{"id": _theirs(q.id), "task": q.task, "question": q.question} for q in questions])


def read_jcq_judgements(
    path: Path, judge: str, answers: Sequence[ToJudge], rubric: Rubric = JCQ_V1
) -> tuple[Judgement | None, ...]:
    """A file of judgements, one for each answer, in the order of the answers; None where the file has none.

    Their keys are those of `EndpointJudge(judge, max_tokens=None)` and the prompt `jcq-v1`, which is how the tool asks.
    """
    about = {answer.id: answer for answer in answers}
    judgements: dict[str, Judgement] = {}
    for where, row in read_objects(path):
        answer_id = utf8_safe(id_column(row, "answer_id", where))
        if answer_id not in about:
            raise UserError(f"{where}: judges answer {answer_id!r}, which is not among the answers")
        if answer_id in judgements:
            raise UserError(f"{where}: judges answer {answer_id!r} for the second time")
        answer = about[answer_id]
        # Null is what the judge's client hands over when the model refuses.
        refused = row.get("judgement", "") is None
        reply = None if refused else utf8_safe(text_column(row, "judgement", where))
        status, scores = rubric.judged(reply or "")
        key = judgement_key(answer.question, answer.answer, judge, PROMPT, PARAMETERS)
        judgements[answer_id] = Judgement(key, answer.question_id, answer_id, judge, PROMPT, status, scores, reply)
    return tuple(judgements.get(answer.id) for answer in answers)


def import_judgements(
    path: Path, judge: str, answers: Sequence[ToJudge], ledger: Path, rubric: Rubric = JCQ_V1
) -> Judging:
    """Take the judgements of JCQ-judge's file into the ledger; an answer without one stays without.

    Of equal answers to one question, which share a judgement here, a judgement with scores holds before one without,
    and the last before the others: so those with scores are written last.
    """
    imported = read_jcq_judgements(path, judge, answers, rubric)
    keys = answer_keys(answers, judge, PROMPT, PARAMETERS)
    with Ledger(ledger, (rubric,)) as lines:
        known = {(line.key, line.answer_id) for line in lines.judgements}  # what an earlier call had written
        for judgement in sorted(filter(None, imported), key=lambda judgement: judgement.status is Status.OK):
            if (judgement.key, judgement.answer_id) not in known:
                lines.append(judgement)
        return judging_of(lines.judgements, keys)


def write_jcq_judgements(path: Path, answers: Sequence[Answer], judgements: Sequence[Judgement | None]) -> None:
    """Write a file of judgements, so that the tool scores what is scored here, and nothing else.

    The raw reply, where the tool reads it as we do; otherwise the scores as the prompt asks for them, or nothing for
    an answer without scores, which the tool then reports as invalid. An answer that was not asked is left out.
    """
    rows = []
    for answer, judgement in zip(answers, judgements, strict=True):
        if judgement is not None:
            reply = judgement.reply or ""
            if judgement.scores != read_as_jcq_judge(reply):
                reply = write_verdict(judgement.scores) if judgement.scores else ""
            rows.append({"answer_id": _theirs(answer.id), "judgement": utf8_safe(reply)})
    write_objects(path, rows)


def _theirs(row_id: str) -> int | str:
    """The tool numbers questions and answers, and joins its tables by these columns."""
    return int(row_id) if row_id.isascii() and row_id.isdecimal() and str(int(row_id)) == row_id else row_id


def _model_id(model: str) -> str:
    parent, _, name = model.strip("/").removesuffix(".jsonl").rpartition("/")
    # A checkpoint's last part alone says nothing.
    return f"{parent.rpartition('/')[2]}-{name}" if parent and _END.fullmatch(name) else name
