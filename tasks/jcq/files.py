r"""The files of nlp-waseda/JCQ-judge, the benchmark authors' own tool, so that answers and judgements move both ways.

    data/test.jsonl                      {"id": 1, "task": "unusual uses", "question": "..."}
    data/answers/MODEL.jsonl             {"id": 1, "question_id": 1, "answer": "..."}
    data/judgements/JUDGE/MODEL.jsonl    {"answer_id": 1, "judgement": "流暢性: 4\n..."}

A judgement is the judge's raw reply. The files do not say which model, judge or settings; their names do, in part.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_objects, text_column, write_objects
from sozo.data.schema import ERROR, utf8_safe
from sozo.scoring.final_text import NOT_AT_HAND, Ending
from sozo.scoring.judges.ledger import Judgement, Ledger, judgement_key
from sozo.scoring.judges.protocol import Rubric, Status, ToJudge
from sozo.scoring.judges.run import Judging, answer_keys, judging_of
from sozo.tasks.jcq.rubric import JCQ_V1
from sozo.tasks.jcq.verdict import read_as_jcq_judge, write_verdict

if TYPE_CHECKING:
    from sozo.tasks.jcq.run_result import JcqRunResult

# How that tool asks: the paper's prompt, temperature 0, no limit on the reply.
PROMPT, PARAMETERS = JCQ_V1.name, {"temperature": 0.0, "max_tokens": None}
# What `eval run` calls the models of a training output.
_END = re.compile(r"checkpoint-\d+|final")


def export(data: Path, run: "JcqRunResult", judge: str, model: str) -> None:
    """Write a run as the tool keeps its `--data-dir`, so that it scores what is scored here, and nothing else.

    A judgement is the raw reply, where the tool reads it as we do; otherwise the scores as the prompt asks for them, or
    nothing for an answer without scores, which the tool then reports as unusable. An answer that was not asked about has
    none. `finish_reason` is a column of ours, for an answer that did not end well.
    """
    answers, judgements = [], []
    for answer in (answer for answer in run.scored if answer.reason != ERROR):
        text = answer.facts.get("judged", answer.text)
        if answer.state != NOT_AT_HAND:
            answers.append(
                {
                    "id": _theirs(answer.id),
                    "question_id": _theirs(answer.item),
                    "answer": text,
                }
            )
        if answer.state in (Ending.CUT, Ending.FILTERED, Ending.BADLY):
            answers[-1]["finish_reason"] = answer.state
        if "reply" in answer.facts:
            reply, scores = answer.facts["reply"] or "", run.scores_of(answer)
            if scores != read_as_jcq_judge(reply):
                reply = write_verdict(scores) if scores else ""
            judgements.append({"answer_id": _theirs(answer.id), "judgement": reply})
    asked = [
        {"id": _theirs(q["id"]), "task": q["task"], "question": q["question"]}
        for q in run.items.values()
    ]
    name = f"{_model_id(model)}.jsonl"
    write_objects(data / "test.jsonl", asked)
    write_objects(data / "answers" / name, answers)
    write_objects(data / "judgements" / _model_id(judge) / name, judgements)


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
            raise UserError(
                f"{where}: judges answer {answer_id!r}, which is not among the answers"
            )
        if answer_id in judgements:
            raise UserError(f"{where}: judges answer {answer_id!r} for the second time")
        answer = about[answer_id]
        # Null is what the judge's client hands over when the model refuses.
        refused = row.get("judgement", "") is None
        reply = None if refused else utf8_safe(text_column(row, "judgement", where))
        status, scores = rubric.judged(reply or "")
        key = judgement_key(answer.question, answer.answer, judge, PROMPT, PARAMETERS)
        judgements[answer_id] = Judgement(
            key, answer.question_id, answer_id, judge, PROMPT, status, scores, reply
        )
    return tuple(judgements.get(answer.id) for answer in answers)


def import_judgements(
    path: Path,
    judge: str,
    answers: Sequence[ToJudge],
    ledger: Path,
    rubric: Rubric = JCQ_V1,
) -> Judging:
    """Take the judgements of JCQ-judge's file into the ledger; an answer without one stays without.

    Of equal answers to one question, which share a judgement here, a judgement with scores holds before one without,
    and the last before the others: so those with scores are written last.
    """
    imported = read_jcq_judgements(path, judge, answers, rubric)
    keys = answer_keys(answers, judge, PROMPT, PARAMETERS)
    with Ledger(ledger, (rubric,)) as lines:
        known = {
            (line.key, line.answer_id) for line in lines.judgements
        }  # what an earlier call had written
        for judgement in sorted(
            filter(None, imported), key=lambda judgement: judgement.status is Status.OK
        ):
            if (judgement.key, judgement.answer_id) not in known:
                lines.append(judgement)
        return judging_of(lines.judgements, keys)


def _theirs(row_id: str) -> int | str:
    """The tool numbers questions and answers, and joins its tables by these columns."""
    return (
        int(row_id)
        if row_id.isascii() and row_id.isdecimal() and str(int(row_id)) == row_id
        else row_id
    )


def _model_id(model: str) -> str:
    parent, _, name = model.strip("/").removesuffix(".jsonl").rpartition("/")
    # A checkpoint's last part alone says nothing.
    return (
        f"{parent.rpartition('/')[2]}-{name}"
        if parent and _END.fullmatch(name)
        else name
    )
