"""Answers in the files of other tools: each in its own shape, or refused with the columns that the file has."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from fakes import list_text, read_answer_table
from sentences import refused
from sozo.data.schema import iter_tables, write_columns
from sozo.eval.cli import make_app
from sozo.eval.run import read_answers
from sozo.scoring.final_text import NOT_AT_HAND
from sozo.tasks import Sat
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Answer
from sozo.training.selection import select_top

WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
LIST = list_text(WORDS)
SAID = [{"role": "assistant", "content": LIST}]


def batch(**body):
    """A line of OpenAI's batches."""
    answer = {
        "status_code": 200,
        "request_id": "r",
        "body": {"id": "c", "object": "x", "model": "m", **body},
    }
    return {"id": "batch_req_1", "custom_id": "a", "response": answer, "error": None}


def choice(content=LIST, reason="stop", **message):
    return {
        "index": 0,
        "finish_reason": reason,
        "message": {"role": "assistant", "content": content, **message},
    }


def sample(*choices, **more):
    """A sample of inspect's logs, as 0.3.285 writes it."""
    output = {
        "model": "mockllm/model",
        "choices": list(choices),
        "completion": "",
        "usage": {},
    }
    return {
        "id": 1,
        "epoch": 1,
        "uuid": "u1",
        "input": "?",
        "metadata": {"item": "dat"},
        "output": output,
        **more,
    }


def said(content=LIST, reason="stop"):
    return {
        "message": {
            "id": "m",
            "content": content,
            "source": "generate",
            "role": "assistant",
        },
        "stop_reason": reason,
    }


THINKING = [{"type": "reasoning", "reasoning": "猫"}, {"type": "text", "text": LIST}]
TRL = {"step": 2, "prompt": "?", "dat_reward": 8.2, "advantage": 0.1}
LM_EVAL = {
    "doc_id": 7,
    "doc": {"prompt": "?", "item": "dat"},
    "target": "",
    "arguments": {},
    "filtered_resps": ["x"],
}
FLEXEVAL = {
    "finish_reason": "length",
    "extra_info": {"item": "dat"},
    "references": [],
    "score": 0.1,
}
SPOKEN = [
    {"type": "reasoning", "summary": []},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": LIST, "annotations": []}],
    },
]
# A row of each shape: the ids, items and ends of the answers that it holds, all of which say LIST.
ROWS = {
    "ours": ({"text": LIST, "id": "x", "item": "dat"}, [("x", "dat", None)]),
    "SAT's older": (
        {"text": LIST, "story_id": "momotaro", "finish_reason": "stop"},
        [("momotaro-0", "momotaro", "stop")],
    ),
    "JCQ-judge": ({"id": 3, "question_id": 7, "answer": LIST}, [("3", "7", None)]),
    "TRL": (TRL | {"completion": LIST}, [("00000000", "", None)]),
    "TRL, messages": (
        TRL | {"prompt": [], "completion": SAID},
        [("00000000", "", None)],
    ),
    "flexeval": (FLEXEVAL | {"lm_output": LIST}, [("dat-0", "dat", "length")]),
    "lm-eval": (LM_EVAL | {"resps": [[LIST]]}, [("7", "dat", None)]),
    "lm-eval, repeats": (
        LM_EVAL | {"resps": [[LIST, LIST]]},
        [("7-0", "dat", None), ("7-1", "dat", None)],
    ),
    "inspect": (sample(said()), [("u1", "dat", "stop")]),
    "inspect, reasoning": (
        sample(said(THINKING, "max_tokens")),
        [("u1", "dat", "max_tokens")],
    ),
    "batch": (batch(choices=[choice()]), [("a", "", "stop")]),
    "batch, n=2": (
        batch(choices=[choice(), choice(reason="length")]),
        [("a-0", "", "stop"), ("a-1", "", "length")],
    ),
    "batch, old": (
        batch(choices=[{"index": 0, "text": LIST, "finish_reason": "stop"}]),
        [("a", "", "stop")],
    ),
    "batch, answers": (
        batch(output=SPOKEN, incomplete_details=None),
        [("a", "", None)],
    ),
}


def write(path, *rows):
    if path.suffix == ".parquet":  # which knows no object without columns
        filled = json.loads(json.dumps(rows).replace("{}", '{"none": null}'))
        pd.DataFrame(filled).to_parquet(path)
    else:
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.mark.parametrize("shape", ROWS)
def test_each_shape_is_read(shape, tmp_path):
    suffix = (
        ".parquet" if shape in ("TRL, messages", "inspect, reasoning") else ".jsonl"
    )
    row, expected = ROWS[shape]
    path = write(tmp_path / f"f{suffix}", row)
    assert list(read_answers_file(path)) == [
        Answer(*row[:2], LIST, finish_reason=row[2]) for row in expected
    ]


def test_judgements_are_of_answers_that_nobody_has(tmp_path):
    (alone,) = read_answers_file(
        write(tmp_path / "j.jsonl", {"answer_id": 3, "judgement": "流暢性: 4"})
    )
    assert alone == Answer("3", "", "", finish_reason=NOT_AT_HAND)


# Nothing came, or it was no text: never a zero, always told.
NEVER_CAME = {
    "vLLM's batch": batch() | {"response": None, "error": {"code": 400}},
    "inspect's error": sample(error={"message": "x"}) | {"uuid": "a"},
    "an error beside no text": {"id": "a", "text": "", "error": "timeout"},
    "HTTP error in the body": batch(error={"code": 1}),
}


@pytest.mark.parametrize("shape", NEVER_CAME)
def test_an_answer_that_never_came_is_no_answer(shape, tmp_path):
    path = write(tmp_path / "f.jsonl", NEVER_CAME[shape])
    (answer,) = read_answers_file(path)
    assert (answer.id, answer.text, answer.finish_reason) == ("a", "", "error")


@pytest.mark.parametrize(
    ("said", "row"),
    {
        "answers: no known column": {"prompt": "?", "output": LIST, "n": 1},
        "answers: two columns": {"text": LIST, "completion": LIST},
        "answers: a number": {"completion": 5},
        "answers: parts of a choice": LM_EVAL | {"resps": [[["-1.5", "False"]]]},
        "answers: an object": {"lm_output": {"a": 1}},
    }.items(),
)
def test_what_is_unknown_is_refused_with_its_columns(said, row, tmp_path):
    with refused(said):
        list(read_answers_file(write(tmp_path / "f.jsonl", row)))


def test_whose_words_count_in_messages(tmp_path):
    turns = [*SAID, {"role": "tool", "content": "1. 猫"}]
    call = choice(None, "tool_calls", tool_calls=[{"id": "t"}])
    path = write(tmp_path / "f.jsonl", {"completion": turns}, batch(choices=[call]))
    assert [
        (answer.text, answer.finish_reason) for answer in read_answers_file(path)
    ] == [
        ("", None),
        ("", "tool_calls"),
    ]


def test_a_log_of_inspect_is_one_json_of_samples(tmp_path):
    samples = [sample(said()), sample(said()) | {"uuid": "u2"}]
    log = {"version": 2, "status": "success", "eval": {}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(log, indent=2), "utf-8")
    answers = list(read_answers_file(tmp_path / "log.json"))
    assert [(a.id, a.text) for a in answers] == [("u1", LIST), ("u2", LIST)]
    (tmp_path / "log.eval").write_bytes(b"PK\x03\x04 zstd")
    with refused("answers: a log of inspect's own"):
        list(read_answers_file(tmp_path / "log.eval"))


def test_score_reads_trls_own_log(tmp_path):
    row = TRL | {"completion": SAID}
    path, output = write(tmp_path / "f.parquet", row, row), tmp_path / "out"
    before = path.read_bytes()
    words = ["score", "dat", str(path), "--noun-checker", "jumandic"]
    done = CliRunner().invoke(make_app(), [*words, "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert path.read_bytes() == before
    rows = list(read_answer_table(output))
    assert [row.id for row in rows] == ["00000000", "00000001"]
    assert [row.score for row in rows] == [pytest.approx(0.8217, abs=1e-4)] * 2
    assert {row.source for row in rows} == {path.name}


@pytest.mark.parametrize("item", ["q1", None, {"a": 1}])
def test_where_one_thing_is_asked_the_column_item_may_hold_anything(item, tmp_path):
    path = write(
        tmp_path / "f.jsonl",
        {"item": item, "text": LIST},
        {"id": "b", "item": item, "text": LIST},
    )
    answers = read_answers(Dat(DatSettings(noun_checker="jumandic")), path, None)
    found = [(answer.id, answer.item) for answer in answers]
    assert found == [("00000000", ""), ("b", "")]


@pytest.mark.parametrize("item", [" ", {"a": 1}])
def test_where_several_things_are_asked_it_names_one(item, tmp_path):
    path = write(tmp_path / "f.jsonl", {"item": item, "text": LIST})
    with refused("answers: no item"):
        read_answers(Sat(), path, None)


def test_a_table_of_ours_says_what_was_asked(tmp_path):
    columns = {"id": ["momotaro-0"], "item": ["momotaro"], "text": ["昔々"]}
    write_columns(tmp_path / "part-00000.parquet", columns)
    with refused("answers: to what is not asked"):
        read_answers(Dat(DatSettings(noun_checker="jumandic")), tmp_path, None)


def test_a_table_that_is_not_ours_is_named_so(tmp_path):
    path = write(tmp_path / "part-00000.parquet", TRL | {"completion": LIST})
    with refused("answers: a table to select of is not ours"):
        select_top(path, 1)
    with refused("answers: a table is not ours"):
        list(iter_tables(tmp_path, ("id", "score")))
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    task = Dat(DatSettings(noun_checker="jumandic"))
    with refused("answers: a table is torn"):
        read_answers(task, tmp_path / "torn.parquet", None)
