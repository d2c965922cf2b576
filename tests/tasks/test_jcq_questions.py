"""JCQ questions: what is accepted as the benchmark, what is refused and how it is said."""

import json
import sys
import types
from collections import Counter
from dataclasses import asdict

import pytest

from sozo.data.errors import UserError
from sozo.tasks.jcq import questions as jcq
from sozo.tasks.jcq.questions import (
    TASKS,
    Question,
    content_hash,
    load_questions,
    trial_questions,
)


def rows(per_task=100):
    return [
        {"id": i, "task": task, "question": f"{task} {i}?"}
        for i, task in enumerate((task for task in TASKS for _ in range(per_task)), 1)
    ]


def write(path, rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
    return path


@pytest.fixture
def pinned(monkeypatch):
    """Takes `rows()` for the benchmark."""
    questions = [
        Question(str(row["id"]), row["task"], row["question"]) for row in rows()
    ]
    monkeypatch.setattr(jcq, "CONTENT_SHA256", content_hash(questions))


def test_trial_questions_are_five_for_each_task_and_marked():
    questions = trial_questions()
    assert Counter(q.task for q in questions) == dict.fromkeys(TASKS, 5)
    assert [q.id for q in questions] == [f"trial-{k:02d}" for k in range(1, 36)]
    assert len({q.question for q in questions}) == 35


def test_trial_questions_are_not_the_benchmark(tmp_path):
    path = write(
        tmp_path / "t.jsonl", [asdict(question) for question in trial_questions()]
    )
    with pytest.raises(UserError, match="these 35 questions are not word for word"):
        load_questions(path)
    assert load_questions(path, complete=False) == trial_questions()


def test_a_file(tmp_path, pinned):
    path = write(tmp_path / "test.jsonl", rows())
    questions = load_questions(path)
    assert len(questions) == 700
    assert questions[699] == Question(
        "700", "imaginative stories", "imaginative stories 700?"
    )
    assert load_questions(str(path)) == questions


def test_order_byte_order_mark_and_blank_lines_do_not_matter(tmp_path, pinned):
    lines = [json.dumps(row) for row in reversed(rows())]
    path = tmp_path / "q.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())
    assert load_questions(path)[0].id == "700"


def test_one_changed_word_is_not_the_benchmark(tmp_path, pinned):
    changed = rows()
    changed[3]["question"] += "!"
    path = write(tmp_path / "q.jsonl", changed)
    with pytest.raises(UserError, match="not word for word"):
        load_questions(path)
    assert len(load_questions(path, complete=False)) == 700


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": 2, "task": "situation"}', "line 2: question: is"),
        (b'{"id": 2, "task": "situation", "question": " "}', "line 2: question: is"),
        (
            b'{"id": 2, "task": "stories", "question": "q"}',
            "line 2: task: Input should be 'unusual uses'",
        ),
        (
            b'{"id": 2, "task": ["situation"], "question": "q"}',
            "line 2: task: Input should be",
        ),
        (
            b'{"id": true, "task": "situation", "question": "q"}',
            "line 2: id: is neither",
        ),
        (
            b'{"id": null, "task": "situation", "question": "q"}',
            "line 2: id: is missing",
        ),
        (
            b'{"id": "1", "task": "situation", "question": "q"}',
            "the id '1' comes 2 times",
        ),
        (b"[1]", "line 2: not a JSON object"),
        (b'{"id": 2,', "line 2: not JSON"),
        (b'{"id": 2, "task": "situation", "question": "\xff"}', "line 2: not UTF-8"),
    ],
)
def test_a_bad_row_is_named_in_one_line(tmp_path, line, message):
    path = tmp_path / "q.jsonl"
    path.write_bytes(
        b'{"id": 1, "task": "situation", "question": "q"}\n' + line + b"\n"
    )
    with pytest.raises(UserError) as caught:
        load_questions(path, complete=False)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_file_and_missing_files(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n")
    with pytest.raises(UserError, match="holds no questions"):
        load_questions(tmp_path / "a.jsonl")
    for name in (tmp_path, tmp_path / "no", "no.jsonl", "data/no.jsonl", "./no/where"):
        with pytest.raises(UserError, match="no such file"):
            load_questions(name)


def test_the_hub_is_asked_for_the_split_and_the_revision(monkeypatch, pinned):
    asked = []

    def load_dataset(name, split, revision):
        asked.append((name, split, revision))
        return rows()

    monkeypatch.setitem(
        sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset)
    )
    assert len(load_questions(None, "abc")) == 700
    load_questions("mirror/JCQ")
    assert asked == [("nlp-waseda/JCQ", "test", "abc"), ("mirror/JCQ", "test", None)]


def test_no_hub_is_one_line(monkeypatch):
    def load_dataset(name, split, revision):
        raise ConnectionError("cannot\nreach")

    monkeypatch.setitem(
        sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset)
    )
    with pytest.raises(
        UserError, match=r"cannot be had from the hub \(ConnectionError: cannot reach\)"
    ):
        load_questions()
