"""JCQ questions: what is accepted as the benchmark, what is refused and how it is said."""

import json
import sys
import types
from collections import Counter
from dataclasses import asdict

import pytest

from sentences import refused
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
    with refused("jcq: these are not the benchmark"):
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


def test_one_changed_word_is_not_the_benchmark(tmp_path, pinned):
    changed = rows()
    changed[3]["question"] += "!"
    path = write(tmp_path / "q.jsonl", changed)
    with refused("jcq: these are not the benchmark"):
        load_questions(path)
    assert len(load_questions(path, complete=False)) == 700


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("jcq: no question", b'{"id": 2, "task": "situation"}'),
        ("jcq: a blank question", b'{"id": 2, "task": "situation", "question": " "}'),
        ("jcq: no such kind", b'{"id": 2, "task": "stories", "question": "q"}'),
        ("jcq: no id", b'{"id": true, "task": "situation", "question": "q"}'),
        (
            "jcq: an id comes twice",
            b'{"id": "1", "task": "situation", "question": "q"}',
        ),
        ("jcq: no UTF-8", b'{"id": 2, "task": "situation", "question": "\xff"}'),
    ],
)
def test_a_bad_row_is_named(tmp_path, said, line):
    path = tmp_path / "q.jsonl"
    path.write_bytes(
        b'{"id": 1, "task": "situation", "question": "q"}\n' + line + b"\n"
    )
    with refused(said):
        load_questions(path, complete=False)


def test_an_empty_file_and_missing_files(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n")
    with refused("jcq: a file without questions"):
        load_questions(tmp_path / "a.jsonl")
    for name in (tmp_path, "no.jsonl", "./no/where"):
        with refused("jcq: no such file"):
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
    with refused("jcq: no hub"):
        load_questions()
