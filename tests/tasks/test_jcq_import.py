"""Judgements that nlp-waseda/JCQ-judge made, in a run's folder: nobody is asked, and what is missing stays missing."""

import json
import os
import sys

import pytest

import warm
from model_server import server
from sozo.eval.evaluated import find_evaluated
from sozo.scoring.judges.protocol import Status
from sozo.scoring.judges.run import NOT_ASKED
from sozo.tasks.jcq.questions import trial_questions
from two_tasks import ROOT, VERDICT, both, evaluate

REFUSAL = "採点できません"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def theirs(tmp_path):
    """The tool's `data/`: one answer for each trial question, the last without a judgement, the first unparseable."""
    questions = trial_questions()
    answers = [
        {"id": k, "question_id": q.id, "answer": f"答え{k}"}
        for k, q in enumerate(questions, 1)
    ]
    judgements = [
        {"answer_id": row["id"], "judgement": REFUSAL if row["id"] == 1 else VERDICT}
        for row in answers
    ]
    write(tmp_path / "data" / "answers" / "m.jsonl", answers)
    write(tmp_path / "data" / "judgements" / "j" / "m.jsonl", judgements[:-1])
    return tmp_path / "data"


def bring_in(folder, *words):
    """`eval score jcq` on these files, without a key."""
    files = (
        "data/answers/m.jsonl",
        "--judgements",
        "data/judgements/j/m.jsonl",
        "--judge-model",
        "j",
    )
    command = [
        sys.executable,
        "-m",
        "sozo",
        "score",
        "jcq",
        *files,
        "--trial",
        "--output",
        "out",
        *words,
    ]
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OPENAI_")
    }
    variables["PYTHONPATH"] = str(ROOT / "src")
    return warm.run(command, cwd=folder, env=variables)


def test_judgements_that_the_tool_made_become_a_run(theirs, tmp_path):
    done = bring_in(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "33 of 35" in done.stdout
    statuses = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))[
        "statuses"
    ]
    assert {name: count for name, count in statuses.items() if count} == {
        "ok": 33,
        "unparseable": 1,
        "not_asked": 1,
    }
    run = find_evaluated([str(tmp_path / "out")])[0].run("jcq")
    assert [answer.reason for answer in run.scored] == [
        Status.UNPARSEABLE,
        *[None] * 33,
        NOT_ASKED,
    ]
    assert run.scored[0].facts["reply"] == REFUSAL
    assert run.counts(run.main) == (33, 35)
    # What goes back to the tool is what came from it.
    for path in ("answers/m.jsonl", "judgements/j/m.jsonl"):
        assert (tmp_path / "out" / "jcq-judge" / path).read_bytes() == (
            theirs / path
        ).read_bytes()
    assert "finished before" in bring_in(tmp_path).stdout
    # Cut off while it was writing: the same command writes the rest, and no line twice.
    ledger = tmp_path / "out" / "judgements.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:20]))
    (tmp_path / "out" / "metrics.json").unlink()
    assert bring_in(tmp_path).returncode == 0
    assert ledger.read_bytes() == whole


def test_equal_answers_share_the_judgement_that_has_scores(theirs, tmp_path):
    (question, *_) = trial_questions()
    write(
        theirs / "answers" / "m.jsonl",
        [{"id": k, "question_id": question.id, "answer": "同じ"} for k in (1, 2, 3)],
    )
    judgements = [
        {"answer_id": 1, "judgement": VERDICT},
        {"answer_id": 2, "judgement": REFUSAL},
    ]
    write(theirs / "judgements" / "j" / "m.jsonl", judgements)
    assert bring_in(tmp_path).returncode == 0
    run = find_evaluated([str(tmp_path / "out")])[0].run("jcq")
    assert [answer.reason for answer in run.scored] == [None] * 3
    assert len(rows_of(tmp_path / "out" / "judgements.jsonl")) == 2


def test_a_score_that_the_file_gives_an_answer_without_text_does_not_count(
    theirs, tmp_path
):
    path = theirs / "answers" / "m.jsonl"
    write(path, [{**row, "answer": "。"} for row in rows_of(path)[:2]])
    judgements = theirs / "judgements" / "j" / "m.jsonl"
    write(judgements, rows_of(judgements)[:2])
    done = bring_in(tmp_path)
    assert done.returncode == 0, done.stderr
    run = find_evaluated([str(tmp_path / "out")])[0].run("jcq")
    assert [answer.reason for answer in run.scored] == ["empty"] * 2
    assert "2 of 2 answers unusable: empty" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--retry-unjudged",), "--retry-unjudged is for a judge that is asked"),
        (
            ("--judge-prompt", "jcq-v1-guarded-2"),
            "--judge-prompt is for a judge that is asked",
        ),
        (
            ("--judgements", "no.jsonl"),
            "no.jsonl: cannot be read (No such file or directory); give",
        ),
    ],
)
def test_mistakes_are_one_line(theirs, tmp_path, words, message):
    done = bring_in(tmp_path, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_judgements_without_answers_and_another_judgement_file_are_refused(
    theirs, tmp_path
):
    # They are about answers that exist: only `score` takes them.
    done = evaluate(
        tmp_path,
        "run",
        "--tasks",
        "jcq",
        "--model",
        "tiny",
        "--trial",
        "--judgements",
        "x.jsonl",
        "--output",
        "out",
    )
    assert "No such option: --judgements" in done.stderr
    assert bring_in(tmp_path).returncode == 0
    path = theirs / "judgements" / "j" / "m.jsonl"
    path.write_text(path.read_text("utf-8").replace("流暢性: 4", "流暢性: 5"), "utf-8")
    assert "holds a run from before judgements changed" in bring_in(tmp_path).stderr


def test_a_run_writes_the_tools_files_and_again_after_a_second_try(tmp_path):
    answered = (
        "--base-url",
        "{}",
        "--judge-base-url",
        "{}",
        "--judge-model",
        "org/j",
        "--trial",
        "--output",
        "out",
    )
    with server(both) as (url, _):
        command = ["run", "--tasks", "jcq", "--model", "org/m"]
        command += [word.format(url) for word in answered]
        assert evaluate(tmp_path, *command).returncode == 0
    folder = tmp_path / "out" / "m" / "jcq" / "jcq-judge"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.jsonl")} == {
        "answers/m.jsonl",
        "judgements/j/m.jsonl",
        "test.jsonl",
    }
    assert rows_of(folder / "test.jsonl")[0].keys() == {"id", "task", "question"}
    assert [row["judgement"] for row in rows_of(folder / "judgements/j/m.jsonl")] == [
        "採点できません",
        *[VERDICT] * 34,
    ]
    assert len(rows_of(folder / "answers/m.jsonl")) == 35
    with server(lambda body: both({"messages": [{"content": "# 出力形式"}]})) as (
        other,
        _,
    ):
        command[command.index("--judge-base-url") + 1] = other
        refused = evaluate(tmp_path, *command, "--retry-unjudged")
        assert f'judge.server = "{url}", but now it is "{other}"' in refused.stderr
        # A server that moved judges on, if it is said to be the one that was there.
        moved = ("--judge-endpoint", f"{{server: '{url}'}}")
        assert evaluate(tmp_path, *command, *moved, "--retry-unjudged").returncode == 0
    assert [row["judgement"] for row in rows_of(folder / "judgements/j/m.jsonl")] == [
        VERDICT
    ] * 35


WRONG = {
    "another answer": lambda rows: [*rows, {"answer_id": 99, "judgement": VERDICT}],
    "twice": lambda rows: [*rows, rows[0]],
    "no id": lambda rows: [{"judgement": VERDICT}],
    "no reply": lambda rows: [{"answer_id": 1}],
}


@pytest.mark.parametrize("wrong", WRONG)
def test_after_a_wrong_file_the_right_one_is_taken(theirs, tmp_path, wrong):
    path = theirs / "judgements" / "j" / "m.jsonl"
    right = rows_of(path)
    write(path, WRONG[wrong](right))
    assert bring_in(tmp_path).returncode == 2
    assert not (tmp_path / "out").exists()
    write(path, right)
    done = bring_in(tmp_path)
    assert done.returncode == 0, done.stderr
