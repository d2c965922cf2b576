"""Finished runs' folders, written without a model or a judge, with the scores that a test wants."""

from sozo.data.prompts import fill, prompt
from sozo.data.run_folder import RunFolder
from sozo.data.schema import write_columns
from sozo.eval.run import write_items
from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import Status, ToJudge
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.jcq.questions import CRITERIA, TASKS, Question, content_hash
from sozo.tasks.jcq.task import Jcq, JcqSettings, judged_row
from sozo.tasks.sat.compliance import Compliance
from sozo.tasks.sat.stories import Story, stories_digest
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer, Complete, Item, Row, known_columns

QUESTION_OF_TASK = [
    Question(f"{k}", task, f"問い{k}番") for k, task in enumerate(TASKS, 1)
]
SCORES = {"embedding_model": "ja-ginza", "embedding_revision": "1"}
JUDGE = {"model": "j", "prompt": "jcq-v1", "temperature": 0.0, "max_tokens": 1024}


def dat_run(path, source, mean, *, usable=100, scorer=SCORES):
    folder = RunFolder(path, {"task": "dat", "num_usable": usable, "seed": 0})
    folder.start({"scorer": scorer}, {})
    folder.finish(
        DatSummary(
            source, usable + 2, usable, mean, 0.01, None, 90, {"format": 3}
        ).metrics()
        | {"trials": usable}
    )
    return path


def write_run(folder, task, items, answers, rows):
    """The table of answers with what they are worth, and the items."""
    write_items(folder, items)
    write_columns(
        folder / "answers" / "part-00000.parquet",
        known_columns(answers) | task.worth_columns(rows),
    )


def sat_items(stories):
    return [
        Item(
            s.id,
            fill(prompt("sat"), story=s.text),
            {"story": s.text},
            s.title,
            s.origin,
        )
        for s in stories
    ]


def sat_run(path, source, scores, *, scorer=SCORES, stories=None, texts=None):
    """`scores`: story id -> score, None for a rewrite without one; `texts`: story id -> what was written."""
    stories, task = (
        stories or [Story(name, "", "", "", f"{name}の話") for name in scores],
        Sat(),
    )
    answers, rows = [], []
    for name, score in scores.items():
        text = (
            (texts or {}).get(name, f"{source}の{name}の話")
            if score is not None
            else ""
        )
        answers.append(Answer(f"{name}-0", name, text, source))
        own = Compliance(len(text), True, (), None).values
        rows.append(Row(own, "empty") if score is None else Row({**own, "sat": score}))
    folder = RunFolder(
        path,
        {"task": "sat", "source": source, "stories_sha256": stories_digest(stories)},
    )
    folder.start({"scorer": scorer}, {})
    write_run(path, task, sat_items(stories), answers, rows)
    folder.finish(task.finish(Complete(path, source)))
    return path


def jcq_run(path, source, scores, *, judge=JUDGE, questions=QUESTION_OF_TASK):
    """`scores`: question id -> a list of what each answer to it got: four numbers, or None for an unparseable reply."""
    settings = {
        "questions_sha256": content_hash(questions),
        "num_questions": len(questions),
        "judge": judge,
    }
    folder = RunFolder(path, {"task": "jcq", **settings})
    folder.start({}, {})
    asked = {question.id: question for question in questions}
    answers, rows = [], []
    for name, given in scores.items():
        for k, values in enumerate(given):
            answers.append(Answer(f"{name}-{k}", name, f"{source}の{k}番の答え"))
            named = dict(zip(CRITERIA, values, strict=True)) if values else None
            status = Status.OK if values else Status.UNPARSEABLE
            question = asked[name]
            to_judge = ToJudge(
                answers[-1].id, name, question.question, answers[-1].text, question.task
            )
            line = Judgement(
                "",
                name,
                answers[-1].id,
                judge["model"],
                judge["prompt"],
                status,
                named,
                "",
            )
            rows.append(judged_row(answers[-1], to_judge, line))
    items = [
        Item(q.id, q.question, {"question": q.question, "task": q.task}, group=q.task)
        for q in questions
    ]
    write_run(path, Jcq(JcqSettings()), items, answers, rows)
    folder.finish(
        {
            "source": source,
            "num_items": len(questions),
            "judge": judge["model"],
            "prompt": judge["prompt"],
        }
    )
    return path
