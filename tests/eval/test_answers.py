"""Answers to many items: each item's own, in order, resumed and shared without a difference."""

import json
from itertools import count

import pytest

from fakes import FakeJudge
from run_files import bytes_of, config_of
from sentences import refused
from sozo.data import parts
from sozo.data.errors import UserError
from sozo.data.jsonl import write_objects
from sozo.data.processes import Processes
from sozo.data.run_folder import unlock
from sozo.data.schema import Completion, write_columns
from sozo.eval import run
from sozo.eval.draw import SamplingOptions, draw_parts
from sozo.eval.run import read_answers, score_answers, score_parts
from sozo.scoring.measure import Measure
from sozo.tasks import Jcq, Sat, finished_run
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.task import JcqSettings
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.task import Item, Row, Task

ITEMS = [Item("a#1", "一"), Item("b", "二"), Item("c", "三")]


class KilledError(Exception):
    """The process ends here."""


class Asks(Task):
    """Three things; an answer is worth its length."""

    name = "asks"
    measures = (Measure("asks"),)

    def items(self):
        return ITEMS

    def score(self, items, answers):
        return [Row({"asks": float(len(answer.text))}) for answer in answers]


class Echo:
    """Answers with the prompt, its place, seed and batch; fails when told to."""

    name, temperature = "echo", 1.0

    def __init__(self, fails_at=None):
        self.fails_at, self.asked = fails_at, []

    def answer(self, prompts, seed, batch):
        if batch == self.fails_at:
            raise UserError("the server is gone")
        self.asked.append(batch)
        return [
            Completion(f"{p} {seed} {batch} {k}", "stop") for k, p in enumerate(prompts)
        ]


def draw(writer, folder, batch_size, seed=0, processes=None):
    sampling = SamplingOptions(answers_per_item=2, seed=seed, batch_size=batch_size)
    draw_parts(Asks(), ITEMS, writer, sampling, folder, processes or Processes())


def test_every_item_gets_its_answers_in_order(tmp_path):
    draw(Echo(), tmp_path, 4, seed=7)
    answers = [
        (a.id, a.item, a.text, a.source, a.seed, a.finish_reason)
        for a in read_answers(Asks(), tmp_path, None)
    ]
    texts = ["一 7 0 0", "一 7 0 1", "二 7 0 2", "二 7 0 3", "三 7 1 0", "三 7 1 1"]
    ids = ["a#1-0", "a#1-1", "b-0", "b-1", "c-0", "c-1"]
    items = ["a#1", "a#1", "b", "b", "c", "c"]
    assert answers == [
        (i, item, t, "echo", 7, "stop")
        for i, item, t in zip(ids, items, texts, strict=True)
    ]


def test_a_run_that_failed_continues_and_processes_share(tmp_path):
    draw(Echo(), tmp_path / "whole", 2)
    with pytest.raises(UserError):
        draw(Echo(fails_at=2), tmp_path / "broken", 2)
    again = Echo()
    draw(again, tmp_path / "broken", 2)
    assert again.asked == [2]
    for rank in range(2):
        draw(Echo(), tmp_path / "shared", 2, processes=Processes(rank, 2))
    assert (
        bytes_of(tmp_path / "whole")
        == bytes_of(tmp_path / "broken")
        == bytes_of(tmp_path / "shared")
    )


def test_the_answers_of_another_table_are_refused(tmp_path):
    columns = {"id": ["x-0"], "item": ["x"], "source": ["s"], "text": ["t"]}
    write_columns(tmp_path / "part-00000.parquet", columns)
    with refused("answers: of another task"):
        read_answers(Asks(), tmp_path, None)


def killing(call, at):
    """The same function, which ends the process before its call number `at`, from 0."""
    counter = count()

    def run(*args, **how):
        if next(counter) == at:
            raise KilledError
        return call(*args, **how)

    return run


def stories_file(path):
    texts = [f"{k}番目の町で、亀の代わりに車を助けた若者の話。" for k in range(25)]
    stories = [story.id for story in load_stories()][:25]
    write_objects(
        path,
        [
            {"item": item, "text": text}
            for item, text in zip(stories, texts, strict=True)
        ],
    )
    return path


def test_scoring_that_is_killed_between_two_parts_scores_the_rest_only(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(score_parts.__kwdefaults__, "part_rows", 10)
    file = stories_file(tmp_path / "f.jsonl")
    whole = score_answers(Sat(), file, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(parts, "write_columns", killing(write_columns, 2))
        with pytest.raises(KilledError):
            score_answers(Sat(), file, tmp_path / "killed")
    unlock(tmp_path / "killed")  # as the end of a process does
    assert sorted(bytes_of(tmp_path / "killed" / "answers")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    task, scored = Sat(), []
    monkeypatch.setattr(
        task,
        "score",
        lambda items, answers: (
            scored.append(len(answers)) or Sat.score(task, items, answers)
        ),
    )
    again = score_answers(task, file, tmp_path / "killed")
    assert scored == [5]
    assert again.metrics == whole.metrics
    assert bytes_of(tmp_path / "killed" / "answers") == bytes_of(
        tmp_path / "whole" / "answers"
    )


VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"


def judged_by(reply, folder):
    """The trial's answers judged into a folder by a judge that replies so."""
    task = Jcq(JcqSettings(judge_model="j", trial=True))
    task.judge = FakeJudge(reply, name="j", concurrency=1)
    file = folder.parent / "jcq.jsonl"
    rows = [
        {"id": k, "question_id": q.id, "answer": f"答え{k}。"}
        for k, q in enumerate(trial_questions(), 1)
    ]
    write_objects(file, rows)
    return score_answers(task, file, folder, source="m"), len(task.judge.asked)


def test_judging_that_is_killed_between_two_judgements_asks_the_rest_only(tmp_path):
    whole, asked = judged_by(lambda _: VERDICT, tmp_path / "whole")
    assert asked == 35
    with pytest.raises(KilledError):
        judged_by(killing(lambda _: VERDICT, 12), tmp_path / "killed")
    unlock(tmp_path / "killed")
    assert (
        len((tmp_path / "killed" / "judgements.jsonl").read_text("utf-8").splitlines())
        == 12
    )
    again, asked = judged_by(lambda _: VERDICT, tmp_path / "killed")
    assert (asked, again.metrics) == (23, whole.metrics)
    assert bytes_of(tmp_path / "killed" / "answers") == bytes_of(
        tmp_path / "whole" / "answers"
    )


def test_judgements_that_were_half_written_into_the_table_are_written_again_and_nobody_is_asked(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(score_parts.__kwdefaults__, "part_rows", 10)
    whole, _ = judged_by(lambda _: VERDICT, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(run, "write_columns", killing(write_columns, 2))
        with pytest.raises(KilledError):
            judged_by(lambda _: VERDICT, tmp_path / "killed")
    unlock(tmp_path / "killed")
    assert not (tmp_path / "killed" / "metrics.json").exists()
    again, asked = judged_by(lambda _: VERDICT, tmp_path / "killed")
    assert (asked, again.metrics) == (0, whole.metrics)
    assert bytes_of(tmp_path / "killed" / "answers") == bytes_of(
        tmp_path / "whole" / "answers"
    )


def test_verdicts_are_scored_without_the_answers_that_they_are_about(tmp_path):
    questions = trial_questions()
    rows = [
        {"answer_id": q.id, "judgement": VERDICT if k else "採点できません"}
        for k, q in enumerate(questions)
    ]
    write_objects(tmp_path / "j.jsonl", rows)
    asking = Jcq(JcqSettings(trial=True, judge_model="j"))
    asking.judge = FakeJudge(lambda _: VERDICT, name="j")
    with refused("jcq: judgements for answers"):
        score_answers(asking, tmp_path / "j.jsonl", tmp_path / "x")
    assert asking.judge.asked == []
    task = Jcq(
        JcqSettings(trial=True, judge_model="j", judgements=str(tmp_path / "j.jsonl"))
    )
    run = score_answers(task, tmp_path / "j.jsonl", tmp_path / "run", source="m")
    assert run.metrics["measures"]["jcq/fluency"]["value"] == 4
    assert (run.metrics["usable"], run.metrics["num_answers"]) == (34, 35)
    # Of what nobody has nobody says how it ended.
    assert sum(run.metrics["states"].values()) == 0
    assert run.result.estimate(Measure("jcq/complete", share=True)).value is None
    assert (tmp_path / "run" / "jcq-judge" / "answers" / "m.jsonl").read_bytes() == b""


def test_a_folder_of_another_version_is_refused_in_one_line(tmp_path):
    run, _ = judged_by(lambda _: VERDICT, tmp_path / "run")
    config = config_of(run.folder)
    config |= {"format": 2}
    (run.folder / "config.json").write_text(json.dumps(config), "utf-8")
    for look in (
        lambda: finished_run(run.folder),
        lambda: judged_by(lambda _: VERDICT, run.folder),
    ):
        with refused("run folder: another's config.json"):
            look()
    # What was paid for is not lost: a copy of the ledger in a new folder is read.
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "judgements.jsonl").write_bytes(
        (run.folder / "judgements.jsonl").read_bytes()
    )
    assert judged_by(lambda _: VERDICT, tmp_path / "new")[1] == 0
