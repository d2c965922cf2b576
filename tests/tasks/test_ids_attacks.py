"""Whose answer a row is: of a task of one item anybody's ids will do; of several the column item decides, then the id.

The ids are of shapes that people and tools write: batches, chat servers, data sets, spreadsheets, dates.
"""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fakes import list_text, read_answer_table
from sozo.data.errors import UserError
from sozo.data.schema import write_columns
from sozo.eval.answered import read_answers
from sozo.eval.cli import make_app
from sozo.tasks import Jcq, Sat, task_type
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

LIST = list_text(
    ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
)
UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
ISSUED = ["gpt-4o-3", UUID, "request-1", "2024-01-00", "run-a0", "run-0", "gpt-4o-0"]
IDS = [
    *ISSUED,
    *(
        "task-0",
        "request-000123",
        "item_7",
        "req-1-2-3",
        "batch_req_403hYy7nMxrxXFWXiwvoLG1q",
    ),
    *(
        "chatcmpl-A1Efhv97EZNQeHKSLPnTmZex20gf2",
        "resp_67ccd2bed1ec8190",
        "msg_01XFDUDYJgAACzvnptvVoYEL",
    ),
    *(
        "gpt-4o-2024-08-06_0",
        "gpt-4o-2024-08-06-12",
        "meta-llama/Llama-3.1-8B-Instruct-5",
        "openai/gpt-4o:free-3",
    ),
    *(
        "2024-01-01",
        "2024-01-01T09:00:00+09:00",
        "20240101-0003",
        "user/1",
        "user@example.org",
        "p01-s02",
    ),
    *(
        "0",
        "-1",
        "00000000",
        "1.0",
        "1e5",
        "0x1f",
        "-",
        "--",
        "a-",
        "-0",
        "dat",
        "dat-3",
        "dat-0-1",
    ),
    *(
        "参加者 3",
        "参加者-3",
        "回答-１",
        "run 1 - 2",
        "run—0",
        "model=a;seed=0;n=1",
        "momotaro-3",
        "trial-01",
        "nlp-1",
    ),
    *(
        "None",
        "null",
        "NaN",
        "true",
        "../../x-1",
        "a\tb",
        "a'b\"c",
        "😀-1",
        "e\u0301-1",
        "x" * 80 + "-1",
    ),
]
NUMBERS = [0, 3, -1, 20240100, 2**53 + 1]


@pytest.fixture(scope="module")
def dat():
    return Dat(DatSettings(noun_checker="jumandic", embedding_model="ja-ginza"))


def lines(path, *rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
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


def refused(task, path):
    with pytest.raises(UserError) as error:
        read_answers(task, path, None)
    assert "\n" not in str(error.value)
    return str(error.value)


# A task of one item


@pytest.mark.parametrize("name", [*IDS, *NUMBERS], ids=lambda name: str(name)[:40])
def test_dat_takes_any_id(name, dat, tmp_path):
    (answer,) = read_answers(
        dat, lines(tmp_path / "f.jsonl", {"id": name, "text": LIST}), None
    )
    assert (answer.id, answer.item, answer.text) == (str(name), "", LIST)


@pytest.mark.parametrize("name", IDS, ids=lambda name: name[:40])
def test_dat_takes_any_custom_id_of_a_batch(name, dat, tmp_path):
    path = lines(tmp_path / "f.jsonl", batch(name, LIST), batch(f"{name}x", LIST, LIST))
    assert [(a.id, a.item) for a in read_answers(dat, path, None)] == [
        (name, ""),
        (f"{name}x-0", ""),
        (f"{name}x-1", ""),
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "run-a0", "item": "dat", "text": LIST},
        {"id": "run-a0", "item": "q1", "text": LIST},
        {"id": "run-a0", "item": 1, "text": LIST},
        {"id": "run-a0", "item": None, "text": LIST},
        {"item": "dat", "text": LIST},
        {"doc_id": 7, "doc": {"item": "dat"}, "resps": [[LIST]]},
        {"lm_output": LIST, "extra_info": {"item": "dat"}, "finish_reason": "stop"},
        {"question_id": 7, "answer": LIST},
        {"id": 3, "question_id": "q-7", "answer": LIST},
        {
            "uuid": UUID,
            "metadata": {"item": "dat"},
            "output": {"choices": [{"message": {"content": LIST}}]},
        },
        {"completion": LIST, "id": "step-2", "prompt": "?"},
    ],
)
def test_nothing_decides_where_one_thing_is_asked(row, dat, tmp_path):
    (answer,) = read_answers(dat, lines(tmp_path / "f.jsonl", row), None)
    assert (answer.item, answer.text) == ("", LIST)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_ids_are_kept_in_every_kind_of_file(suffix, dat, tmp_path):
    rows, path = (
        [{"id": name, "text": LIST} for name in ISSUED],
        tmp_path / f"f{suffix}",
    )
    if suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif suffix == ".json":
        path.write_text(json.dumps(rows), "utf-8")
    else:
        lines(path, *rows)
    assert [(a.id, a.item) for a in read_answers(dat, path, None)] == [
        (name, "") for name in ISSUED
    ]


def test_the_command_scores_them(tmp_path):
    path = lines(tmp_path / "f.jsonl", *({"id": name, "text": LIST} for name in IDS))
    words = [
        "score",
        "dat",
        str(path),
        "--noun-checker",
        "jumandic",
        "--embedding-model",
        "ja-ginza",
    ]
    done = CliRunner().invoke(make_app(), [*words, "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    rows = list(read_answer_table(tmp_path / "out"))
    assert [row.id for row in rows] == IDS
    assert {round(row.score, 4) for row in rows} == {0.8217}
    # And a table of ours with such ids is read again.
    again = CliRunner().invoke(
        make_app(),
        [
            "score",
            "dat",
            str(tmp_path / "out"),
            *words[3:],
            "--output",
            str(tmp_path / "again"),
        ],
    )
    assert again.exit_code == 0, again.output
    assert [row.id for row in read_answer_table(tmp_path / "again")] == IDS


def test_bare_parts_with_such_ids_are_read(dat, tmp_path):
    write_columns(
        tmp_path / "part-00000.parquet", {"id": IDS, "text": [LIST] * len(IDS)}
    )
    assert [(a.id, a.item) for a in read_answers(dat, tmp_path, None)] == [
        (name, "") for name in IDS
    ]


@pytest.mark.parametrize(
    "names",
    [("run-a0", "run-a0"), ("0", 0), (UUID, UUID), ("momotaro-3", "momotaro-3")],
)
def test_an_id_that_comes_twice_is_still_refused(names, dat, tmp_path):
    assert "line 2" in refused(
        dat,
        lines(tmp_path / "f.jsonl", *({"id": name, "text": LIST} for name in names)),
    )


def test_a_batch_whose_numbers_meet_another_id_is_still_refused(dat, tmp_path):
    refused(
        dat, lines(tmp_path / "f.jsonl", batch("a", LIST, LIST), batch("a-1", LIST))
    )


# Tasks of several items: the column item decides

TASKS = {
    "sat": (Sat, "momotaro", "kintaro"),
    "jcq": (lambda: Jcq(Jcq.Settings(trial=True)), "trial-01", "trial-02"),
}
OF_SUITE = {
    "sipen": ({}, "trial-01-1", "trial-02-1"),
    "pbig": ({}, "nlp-1", "nlp-2"),
    "hivemind": ({}, "story-01", "name-01"),
    "sentences": ({}, "算盤-黒板", "樽-夕焼け"),
}


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
    settings, one, other = OF_SUITE[request.param]
    kind = task_type(request.param)
    return kind(kind.Settings(**settings)), one, other


def test_the_column_decides_whatever_the_id_looks_like(several, tmp_path):
    task, one, other = several
    names = [*IDS, other, f"{other}-3", f"{one}-x", f"x-{one}"]
    rows = [{"id": name, "item": one, "text": "答え"} for name in dict.fromkeys(names)]
    answers = read_answers(task, lines(tmp_path / "f.jsonl", *rows), None)
    assert [(a.id, a.item) for a in answers] == [(row["id"], one) for row in rows]


@pytest.mark.parametrize("form", ["{}", "{}-0", "{}-3", "{}-12"])
def test_without_the_column_an_item_s_id_names_it(form, several, tmp_path):
    task, one, other = several
    path = lines(
        tmp_path / "f.jsonl",
        *({"id": form.format(item), "text": "答え"} for item in (one, other)),
    )
    assert [a.item for a in read_answers(task, path, None)] == [one, other]
    path = lines(
        tmp_path / "b.jsonl",
        *(batch(form.format(item), "答え") for item in (one, other)),
    )
    assert [a.item for a in read_answers(task, path, None)] == [one, other]


@pytest.mark.parametrize("form", ["{}", "{}-3"])
def test_several_answers_of_a_row_are_to_what_its_id_names(form, several, tmp_path):
    task, one, _ = several
    path = lines(tmp_path / "b.jsonl", batch(form.format(one), "答え", "別の答え"))
    assert [a.item for a in read_answers(task, path, None)] == [one, one]


@pytest.mark.parametrize(
    "name", ["request-1", "gpt-4o-3", UUID, "2024-01-00", "0", "user/1"]
)
def test_an_id_that_names_nothing_is_refused_where_an_item_is_needed(
    name, several, tmp_path
):
    task, _, _ = several
    said = refused(task, lines(tmp_path / "f.jsonl", {"id": name, "text": "答え"}))
    assert "item" in said  # which column to give
    assert name in said


@pytest.mark.parametrize("item", ["桃", "request", "momotaro-3 "])
def test_a_column_that_names_nothing_is_refused_though_the_id_would_do(
    item, several, tmp_path
):
    task, one, _ = several
    assert item.strip() in refused(
        task, lines(tmp_path / "f.jsonl", {"id": one, "item": item, "text": "答え"})
    )


@pytest.mark.suite
@pytest.mark.parametrize(("name", "item"), [("sipen", "trial-01-1"), ("pbig", "nlp-1")])
def test_an_item_whose_name_ends_in_a_number_is_itself(name, item, tmp_path):
    # SIPeN's `trial-01-1` is an item, no first answer to `trial-01`; PBIG's `nlp-1` no answer to `nlp`.
    path = lines(tmp_path / "s.jsonl", {"id": item, "text": "{}"})
    (answer,) = read_answers(task_type(name)(), path, None)
    assert answer.item == item


def test_an_id_that_names_an_answer_to_no_item_is_refused(tmp_path):
    story = {"id": "kasajizo-momotaro-3", "text": "昔々"}
    refused(Sat(), lines(tmp_path / "t.jsonl", story))
