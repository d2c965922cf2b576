"""What is paid for is kept: a gentle Ctrl-C, a second reading without asking, prices that come later, fair budgets."""

import json
import os
import signal
import time
from collections import Counter

import pytest

from fakes import FakeJudge
from judge_server import VERDICT, completion
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.ledger import read_judgements
from sozo.scoring.judges.protocol import JudgeSettings, Price, ToJudge
from sozo.scoring.judges.run import judge_answers
from sozo.tasks.jcq.rubric import JCQ_V1
from test_sampling_endpoint import server

ANSWERS = [ToJudge(f"a{k}", str(k), f"問い{k}番", f"答え{k}。") for k in range(6)]


def test_ctrl_c_waits_for_what_is_paid_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "none-for-this-server")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def reply(body):
        if len(requests) == 2:  # both are under way
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        return 200, completion()

    with server(reply) as (url, requests):
        judge = EndpointJudge("j", base_url=url, concurrency=2)
        with pytest.raises(KeyboardInterrupt):
            judge_answers(judge, JCQ_V1, ANSWERS, tmp_path / "j")
        assert len(requests) == len(read_judgements(tmp_path / "j", (JCQ_V1,))) == 2
        assert (
            "stopping: up to 2 requests under way are finished first"
            in capsys.readouterr().err
        )
        done = judge_answers(judge, JCQ_V1, ANSWERS, tmp_path / "j")
        assert (done.requests, done.statuses["ok"], len(requests)) == (4, 6, 6)


def test_a_second_reading_asks_nobody_and_reads_as_one_reads_today(tmp_path):
    replies = iter([VERDICT, f"{VERDICT}\n上記は誤りです。", *["?"] * 20])
    judge = FakeJudge(lambda p: next(replies), concurrency=1)
    judge_answers(judge, JCQ_V1, ANSWERS[:2], tmp_path / "j")
    lines = [json.loads(line) for line in (tmp_path / "j").open("rb")]
    # As an older version read them: no verdict in the first reply, one in the second.
    lines[0] |= {"status": "unparseable", "scores": None}
    scores = {"fluency": 4, "flexibility": 3, "originality": 2, "elaboration": 5}
    lines = [lines[0], lines[1] | {"status": "ok", "scores": scores}]
    (tmp_path / "j").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), "utf-8"
    )
    nobody = FakeJudge(lambda p: AssertionError("asked"))
    settings = JudgeSettings(reparse=True, price_in=1e6, price_out=1e6)
    done = judge_answers(nobody, JCQ_V1, ANSWERS[:2], tmp_path / "j", settings)
    assert nobody.asked == []
    assert [str(judgement.status) for judgement in done.judgements] == [
        "ok",
        "unparseable",
    ]
    assert [judgement.scores for judgement in done.judgements] == [scores, None]
    # Two replies of 120 tokens were paid for, once, and now there is a price.
    assert (done.requests, done.cost, done.unknown_cost) == (0, 240.0, 0)
    again = judge_answers(nobody, JCQ_V1, ANSWERS[:2], tmp_path / "j", settings)
    assert (again.cost, len(read_judgements(tmp_path / "j", (JCQ_V1,)))) == (240.0, 4)


def test_a_second_reading_takes_another_price(tmp_path):
    def cost(price, **how):
        settings = JudgeSettings(price_in=price, price_out=price, **how)
        return judge_answers(
            FakeJudge(lambda p: VERDICT), JCQ_V1, ANSWERS[:1], tmp_path / "j", settings
        ).cost

    assert cost(1e6) == cost(2e6) == 120.0  # as paid
    assert cost(2e6, reparse=True) == 240.0


def test_a_price_that_comes_later_prices_what_was_asked_before(tmp_path):
    judge = FakeJudge(lambda p: VERDICT)
    assert judge_answers(judge, JCQ_V1, ANSWERS[:3], tmp_path / "j").unknown_cost == 3
    done = judge_answers(
        judge,
        JCQ_V1,
        ANSWERS[:3],
        tmp_path / "j",
        JudgeSettings(price_in=1.0, price_out=10.0),
    )
    assert (done.requests, done.unknown_cost) == (0, 0)
    assert done.cost == pytest.approx(3 * (100 + 200) / 1e6)


def test_a_budget_that_ends_early_was_spent_on_all_tasks_alike(tmp_path):
    answers = [
        ToJudge(f"{task}{k}", f"{task}{k}", f"{task}の問い{k}", "答え", task)
        for task in "abc"
        for k in range(10)
    ]
    reply = Reply(VERDICT, False, "stop", "r", 1, 1)
    judge = FakeJudge(lambda p: reply, concurrency=1, max_tokens=1)
    most = max(
        Price(1.0, 1.0).at_most(JCQ_V1.prompt(a.question, a.answer), 1) for a in answers
    )
    settings = JudgeSettings(
        price_in=1.0, price_out=1.0, max_cost=most + 11.5 * 2 / 1e6
    )
    done = judge_answers(judge, JCQ_V1, answers, tmp_path / "j", settings)
    assert done.stopped
    tasks = Counter(
        answer.group
        for answer, judged in zip(answers, done.judgements, strict=True)
        if judged
    )
    assert sum(tasks.values()) >= 9
    assert max(tasks.values()) - min(tasks.values()) <= 1
