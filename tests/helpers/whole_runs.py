"""Finished runs as the commands leave them, made without a model, for what reads them."""

import json

import numpy as np

from fakes import FakeJudge, list_text
from run_files import change_config
from sozo.eval.run import score_answers
from sozo.scoring.endpoint.client import Reply
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.task import Jcq, JcqSettings
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.sat.task import Sat

VERDICT = "流暢性: {}\n柔軟性: {}\n独創性: {}\n精緻性: {}"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def jcq_run(folder, source, answer, score, judge="judge-a"):
    """`answer(question)` is the text; `score(question)` the four scores, or None for a refusal."""
    questions = trial_questions()

    def reply(prompt):
        question = next(
            question for question in questions if question.question in prompt
        )
        scores = score(question)
        return (
            Reply("採点できません", refused=True)
            if scores is None
            else VERDICT.format(*scores)
        )

    rows = [
        {"id": f"{q.id}-0", "question_id": q.id, "answer": answer(q)} for q in questions
    ]
    task = Jcq(JcqSettings(judge_model=judge, trial=True))
    task.judge = FakeJudge(reply, name=judge, max_tokens=1024)
    score_answers(
        task, write(folder.with_suffix(".answers"), rows), folder, source=source
    )


def sat_run(folder, source, rewrite):
    """`rewrite(story)` is the text."""
    rows = [{"story_id": story.id, "text": rewrite(story)} for story in load_stories()]
    score_answers(
        Sat(), write(folder.with_suffix(".rewrites"), rows), folder, source=source
    )


def lists_run(folder, source, lists, **settings):
    """DAT of these lists of words; `settings` are as if whoever wrote them had been asked so."""
    rows = [{"text": list_text(words)} for words in lists]
    file = write(folder.with_suffix(".texts"), rows)
    score_answers(
        Dat(DatSettings(noun_checker="jumandic")), file, folder, source=source
    )
    if settings:
        change_config(folder, "settings", **settings)


def dat_run(folder, source, seed, n=40, bad=4):
    """`n` lists of random common nouns, of which the first `bad` lack a line."""
    from sozo.data.jumandic import load_nouns

    nouns, random = load_nouns(), np.random.default_rng(seed)
    sizes = [9 if k < bad else 10 for k in range(n)]
    drawn = [random.choice(len(nouns), size, replace=False) for size in sizes]
    lists_run(folder, source, [[nouns[i] for i in rows] for rows in drawn])
