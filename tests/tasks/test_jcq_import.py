"""Judgements that nlp-waseda/JCQ-judge made, in a run's folder: nobody is asked, and what is missing stays missing."""

import json

import pytest
from typer.testing import CliRunner

from model_server import server
from sentences import says
from sozo.eval.cli import make_app
from sozo.eval.evaluated import find_evaluated
from sozo.scoring.judges.protocol import Status
from sozo.scoring.judges.run import NOT_ASKED
from sozo.tasks.jcq.questions import trial_questions
from two_tasks import VERDICT, both, evaluate

REFUSAL = "採点できません"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )


def rows_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def theirs(tmp_path, monkeypatch):
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
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path / "data"


def bring_in(*words, exit_code=0):
    """What `sozo score jcq` on these files prints, without a key."""
    files = ["data/answers/m.jsonl", "--judgements", "data/judgements/j/m.jsonl"]
    command = ["score", "jcq", *files, "--judge-model", "j", "--trial"]
    done = CliRunner().invoke(make_app(), [*command, "--output", "out", *words])
    assert done.exit_code == exit_code, done.output
    return done.stderr if exit_code else " ".join(done.stdout.split())


def test_judgements_that_the_tool_made_become_a_run(theirs, tmp_path):
    assert "33 of 35" in bring_in()
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
    assert "finished before" in bring_in()
    # Cut off while it was writing: the same command writes the rest, and no line twice.
    ledger = tmp_path / "out" / "judgements.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:20]))
    (tmp_path / "out" / "metrics.json").unlink()
    bring_in()
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
    bring_in()
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
    bring_in()
    run = find_evaluated([str(tmp_path / "out")])[0].run("jcq")
    assert [answer.reason for answer in run.scored] == ["no_text"] * 2


@pytest.mark.parametrize(
    ("said", "words"),
    {
        "jcq: retries where nobody is asked": ("--retry-unjudged",),
        "jcq: a prompt where nobody is asked": ("--judge-prompt", "jcq-v1-guarded-2"),
        "jcq: no file of judgements": ("--judgements", "no.jsonl"),
    }.items(),
)
def test_what_does_not_fit_judgements_of_a_file_is_refused(said, words, theirs):
    assert says(said, bring_in(*words, exit_code=2))
    assert not (theirs.parent / "out").exists()


def test_another_judgement_file_is_refused(theirs):
    bring_in()
    path = theirs / "judgements" / "j" / "m.jsonl"
    path.write_text(path.read_text("utf-8").replace("流暢性: 4", "流暢性: 5"), "utf-8")
    assert says("jcq: other judgements", bring_in(exit_code=2))


def test_a_run_writes_the_tools_files(tmp_path):
    with server(both) as (url, _):
        command = ["run", "--tasks", "jcq", "--model", "org/m", "--base-url", url]
        command += ["--judge-model", "org/j", "--trial", "--output", "out"]
        command += ["--judge-base-url"]
        assert evaluate(tmp_path, *command, url).returncode == 0
    folder = tmp_path / "out" / "m" / "jcq" / "jcq-judge"
    answers, judged = folder / "answers/m.jsonl", folder / "judgements/j/m.jsonl"
    assert {*folder.rglob("*.jsonl")} == {answers, judged, folder / "test.jsonl"}
    assert rows_of(folder / "test.jsonl")[0].keys() == {"id", "task", "question"}
    assert len(rows_of(answers)) == 35
    verdicts = [row["judgement"] for row in rows_of(judged)]
    assert verdicts == [REFUSAL, *[VERDICT] * 34]
    with server(both) as (other, _):
        command += [other, "--retry-unjudged"]
        assert says("jcq: another server", evaluate(tmp_path, *command).stderr)
