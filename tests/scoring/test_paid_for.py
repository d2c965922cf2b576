"""What is paid for is kept: a gentle Ctrl-C, prices that come later, fair budgets."""

import os
import signal
import time
from collections import Counter

import pytest

from fakes import FakeJudge
from judge_server import VERDICT, completion
from model_server import server
from sozo.scoring.endpoint.bill import Price
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.ledger import read_judgements
from sozo.scoring.judges.protocol import JudgeSettings, ToJudge
from sozo.scoring.judges.run import judge_answers
from sozo.tasks.jcq.rubric import JCQ_V1

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


def test_what_was_paid_keeps_its_price(tmp_path):
    def cost(price):
        settings = JudgeSettings(judge_price_in=price, judge_price_out=price)
        return judge_answers(
            FakeJudge(lambda p: VERDICT), JCQ_V1, ANSWERS[:1], tmp_path / "j", settings
        ).cost

    assert cost(1e6) == cost(2e6) == 120.0


def test_a_price_that_comes_later_prices_what_was_asked_before(tmp_path):
    judge = FakeJudge(lambda p: VERDICT)
    assert judge_answers(judge, JCQ_V1, ANSWERS[:3], tmp_path / "j").unknown_cost == 3
    done = judge_answers(
        judge,
        JCQ_V1,
        ANSWERS[:3],
        tmp_path / "j",
        JudgeSettings(judge_price_in=1.0, judge_price_out=10.0),
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
        judge_price_in=1.0, judge_price_out=1.0, max_cost=most + 11.5 * 2 / 1e6
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
