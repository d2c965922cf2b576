"""The ledger keeps whole lines, forgives one torn one, and belongs to one process."""

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgements import OK, RUBRICS, SCORES
from sozo.data.errors import UserError
from sozo.scoring.judges.ledger import (
    Judgement,
    Ledger,
    judgement_key,
    latest,
    read_judgements,
)
from sozo.scoring.judges.protocol import Status

BAD = Judgement("k2", "2", "a2", "judge", "jcq-v1", Status.API_ERROR, error="HTTP 500")


def write(path, *judgements):
    with Ledger(path, RUBRICS) as ledger:
        for judgement in judgements:
            ledger.append(judgement)
    return path


def test_what_is_appended_is_read_back(tmp_path):
    path = write(tmp_path / "new" / "j.jsonl", OK, BAD)
    assert read_judgements(path, RUBRICS) == [OK, BAD]
    assert path.read_bytes().count(b"\n") == 2
    with Ledger(path, RUBRICS) as ledger:
        assert ledger.judgements == [OK, BAD]


def test_the_later_line_holds_and_both_stay(tmp_path):
    again = replace(BAD, status=Status.OK, scores=SCORES, error=None)
    path = write(tmp_path / "j.jsonl", BAD, OK, again)
    assert latest(read_judgements(path, RUBRICS)) == {"k2": again, "k1": OK}
    assert len(read_judgements(path, RUBRICS)) == 3


@given(cut=st.integers(1, 400))
def test_a_torn_last_line_is_cut_off_and_no_other(tmp_path_factory, cut):
    path = write(tmp_path_factory.mktemp("torn") / "j.jsonl", OK, BAD)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    path.write_bytes(whole[: max(second, len(whole) - cut)])
    complete = cut <= 1
    expected = [OK, BAD] if complete else [OK]
    assert read_judgements(path, RUBRICS) == expected
    with Ledger(path, RUBRICS) as ledger:
        assert ledger.judgements == expected
        ledger.append(OK)
    assert read_judgements(path, RUBRICS) == [*expected, OK]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"key": "k', "not|Unterminated|is no judgement"),
        (b"", "is no judgement"),
        (b"[]", "must be a mapping of keys"),
        (
            json.dumps({**asdict(OK), "scores": None}).encode(),
            "status ok with scores None",
        ),
        (
            json.dumps({**asdict(BAD), "scores": SCORES}).encode(),
            "status api_error with scores",
        ),
        (
            json.dumps({**asdict(OK), "scores": {**SCORES, "fluency": 6}}).encode(),
            "scores",
        ),
        (
            json.dumps({**asdict(OK), "scores": {**SCORES, "fluency": True}}).encode(),
            "scores",
        ),
        (json.dumps({**asdict(OK), "scores": {"fluency": 4}}).encode(), "scores"),
        (json.dumps({**asdict(OK), "status": "fine"}).encode(), "fine"),
        (
            json.dumps({**asdict(OK), "key": 1}).encode(),
            "key: Input should be a valid string",
        ),
        (json.dumps({**asdict(OK), "more": 1}).encode(), "unknown key more"),
        (json.dumps({**asdict(OK), "prompt_tokens": "9"}).encode(), "prompt_tokens"),
        (b"\xff", "is no judgement"),
    ],
)
def test_any_other_bad_line_is_named_and_left_alone(tmp_path, line, message):
    path = write(tmp_path / "j.jsonl", OK)
    path.write_bytes(path.read_bytes() + line + b"\n" + path.read_bytes())
    before = path.read_bytes()
    for read in (read_judgements, Ledger):
        with pytest.raises(UserError, match=message) as caught:
            read(path, RUBRICS)
        assert f"{path}, line 2" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_somebody_elses_file_without_a_final_newline_is_not_cut(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": 1, "answer": "..."}')
    with pytest.raises(UserError, match="line 1: is no judgement"):
        Ledger(path, RUBRICS)
    assert path.read_text() == '{"id": 1, "answer": "..."}'


def test_a_second_process_is_refused_and_a_dead_one_does_not_count(tmp_path):
    path = tmp_path / "j.jsonl"
    code = "import sys, time; from pathlib import Path; from sozo.scoring.judges.ledger import Ledger"
    code += "; ledger = Ledger(Path(sys.argv[1]), ())"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"{code}; sys.stdout.write('x'); sys.stdout.flush(); time.sleep(60)",
            path,
        ],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.read(1) == b"x"
    with pytest.raises(UserError, match="another process is judging into it"):
        Ledger(path, RUBRICS)
    holder.kill()
    holder.wait()
    with pytest.raises(UserError, match="another process"), Ledger(path, RUBRICS):
        Ledger(path, RUBRICS)
    write(path, OK)


def test_the_key_depends_on_everything_that_decides():
    base = ("q", "a", "judge", "jcq-v1", {"temperature": 0.0, "max_tokens": 9})
    assert judgement_key(
        *base[:4], {"max_tokens": 9, "temperature": 0.0}
    ) == judgement_key(*base)
    others = [
        (*base[:k], other, *base[k + 1 :])
        for k, other in enumerate(("Q", "A", "J", "P", {}))
    ]
    assert len({judgement_key(*other) for other in (base, *others)}) == 6
