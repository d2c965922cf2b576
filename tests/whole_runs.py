"""Finished runs as the commands leave them, made without a model or a judge, for what reads them."""

import json
from dataclasses import asdict

import numpy as np
from eval.commands import score_responses
from rewards.tasks.jcq.run import ANSWERS, LEDGER, QUESTIONS, summarise_jcq
from rewards.tasks.sat.run import score_file

from data.jcq import CRITERIA, Answer, content_hash, trial_questions, write_questions
from data.run_folder import RunFolder
from data.stories import load_stories
from rewards.judges import Judging
from rewards.judges.judgement import Judgement, judgement_key
from rewards.judges.ledger import Ledger
from rewards.judges.options import JudgeSettings
from rewards.judges.protocol import Status
from rewards.tasks.dat.scorer import ScorerSettings
from rewards.tasks.jcq.files import write_answers

VERDICT = "流暢性: {}\n柔軟性: {}\n独創性: {}\n精緻性: {}"


def jcq_run(folder, source, answer, score, questions=None, judge="judge-a"):
    """`answer(question)` is the text; `score(question)` the four scores, or None for a refusal."""
    questions = trial_questions() if questions is None else questions
    options = JudgeSettings(judge_model=judge)
    parameters = {"temperature": 0.0, "max_tokens": options.judge_max_tokens}
    settings = {
        "task": "jcq",
        "questions_sha256": content_hash(questions),
        "num_questions": len(questions),
        "judge": {"model": judge, "prompt": options.judge_prompt, **parameters},
        "source": source,
    }
    answers = tuple(Answer(f"{q.id}-0", q.id, answer(q)) for q in questions)
    run = RunFolder(folder, settings)
    run.start({}, {})
    write_questions(folder / QUESTIONS, questions)
    write_answers(folder / ANSWERS, answers)
    lines = []
    with Ledger(folder / LEDGER, ()) as ledger:
        for question, given in zip(questions, answers, strict=True):
            values = score(question)
            lines.append(
                Judgement(
                    judgement_key(question.question, given.answer, judge, options.judge_prompt, parameters),
                    question.id,
                    given.id,
                    judge,
                    options.judge_prompt,
                    Status.REFUSED if values is None else Status.OK,
                    None if values is None else dict(zip(CRITERIA, values, strict=True)),
                    "採点できません" if values is None else VERDICT.format(*values),
                )
            )
            ledger.append(lines[-1])
    judged = Judging(tuple(lines), len(lines), 0, 0, 0.0, 0, 0.0)
    run.finish(asdict(summarise_jcq(source, options, questions, answers, judged)))


def sat_run(folder, source, rewrite, embedding=None):
    """`rewrite(story)` is the text."""
    rows = [{"story_id": story.id, "text": rewrite(story)} for story in load_stories()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.with_suffix(".rewrites")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    score_file(file, folder, source=source)


def dat_run(folder, source, seed, n=40, bad=4):
    """`n` lists of random common nouns, of which the first `bad` lack a line."""
    from data.nouns import load_nouns

    nouns, random = load_nouns(), np.random.default_rng(seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.with_suffix(".texts")
    with file.open("w") as lines:
        for k in range(n):
            words = [nouns[i] for i in random.choice(len(nouns), 9 if k < bad else 10, replace=False)]
            text = "\n".join(f"{i}. {word}" for i, word in enumerate(words, 1))
            lines.write(json.dumps({"text": text}) + "\n")
    score_responses(file, folder, ScorerSettings("jumandic"), source=source)
