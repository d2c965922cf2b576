"""Finished runs' folders, without a model: the library of tests, of the freeze and of printed commands.

`given_TASK` writes a folder with the scores that a test wants. `TASK_run` scores answers as `sozo score` does, and leaves
what it leaves; the judge is a function.
"""

import json

import numpy as np

from fakes import FakeJudge, list_text
from run_files import change_config
from sozo.data.nouns import tiny_nouns
from sozo.data.prompts import fill, prompt
from sozo.data.run_folder import RunFolder
from sozo.data.schema import write_columns
from sozo.eval.run import score_answers, write_items
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.ledger import Judgement
from sozo.scoring.judges.protocol import Status, ToJudge
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import (
    CRITERIA,
    TASKS,
    Question,
    content_hash,
    trial_questions,
)
from sozo.tasks.jcq.task import Jcq, JcqSettings, judged_row
from sozo.tasks.sat.compliance import Compliance
from sozo.tasks.sat.stories import Story, load_stories, stories_digest
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer, Complete, Item, Row, known_columns

QUESTION_OF_TASK = [
    Question(f"{k}", task, f"問い{k}番") for k, task in enumerate(TASKS, 1)
]
SCORES = {"embedding_model": "ja-ginza", "embedding_revision": "1"}
JUDGE = {"model": "j", "prompt": "jcq-v1", "temperature": 0.0, "max_tokens": 1024}


def given_dat(path, source, mean, *, usable=100, scorer=SCORES):
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
        known_columns(answers) | task.score_columns(rows),
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


def given_sat(path, source, scores, *, scorer=SCORES, stories=None, texts=None):
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


def given_jcq(path, source, scores, *, judge=JUDGE, questions=QUESTION_OF_TASK):
    """`scores`: question id -> a list of what each answer to it got: four numbers, or None for an unparseable reply."""
    settings = {
        "questions_sha256": content_hash(questions),
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


# Scored


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def scored(task, folder, source, rows, trained_on=None):
    """A finished run of these answers; `trained_on`: the model was trained, for these tasks."""
    file = write(folder.with_suffix(".answers"), rows)
    run = score_answers(task, file, folder, source=source)
    if trained_on is not None:
        change_config(folder, "loaded", model_trained=True, trained_on=list(trained_on))
    return run


def judged_run(
    folder, source, rows, reply, judge="judge-a", trained_on=None, **settings
):
    """JCQ's, by a judge that says `reply(prompt)`."""
    task = Jcq(JcqSettings(judge_model=judge, **settings))
    task.judge = FakeJudge(reply, name=judge, max_tokens=1024)
    return scored(task, folder, source, rows, trained_on)


VERDICT = "流暢性: {}\n柔軟性: {}\n独創性: {}\n精緻性: {}"


def jcq_run(folder, source, answer, score, judge="judge-a"):
    """`answer(question)` is the text; `score(question)` the four scores, or None for a refusal."""
    questions = trial_questions()

    def reply(prompt):
        scores = score(next(q for q in questions if q.question in prompt))
        if scores is None:
            return Reply("採点できません", refused=True)
        return VERDICT.format(*scores)

    rows = [
        {"id": f"{q.id}-0", "question_id": q.id, "answer": answer(q)} for q in questions
    ]
    judged_run(folder, source, rows, reply, judge, trial=True)


def sat_run(folder, source, rewrite):
    """`rewrite(story)` is the text."""
    rows = [{"story_id": story.id, "text": rewrite(story)} for story in load_stories()]
    scored(Sat(), folder, source, rows)


def lists_run(folder, source, lists, **settings):
    """DAT of these lists of words; `settings` are as if whoever wrote them had been asked so."""
    task = Dat(DatSettings(noun_checker="jumandic"))
    scored(task, folder, source, [{"text": list_text(words)} for words in lists])
    if settings:
        change_config(folder, "settings", **settings)


def dat_run(folder, source, seed, n=40, bad=4):
    """`n` lists of random common nouns, of which the first `bad` lack a line."""
    nouns, random = tiny_nouns(), np.random.default_rng(seed)
    sizes = [9 if k < bad else 10 for k in range(n)]
    drawn = [random.choice(len(nouns), size, replace=False) for size in sizes]
    lists_run(folder, source, [[nouns[i] for i in rows] for rows in drawn])
