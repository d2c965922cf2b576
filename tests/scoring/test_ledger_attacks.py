"""Lines of a bill and of a judge's ledger that nobody can have written truly: named, kept, and not counted."""

import json
from dataclasses import asdict, replace

import pytest

import sent_by_others as sent
from sozo.data import progress
from sozo.scoring.endpoint.bill import read_bills
from sozo.scoring.judges.ledger import Judgement, Ledger, read_judgements
from sozo.scoring.judges.protocol import Status
from sozo.tasks.jcq.rubric import JCQ_V1

RIGHT = Judgement(
    "k1",
    "1",
    "a1",
    "judge",
    "jcq-v1",
    Status.OK,
    sent.SCORES,
    sent.VERDICT,
    "r1",
    "stop",
    100,
    20,
    0.5,
)


@pytest.fixture(autouse=True)
def unsaid():
    progress.say_once.cache_clear()


@pytest.mark.parametrize("numbers", sent.BILL)
def test_an_impossible_number_of_a_bill_does_not_count(numbers, tmp_path, capsys):
    path = tmp_path / "bill.jsonl"
    lines = [
        '{"request": "a", "to": "judge", "most": 2.0, "time": null}',
        f'{{"request": "a", "ended": "reply", {numbers}}}',
        '{"request": "b", "to": "judge", "most": 2.0, "time": null}',
        '{"request": "b", "ended": "reply", "prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}',
    ]
    path.write_text("\n".join(lines) + "\n")
    before = path.read_bytes()
    paid = read_bills([path])["judge"]
    assert paid.requests == 2
    assert 0.25 <= paid.cost <= 0.75
    assert paid.cost <= paid.cost_at_most <= 2.25
    assert 10 <= paid.prompt_tokens <= 20
    assert 5 <= paid.completion_tokens <= 10
    assert path.read_bytes() == before
    told = capsys.readouterr().err
    assert f"{path}, line 2: " in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("change", sent.LEDGER)
def test_a_line_is_held_against_its_own_reply(change, tmp_path, capsys):
    path = tmp_path / "j.jsonl"
    lines = [asdict(RIGHT), asdict(RIGHT) | {"key": "k2"} | change, asdict(RIGHT)]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(content, "utf-8")
    counted = [RIGHT, RIGHT]
    if change.get("status"):  # it is asked again, which costs, and scores nothing
        other = replace(RIGHT, key="k2", status=Status.UNPARSEABLE, scores=None)
        counted.insert(1, other)
    assert read_judgements(path, (JCQ_V1,)) == counted
    with Ledger(path, (JCQ_V1,)) as ledger:
        assert ledger.judgements == counted
    assert path.read_text("utf-8") == content
    told = capsys.readouterr().err
    assert (f"{path}, line 2: " in told) == (len(counted) == 2)
    assert told.count("\n") == (len(counted) == 2)
