"""Finished runs' folders, written without a model or a judge, with the scores that a test wants."""

import json
from dataclasses import asdict

from sozo.data.jsonl import write_records
from sozo.data.record import write_json
from sozo.data.run_folder import RunFolder
from sozo.scoring.judges.ledger import Judgement, judgement_key
from sozo.scoring.judges.protocol import Status
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.jcq.files import write_answers
from sozo.tasks.jcq.finished import ANSWERS, LEDGER, QUESTIONS
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question, content_hash
from sozo.tasks.sat.finished import ROWS, STORIES, FinishedSat, stories_digest
from sozo.tasks.sat.stories import Rewrite, Story, write_rewrites
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer

QUESTION_OF_TASK = [Question(f"{k}", task, f"問い{k}番") for k, task in enumerate(TASKS, 1)]
SCORES = {"embedding_model": "ja-ginza", "embedding_revision": "1"}
JUDGE = {"model": "j", "prompt": "jcq-v1", "temperature": 0.0, "max_tokens": 1024}


def dat_run(path, source, mean, *, valid=100, scorer=SCORES):
    folder = RunFolder(path, {"task": "dat", "trials": valid, "seed": 0})
    folder.start({"scorer": scorer}, {})
    folder.finish(DatSummary(source, valid + 2, valid, mean, 0.01, None, 90, {"format": 2}).metrics())
    return path


def sat_run(path, source, scores, *, scorer=SCORES, stories=None, texts=None):
    """`scores`: story id -> score, None for a rewrite without one; `texts`: story id -> what was written."""
    stories = stories or [Story(name, "", "", "", f"{name}の話") for name in scores]
    rows = [
        Rewrite(f"{name}-0", name, (texts or {}).get(name, f"{source}の{name}の話"), source, score=score)
        if score is not None
        else Rewrite(f"{name}-0", name, "", source, reason="empty")
        for name, score in scores.items()
    ]
    rows = [Rewrite(**{**asdict(row), "length": len(row.text), "one_line": True, "extras": ()}) for row in rows]
    folder = RunFolder(path, {"task": "sat", "source": source, "stories_sha256": stories_digest(stories)})
    folder.start({"scorer": scorer}, {})
    write_records(path / STORIES, stories)
    write_rewrites(path / ROWS, rows)
    folder.finish(FinishedSat("sat", Sat.measures[0], path, {}, {}, {}).summary(source))
    return path


def jcq_run(path, source, scores, *, judge=JUDGE, questions=QUESTION_OF_TASK):
    """`scores`: question id -> a list of what each answer to it got: four numbers, or None for an unparseable reply."""
    settings = {"questions_sha256": content_hash(questions), "num_questions": len(questions), "judge": judge}
    folder = RunFolder(path, {"task": "jcq", **settings})
    folder.start({}, {})
    asked = {question.id: question.question for question in questions}
    parameters = {name: value for name, value in judge.items() if name not in ("model", "prompt")}
    answers, lines = [], []
    for question, given in scores.items():
        for k, values in enumerate(given):
            answer = Answer(f"{question}-{k}", question, f"{source}の{k}番の答え")
            key = judgement_key(asked[question], answer.text, judge["model"], judge["prompt"], parameters)
            named = dict(zip(CRITERIA, values, strict=True)) if values else None
            status = Status.OK if values else Status.UNPARSEABLE
            answers.append(answer)
            lines.append(Judgement(key, question, answer.id, judge["model"], judge["prompt"], status, named))
    write_records(path / QUESTIONS, questions)
    write_answers(path / ANSWERS, answers)
    (path / LEDGER).write_text("".join(json.dumps(asdict(line)) + "\n" for line in lines), "utf-8")
    write_json(path / "metrics.json", {"source": source, "judge": judge["model"], "prompt": judge["prompt"]})
    return path
