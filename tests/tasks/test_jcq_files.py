"""Answers and judgements in the form of the benchmark authors' own tool."""

import json
from dataclasses import replace

import pytest

from finished_runs import write_run
from sentences import refused
from sozo.data.jsonl import write_objects
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.ledger import Judgement, judgement_key
from sozo.scoring.judges.protocol import Status, ToJudge
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.jcq.files import export, read_jcq_judgements
from sozo.tasks.jcq.questions import Question
from sozo.tasks.jcq.run_result import JcqRunResult
from sozo.tasks.jcq.task import Jcq, judged_row
from sozo.tasks.task import Answer, Item

VERDICT = "流暢性: 4  \n柔軟性: 3  \n独創性: 2  \n精緻性: 5"
SCORES = {"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}
QUESTIONS = [Question("1", "situation", "?"), Question("2", "situation", "??")]
ANSWERS = (
    Answer("1", "1", "答え\n「一」\u2028"),
    Answer("2", "1", ""),
    Answer("3", "2", "三"),
)
ASKED = [
    ToJudge(a.id, a.item, QUESTIONS[int(a.item) - 1].question, a.text, "situation")
    for a in ANSWERS
]


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def judged(status, reply, scores=None):
    return Judgement("k", "1", "1", "judge", "jcq-v1", status, scores, reply)


def exported(folder, answers, judgements):
    """The files of answers and of judgements that a run of these becomes."""
    task = Jcq(Jcq.Settings(judgements="x"))
    asked = {
        question.id: ToJudge("", question.id, question.question, "", "situation")
        for question in QUESTIONS
    }
    rows = [
        judged_row(a, replace(asked[a.item], answer=a.text), j)
        for a, j in zip(answers, judgements, strict=True)
    ]
    items = [
        Item(q.id, q.question, {"question": q.question, "task": q.task}, group=q.task)
        for q in QUESTIONS
    ]
    write_run(folder, task, items, answers, rows)
    export(
        folder / "data",
        JcqRunResult("jcq", Jcq.measures[0], folder, {}, {}, {}),
        "org/j",
        "org/m",
    )
    return (
        folder / "data" / "answers" / "m.jsonl",
        folder / "data" / "judgements" / "j" / "m.jsonl",
    )


def test_answers_there_and_back(tmp_path):
    path, _ = exported(tmp_path, ANSWERS, [None] * 3)
    assert lines(path)[0] == {"id": 1, "question_id": 1, "answer": "答え\n「一」\u2028"}
    assert tuple(read_answers_file(path)) == ANSWERS
    others = [Answer("x", "1", "..."), Answer("07", "2", "案…", finish_reason="length")]
    path, _ = exported(tmp_path / "b", others, [None] * 2)
    assert [(row["id"], row["question_id"]) for row in lines(path)] == [
        ("x", 1),
        ("07", 2),
    ]
    assert [row.get("finish_reason") for row in lines(path)] == [None, "cut"]


def test_what_is_missing_and_what_was_refused(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_text('{"answer_id": 3, "judgement": null}\n')
    first, second, third = read_jcq_judgements(path, "gpt-4o", ASKED)
    assert first is second is None
    assert (third.status, third.reply) == (Status.UNPARSEABLE, None)


def test_the_tool_scores_what_we_score_and_nothing_else(tmp_path):
    laxer = f"前置き\n{VERDICT}\n{VERDICT}"  # their pattern takes the first verdict
    judgements = [
        judged(Status.OK, "**流暢性**：４\n柔軟性: 3\n独創性: 2\n精緻性: 5", SCORES),
        None,
    ]
    judgements += [judged(Status.UNPARSEABLE, laxer)]
    assert lines(exported(tmp_path, ANSWERS, judgements)[1]) == [
        {"answer_id": 1, "judgement": VERDICT.replace("  ", "")},
        {"answer_id": 3, "judgement": ""},
    ]
    _, judged_path = exported(
        tmp_path / "k", ANSWERS[:1], [judged(Status.API_ERROR, None)]
    )
    assert lines(judged_path) == [{"answer_id": 1, "judgement": ""}]


@pytest.mark.parametrize(
    ("said", "row"),
    {
        "jcq: judges no answer": {"answer_id": 9, "judgement": ""},
        "jcq: a judgement comes twice": {"answer_id": 1, "judgement": ""},
        "jcq: no judgement in a line": {"answer_id": 2},
        "jcq: no answer_id in a line": {"judgement": ""},
    }.items(),
)
def test_a_bad_line_is_named(tmp_path, said, row):
    path = tmp_path / "j.jsonl"
    write_objects(path, [{"answer_id": 1, "judgement": ""}, row])
    with refused(said):
        read_jcq_judgements(path, "gpt-4o", ASKED)


def test_no_answers(tmp_path):
    with refused("answers: no such file"):
        list(read_answers_file(tmp_path / "a.jsonl"))
    (tmp_path / "a.jsonl").write_text("\n")
    with refused("answers: none in a file"):
        list(read_answers_file(tmp_path / "a.jsonl"))


def test_imported_judgements_have_the_key_of_the_same_request_but_for_its_server(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    judge = EndpointJudge("gpt-4o", base_url="http://127.0.0.1:9/v1", max_tokens=None)
    path = tmp_path / "j.jsonl"
    path.write_text(json.dumps({"answer_id": 3, "judgement": VERDICT}) + "\n")
    *_, imported = read_jcq_judgements(path, "gpt-4o", ASKED)
    assert judge.parameters.pop("server") == "http://127.0.0.1:9/v1"
    assert imported.key == judgement_key(
        "??", "三", judge.name, "jcq-v1", judge.parameters
    )
