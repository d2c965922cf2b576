"""The ledger keeps whole lines, forgives one torn one, and belongs to one process."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sent_by_others as sent
from judgements import OK, RUBRICS, SCORES
from sentences import refused
from sozo.data import progress
from sozo.scoring.judges.ledger import (
    Judgement,
    Ledger,
    judgement_key,
    latest,
    read_judgements,
)
from sozo.scoring.judges.protocol import Status

BAD = Judgement("k2", "2", "a2", "judge", "jcq-v1", Status.API_ERROR, error="HTTP 500")


@pytest.fixture(autouse=True)
def unsaid():
    progress.say_once.cache_clear()


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


def other(line=OK, **fields):
    return json.dumps({**asdict(line), **fields}).encode()


BAD_LINES = {
    "torn": b'{"key": "k',
    "no mapping": b"[]",
    "no UTF-8": b"\xff",
    "ok without scores": other(scores=None),
    "an error with scores": other(BAD, scores=SCORES),
    "a score too high": other(scores={**SCORES, "fluency": 6}),
    "one score": other(scores={"fluency": 4}),
    "another status": other(status="fine"),
    "another field": other(more=1),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_any_other_bad_line_is_named_and_left_alone(tmp_path, kind):
    path = write(tmp_path / "j.jsonl", OK)
    path.write_bytes(path.read_bytes() + BAD_LINES[kind] + b"\n" + path.read_bytes())
    before = path.read_bytes()
    for read in (read_judgements, Ledger):
        with refused(f"ledger: {kind}"):
            read(path, RUBRICS)
    assert path.read_bytes() == before


def test_somebody_elses_file_without_a_final_newline_is_not_cut(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": 1, "answer": "..."}')
    with refused("ledger: somebody else's file"):
        Ledger(path, RUBRICS)
    assert path.read_text() == '{"id": 1, "answer": "..."}'


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


@pytest.mark.parametrize("change", sent.LEDGER)
def test_a_line_is_held_against_its_own_reply(change, tmp_path, capsys):
    path = tmp_path / "j.jsonl"
    lines = [asdict(OK), asdict(OK) | {"key": "k2"} | change, asdict(OK)]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(content, "utf-8")
    counted = [OK, OK]
    if change.get("status"):  # it is asked again, which costs, and scores nothing
        other = replace(OK, key="k2", status=Status.UNPARSEABLE, scores=None)
        counted.insert(1, other)
    assert read_judgements(path, RUBRICS) == counted
    with Ledger(path, RUBRICS) as ledger:
        assert ledger.judgements == counted
    assert path.read_text("utf-8") == content
    told = capsys.readouterr().err
    assert (f"{path}, line 2: " in told) == (len(counted) == 2)
    assert told.count("\n") == (len(counted) == 2)
