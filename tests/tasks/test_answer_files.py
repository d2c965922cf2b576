"""Answers in the files of other tools: each in its own shape, or refused with the columns that the file has."""

import ast
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fakes import list_text, read_answer_table
from sozo.data.errors import UserError
from sozo.data.schema import iter_tables, write_columns
from sozo.eval.answered import read_answers
from sozo.eval.cli import make_app
from sozo.scoring.final_text import NOT_AT_HAND
from sozo.tasks import Jcq, Sat
from sozo.tasks.answer_files import PLACES, read_answers_file
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories
from sozo.tasks.task import Answer
from sozo.training.selection import select_top

ROOT = Path(__file__).parents[2]
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
    "JCQ-judge, first": ({"question_id": 7, "answer": LIST}, [("1", "7", None)]),
    "TRL": (TRL | {"completion": LIST}, [("00000000", "", None)]),
    "TRL, messages": (
        TRL | {"prompt": [], "completion": SAID},
        [("00000000", "", None)],
    ),
    "flexeval": (FLEXEVAL | {"lm_output": LIST}, [("dat-0", "dat", "length")]),
    "flexeval, bare": (
        {"lm_output": LIST, "extra_info": {}, "references": []},
        [("00000000", "", None)],
    ),
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


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".json"])
@pytest.mark.parametrize("shape", ROWS)
def test_each_shape_is_read(shape, suffix, tmp_path):
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
    "expired": {
        "id": "b",
        "custom_id": "a",
        "response": None,
        "error": {"code": "batch_expired"},
    },
    "inspect's error": sample(error={"message": "x"}) | {"uuid": "a"},
    "no choice": batch(choices=[]),
    "HTTP error in the body": batch(error={"code": 1}),
}


@pytest.mark.parametrize("shape", NEVER_CAME)
def test_an_answer_that_never_came_is_no_answer(shape, tmp_path):
    path = write(tmp_path / "f.jsonl", NEVER_CAME[shape])
    (answer,) = read_answers_file(path)
    assert (answer.id, answer.text, answer.finish_reason) == ("a", "", "error")


REFUSED = {
    "another's column": (
        {"prompt": "?", "output": LIST, "n": 1},
        r"line 1: 0 answers in the columns prompt, output, n; call",
    ),
    "Alpaca's": (
        {"instruction": "?", "response": LIST},
        r"columns instruction, response\b",
    ),
    "two answers": (
        {"text": LIST, "completion": LIST},
        r"line 1: 2 answers in the columns text, completion; ",
    ),
    "a number": ({"completion": 5}, r"line 1: the column completion"),
    "parts of a choice": (
        LM_EVAL | {"resps": [[["-1.5", "False"]]]},
        r"line 1: the column resps\.\*\.\*",
    ),
    "an object": ({"lm_output": {"a": 1}}, r"line 1: the column lm_output"),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_what_is_unknown_is_refused_with_its_columns(shape, tmp_path):
    row, message = REFUSED[shape]
    with pytest.raises(UserError, match=message) as error:
        list(read_answers_file(write(tmp_path / "f.jsonl", row)))
    assert "\n" not in str(error.value)


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
    log = {
        "version": 2,
        "status": "success",
        "eval": {},
        "samples": [sample(said()), sample(said()) | {"uuid": "u2"}],
    }
    (tmp_path / "log.json").write_text(json.dumps(log, indent=2), "utf-8")
    assert [(a.id, a.text) for a in read_answers_file(tmp_path / "log.json")] == [
        ("u1", LIST),
        ("u2", LIST),
    ]
    (tmp_path / "list.json").write_text(
        json.dumps([{"text": LIST}, {"text": "b"}], indent=2), "utf-8"
    )
    assert [a.text for a in read_answers_file(tmp_path / "list.json")] == [LIST, "b"]
    (tmp_path / "log.eval").write_bytes(b"PK\x03\x04 zstd")
    with pytest.raises(UserError, match=r"log\.eval: .*inspect log dump"):
        list(read_answers_file(tmp_path / "log.eval"))


def test_score_reads_trls_own_log_and_a_bare_table(tmp_path):
    for number, row in enumerate(
        (TRL | {"completion": LIST}, TRL | {"completion": SAID}, {"text": LIST})
    ):
        path = write(tmp_path / f"completions_0000{number}.parquet", row, row)
        before, output = path.read_bytes(), tmp_path / f"out{number}"
        done = CliRunner().invoke(
            make_app(),
            [
                "score",
                "dat",
                str(path),
                "--noun-checker",
                "jumandic",
                "--output",
                str(output),
            ],
        )
        assert done.exit_code == 0, done.output
        assert path.read_bytes() == before
        rows = list(read_answer_table(output))
        assert [row.id for row in rows] == ["00000000", "00000001"]
        assert [row.score for row in rows] == [pytest.approx(0.8217, abs=1e-4)] * 2
        assert {row.source for row in rows} == {path.name}


def test_other_tasks_read_the_same_shapes(tmp_path):
    story, question = load_stories()[0], trial_questions()[0]
    for task, item in ((Sat(), story.id), (Jcq(Jcq.Settings(trial=True)), question.id)):
        rows = [
            FLEXEVAL | {"lm_output": "a", "extra_info": {"item": item}},
            {"lm_output": "b", "extra_info": {"item": item}},
        ]
        assert [
            (a.item, a.text)
            for a in read_answers(task, write(tmp_path / "f.jsonl", *rows), None)
        ] == [
            (item, "a"),
            (item, "b"),
        ]
        # In a batch the custom_id says what is answered.
        row = batch(choices=[choice("c")]) | {"custom_id": f"{item}-3"}
        (answer,) = read_answers(task, write(tmp_path / "b.jsonl", row), None)
        assert (answer.id, answer.item, answer.text) == (f"{item}-3", item, "c")
    own = write(tmp_path / "own.parquet", {"story_id": story.id, "text": "昔々"})
    assert [answer.text for answer in read_answers(Sat(), own, None)] == ["昔々"]
    own = write(
        tmp_path / "jcq.parquet",
        {"id": 1, "question_id": question.id, "answer": "答え"},
    )
    assert [
        answer.text for answer in read_answers(Jcq(Jcq.Settings(trial=True)), own, None)
    ] == ["答え"]


@pytest.mark.parametrize("item", ["", " ", 1.5, True, ["a"], {"a": 1}])
def test_where_one_thing_is_asked_the_column_item_may_hold_anything(item, tmp_path):
    path = write(
        tmp_path / "f.jsonl",
        {"item": item, "text": LIST},
        {"id": "b", "item": item, "text": LIST},
    )
    answers = read_answers(Dat(DatSettings(noun_checker="jumandic")), path, None)
    assert [(answer.id, answer.item) for answer in answers] == [
        ("00000000", ""),
        ("b", ""),
    ]
    with pytest.raises(
        UserError,
        match="line 1: the column item is neither a string nor an integer, or is blank",
    ):
        read_answers(Sat(), path, None)


def test_a_column_that_is_missing_is_said_to_be_missing(tmp_path):
    path = write(tmp_path / "answers.jsonl", {"text": "傘を逆さにして水をためる。"})
    with pytest.raises(
        UserError,
        match="the answer '00000000' has no column item, and its id names no item of sat; "
        "the column item must name one, such as 'adachigahara'",
    ):
        read_answers(Sat(), path, None)


def test_a_table_of_ours_says_what_was_asked(tmp_path):
    columns = {"id": ["momotaro-0"], "item": ["momotaro"], "text": ["昔々"]}
    write_columns(tmp_path / "part-00000.parquet", columns)
    with pytest.raises(
        UserError,
        match="the answer 'momotaro-0' is to 'momotaro', which dat does not ask",
    ):
        read_answers(Dat(DatSettings(noun_checker="jumandic")), tmp_path, None)


def test_a_table_that_is_not_ours_is_named_so(tmp_path):
    path = write(tmp_path / "part-00000.parquet", TRL | {"completion": LIST})
    for call in (
        lambda: select_top(path, 1),
        lambda: list(iter_tables(tmp_path, ("id", "score"))),
    ):
        with pytest.raises(
            UserError,
            match=r"00000.parquet: .*version none.*sozo score.*columns step, prompt, ",
        ) as error:
            call()
        assert "readable" not in str(error.value)
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    task = Dat(DatSettings(noun_checker="jumandic"))
    with pytest.raises(
        UserError, match=r"torn.parquet: not a readable parquet file"
    ) as error:
        read_answers(task, tmp_path / "torn.parquet", None)
    assert len(str(error.value)) < 400


def test_the_page_prints_the_table_of_names():
    page = (ROOT / "docs" / "answer-files.md").read_text("utf-8")
    for place in PLACES:
        names = (
            " or ".join(f"`{column}`" for column in place[name].split())
            for name in ("answer", "id", "item")
        )
        assert (
            f"| {place['tool']} | {' | '.join(names)} |".replace("|  |", "| |") in page
        )
    assert len({place["answer"] for place in PLACES}) == len(PLACES)


def sentences():
    """Every text in the product's Python, with where it stands; docstrings are no messages."""
    rooms = (
        "data",
        "scoring",
        "tasks",
        "rewards",
        "models",
        "training",
        "eval",
        "recipes",
    )
    for path in sorted(path for room in rooms for path in (ROOT / room).rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        parents = (
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)
        )
        docs = {
            id(node.body[0].value)
            for node in parents
            if node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in docs
            ):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def test_no_message_tells_anybody_to_delete_a_file():
    advice = re.compile(
        r"\b(delete|remove|erase|rm -|unlink|wipe|empty (the|this|that) folder)\b",
        re.IGNORECASE,
    )
    found = [
        (where, text)
        for where, text in sentences()
        if advice.search(text) and not text.startswith("DELETE FROM ")
    ]
    assert not found
    assert sum(1 for _ in sentences()) > 5000


def test_a_foreign_parquet_of_rows_is_read_without_its_schema(tmp_path):
    table = pa.table(
        {"text": [LIST, None], "id": ["a", None], "error": [None, "timeout"]}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    came, failed = read_answers_file(tmp_path / "t.parquet")
    assert (came, failed) == (
        Answer("a", "", LIST),
        Answer("00000001", "", "", finish_reason="error"),
    )
