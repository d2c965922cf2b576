"""Finished runs as the commands leave them, made without a model, for what reads them."""

import json

import numpy as np

from fakes import FakeJudge
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


def dat_run(folder, source, seed, n=40, bad=4):
    """`n` lists of random common nouns, of which the first `bad` lack a line."""
    from sozo.data.jumandic import load_nouns

    nouns, random, rows = load_nouns(), np.random.default_rng(seed), []
    for k in range(n):
        words = [
            nouns[i]
            for i in random.choice(len(nouns), 9 if k < bad else 10, replace=False)
        ]
        rows.append(
            {"text": "\n".join(f"{i}. {word}" for i, word in enumerate(words, 1))}
        )
    file = write(folder.with_suffix(".texts"), rows)
    score_answers(
        Dat(DatSettings(noun_checker="jumandic")), file, folder, source=source
    )
