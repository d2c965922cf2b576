"""Whose answer a row is: of a task of one item anybody's ids will do; of several the column item decides, then the id.

The ids are of shapes that people and tools write: batches, chat servers, data sets, spreadsheets, dates.
"""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fakes import list_text, read_answer_table
from sentences import refused
from sozo.data.jsonl import write_objects
from sozo.eval.cli import make_app
from sozo.eval.run import read_answers
from sozo.tasks import Jcq, Sat, task_type
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.task import JcqSettings

LIST = list_text(
    ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
)
UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
IDS = [
    *("gpt-4o-3", UUID, "request-1", "2024-01-00", "run-0", "req-1-2-3"),
    *("openai/gpt-4o:free-3", "2024-01-01T09:00:00+09:00", "user@example.org", "0"),
    *("-1", "00000000", "1.0", "1e5", "--", "a-", "dat-3", "参加者-3", "回答-１"),
    *("momotaro-3", "None", "true", "../../x-1", "a\tb", "a'b\"c", "e\u0301-1"),
]
NUMBERS = [3, 20240100, 2**53 + 1]


@pytest.fixture(scope="module")
def dat():
    return Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))


def lines(path, *rows):
    write_objects(path, rows)
    return path


def batch(custom_id, *texts):
    choices = [
        {
            "index": k,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        for k, text in enumerate(texts)
    ]
    answer = {
        "status_code": 200,
        "request_id": "r",
        "body": {"object": "chat.completion", "choices": choices},
    }
    return {
        "id": "batch_req_1",
        "custom_id": custom_id,
        "response": answer,
        "error": None,
    }


# A task of one item


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_dat_takes_any_id_in_any_kind_of_file(suffix, dat, tmp_path):
    rows = [{"id": name, "text": LIST} for name in IDS]
    path = tmp_path / f"f{suffix}"
    if suffix == ".parquet":  # which has texts or numbers in a column
        pd.DataFrame(rows).to_parquet(path)
    else:
        rows += [{"id": number, "text": LIST} for number in NUMBERS]
        path.write_text(json.dumps(rows), "utf-8")
    answers = read_answers(dat, path, None)
    expected = [(str(row["id"]), "", LIST) for row in rows]
    assert [(a.id, a.item, a.text) for a in answers] == expected


def test_dat_takes_any_custom_id_of_a_batch(dat, tmp_path):
    path = lines(tmp_path / "f.jsonl", *(batch(name, LIST, LIST) for name in IDS))
    assert [(a.id, a.item) for a in read_answers(dat, path, None)] == [
        (f"{name}-{k}", "") for name in IDS for k in range(2)
    ]


def test_the_command_scores_them_and_reads_its_own_table_again(tmp_path):
    path = lines(tmp_path / "f.jsonl", *({"id": name, "text": LIST} for name in IDS))
    flags = ["--noun-checker", "jumandic", "--embedding-model", "ja-ginza"]
    for source, output in (
        (path, tmp_path / "out"),
        (tmp_path / "out", tmp_path / "b"),
    ):
        words = ["score", "dat", str(source), *flags, "--output", str(output)]
        done = CliRunner().invoke(make_app(), words)
        assert done.exit_code == 0, done.output
        rows = list(read_answer_table(output))
        assert [row.id for row in rows] == IDS
        assert {round(row.score, 4) for row in rows} == {0.8217}


def test_an_id_that_comes_twice_is_still_refused(dat, tmp_path):
    rows = ({"id": name, "text": LIST} for name in ("0", 0))
    with refused("answers: an id comes twice"):
        read_answers(dat, lines(tmp_path / "f.jsonl", *rows), None)


def test_a_batch_whose_numbers_meet_another_id_is_still_refused(dat, tmp_path):
    path = lines(tmp_path / "f.jsonl", batch("a", LIST, LIST), batch("a-1", LIST))
    with refused("answers: an id comes twice"):
        read_answers(dat, path, None)


# Tasks of several items: the column item decides

TASKS = {
    "sat": (Sat, "momotaro", "kintaro"),
    "jcq": (lambda: Jcq(Jcq.Settings(trial=True)), "trial-01", "trial-02"),
}
OF_SUITE = {"pbig": ("nlp-1", "nlp-2"), "sentences": ("算盤-黒板", "樽-夕焼け")}


@pytest.fixture(
    params=[
        *TASKS,
        *(pytest.param(name, marks=pytest.mark.suite) for name in OF_SUITE),
    ],
    scope="module",
)
def several(request):
    """A task, and two of its items."""
    if request.param in TASKS:
        make, one, other = TASKS[request.param]
        return make(), one, other
    return task_type(request.param)(), *OF_SUITE[request.param]


def test_the_column_decides_whatever_the_id_looks_like(several, tmp_path):
    task, one, other = several
    names = [*IDS, other, f"{other}-3", f"{one}-x", f"x-{one}"]
    rows = [{"id": name, "item": one, "text": "答え"} for name in dict.fromkeys(names)]
    answers = read_answers(task, lines(tmp_path / "f.jsonl", *rows), None)
    assert [(a.id, a.item) for a in answers] == [(row["id"], one) for row in rows]


@pytest.mark.parametrize("form", ["{}", "{}-12"])
def test_without_the_column_an_item_s_id_names_it(form, several, tmp_path):
    task, *items = several
    names = [form.format(item) for item in items]
    rows = [{"id": name, "text": "答え"} for name in names]
    for file in rows, [batch(name, "答え") for name in names]:
        answers = read_answers(task, lines(tmp_path / "f.jsonl", *file), None)
        assert [a.item for a in answers] == items


@pytest.mark.parametrize("name", ["request-1", "kasajizo-momotaro-3"])
def test_an_id_that_names_nothing_is_refused_where_an_item_is_needed(name, tmp_path):
    path = lines(tmp_path / "f.jsonl", {"id": name, "text": "答え"})
    with refused("answers: an id names no item"):
        read_answers(Sat(), path, None)


def test_a_column_that_names_nothing_is_refused_though_the_id_would_do(tmp_path):
    row = {"id": "momotaro", "item": "momotaro-3 ", "text": "答え"}
    with refused("answers: a column names no item"):
        read_answers(Sat(), lines(tmp_path / "f.jsonl", row), None)


def test_an_item_is_named_by_its_id_behind_the_task_s_name_or_by_its_own_words(
    tmp_path,
):
    """In CSV too, where a flat column has an inner column's whole name."""
    task = Jcq(JcqSettings(trial=True))
    second = task.items()[1]
    for columns, value in (
        ("question", second.prompt),
        ("doc.item", f"jcq-{second.id}"),
        ("item", second.id),
        ("id", f"jcq-{second.id}-4"),
    ):
        frame = pd.DataFrame({columns: [value], "text": ["答え\nつづき"]})
        frame.to_csv(tmp_path / "a.csv", index=False)
        (answer,) = read_answers(task, tmp_path / "a.csv", None)
        assert (answer.item, answer.text) == (second.id, "答え\nつづき")
