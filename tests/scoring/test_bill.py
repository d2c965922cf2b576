"""The bill: what models and judges took is written down as it happens, adds up over commands, and ends at a budget."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from judge_server import completion
from model_server import server
from sozo.data.errors import UserError
from sozo.scoring.endpoint.bill import BILL, Bill, Budget, OverBudgetError, Paid, Price
from sozo.scoring.endpoint.bill import read_bills as read
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.endpoint.pace import RetryPolicy
from two_tasks import both, evaluate

BODY = {"messages": [{"role": "user", "content": "あ"}]}
PRICE = Price(1e6, 1e6)  # a dollar a token
AT_MOST = len(json.dumps(BODY["messages"], ensure_ascii=False).encode()) + 64 + 10
PRICES = (
    *("--price-in", "1", "--price-out", "2"),
    *("--judge-price-in", "3", "--judge-price-out", "4"),
)


@pytest.fixture
def replying(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def asked(url, path, times=1, price=PRICE, budget=None, **options):
    """What came of requests, one after the other, that are noted in a bill at `path`."""
    retry = RetryPolicy(retries=2, first_wait=0.0)
    endpoint = Endpoint("m", url, retry=retry, concurrency=1, timeout=0.5, **options)
    endpoint.bill = Bill(path, "model", price, 10, budget)
    outcomes = []
    endpoint.post_all(
        "chat/completions",
        [BODY] * times,
        endpoint.chat_reply,
        lambda _, outcome: outcomes.append(outcome),
    )
    return outcomes


def test_each_attempt_is_billed_by_how_it_ended(replying, tmp_path):
    unread = completion()
    del unread["choices"]
    replies = [
        (500, {"error": {"message": "boom"}}),
        (200, unread),
        (200, completion()),
        (200, completion(usage=None)),
    ]
    with server(lambda _: replies.pop(0)) as (url, requests):
        asked(url, tmp_path / BILL, times=2)
    assert len(requests) == 4
    # Refused, 120 tokens twice, and one of which only the most is known.
    assert read([tmp_path / BILL]) == {
        "model": Paid(4, 200, 40, 1, 0, 1, 240.0, 240.0 + AT_MOST)
    }


def test_nothing_is_written_before_something_may_be_paid(replying, tmp_path):
    path = tmp_path / "new" / BILL
    with server(lambda _: (401, {"error": {"message": "no"}})) as (url, _):
        with pytest.raises(UserError):
            asked(url, path)
        assert not path.parent.exists()
    with server(lambda _: (200, completion())) as (url, _):
        asked(url, path)
    with (
        server(lambda _: (401, {"error": {"message": "no"}})) as (url, _),
        pytest.raises(UserError),
    ):
        asked(url, path)
    assert read([path]) == {"model": Paid(2, 100, 20, 1, 0, 0, 120.0, 120.0)}


def test_what_was_lost_counts_at_its_most(replying, tmp_path):
    def slow(_):
        time.sleep(1)
        return 200, completion()

    with server(slow) as (url, _):
        (outcome,) = asked(url, tmp_path / BILL)
    assert outcome.value is None
    assert read([tmp_path / BILL]) == {
        "model": Paid(3, 0, 0, 0, 3, 3, 0.0, 3 * AT_MOST)
    }


def test_a_torn_line_is_of_a_request_under_way_and_what_follows_counts(
    replying, tmp_path
):
    path = tmp_path / BILL
    with server(lambda _: (200, completion())) as (url, _):
        asked(url, path, times=2)
        content = path.read_bytes()
        path.write_bytes(content[:-20])
        asked(url, path)
    assert read([path]) == {"model": Paid(3, 200, 40, 0, 1, 1, 240.0, 240.0 + AT_MOST)}


@pytest.mark.parametrize(
    "line", ['{"key": 1}', "17", "hello", '{"request": 1, "to": "model"}']
)
def test_what_is_no_bill_is_named_by_its_line(line, tmp_path):
    path = tmp_path / BILL
    path.write_text(f'{{"request": "a", "to": "model"}}\n{line}\n')
    with pytest.raises(UserError, match=r"bill.jsonl, line 2: is no line of a bill"):
        read([path])


def test_an_error_within_a_reply_may_have_been_paid_for(replying, tmp_path):
    with server(lambda _: (200, {"error": {"message": "upstream", "code": 400}})) as (
        url,
        _,
    ):
        (outcome,) = asked(url, tmp_path / BILL)
    assert outcome.status == 400
    assert read([tmp_path / BILL]) == {"model": Paid(1, 0, 0, 0, 0, 1, 0.0, AT_MOST)}


def test_a_bill_is_a_plain_file_whatever_its_line_ends(replying, tmp_path):
    path = tmp_path / BILL
    with server(lambda _: (200, completion())) as (url, _):
        asked(url, path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read([path])["model"].requests == 1
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="is no file"):
        Bill(tmp_path / "pipe", "model", None, None)


def test_what_a_request_itself_says_of_its_length_is_reserved(tmp_path):
    bill = Bill(tmp_path / BILL, "model", PRICE, 10, Budget(AT_MOST + 89.0))

    async def send():
        raise AssertionError("it was sent")

    for more in ({"max_tokens": 100}, {"n": 10}):
        with pytest.raises(OverBudgetError):
            asyncio.run(bill.note(BODY | more, send))


def test_after_an_error_what_waits_for_room_is_not_sent(replying, tmp_path):
    def refuse(_):
        time.sleep(0.2)
        return 401, {"error": {"message": "no"}}

    budget = Budget(1.5 * AT_MOST)
    with server(refuse) as (url, requests):
        endpoint = Endpoint("m", url, concurrency=3)
        endpoint.bill = Bill(tmp_path / BILL, "model", PRICE, 10, budget)
        with pytest.raises(UserError, match="OPENAI_API_KEY"):
            endpoint.post_all("chat/completions", [BODY] * 3, lambda c: c, print)
    assert len(requests) == 1


def test_a_price_that_is_given_later_counts(replying, tmp_path):
    with server(lambda _: (200, completion())) as (url, _):
        asked(url, tmp_path / BILL, price=None)
    assert read([tmp_path / BILL])["model"].unknown_cost == 1
    assert read([tmp_path / BILL], {"model": PRICE})["model"].cost == 120.0


def test_nothing_is_sent_that_could_cost_more_than_is_left(replying, tmp_path):
    budget = Budget(1000.0, spent=1000.0 - AT_MOST - 121.0)
    with (
        server(lambda _: (200, completion())) as (url, requests),
        pytest.raises(OverBudgetError, match="bring the cost above 1000"),
    ):
        asked(url, tmp_path / BILL, times=5, budget=budget)
    assert len(requests) == 2
    assert budget.spent == 1000.0 - AT_MOST + 119.0


def test_a_budget_waits_for_what_is_under_way():
    budget, order = Budget(10.0), []

    async def use(name, most, cost):
        if await budget.reserve(most):
            order.append(name)
            await asyncio.sleep(0.01)
            budget.settle(most, cost)
        else:
            order.append(f"no {name}")

    async def together():
        await asyncio.gather(use("a", 8, 1), use("b", 8, 1), use("c", 9, 1))

    asyncio.run(together())
    # c could bring 2 to 11, and nothing is under way that would end below its most.
    assert order == ["a", "b", "no c"]
    assert budget.spent == 2


def counts(requests):
    return Counter(
        "judge" if "# 出力形式" in body["messages"][-1]["content"] else "model"
        for body in requests
    )


def command(url, *words):
    return [
        *("run", "--tasks", "jcq", "--model", "m", "--base-url", url, "--trial"),
        *("--judge-model", "j", "--judge-base-url", url, "--output", "out"),
        *("--concurrency", "3", "--judge-concurrency", "3", *words),
    ]


def test_the_bill_stands_in_the_table_the_metrics_and_the_page(tmp_path):
    with server(both) as (url, requests):
        done = evaluate(tmp_path, *command(url, *PRICES))
    assert done.returncode == 0, done.stderr
    bill = json.loads((tmp_path / "out/m/jcq/metrics.json").read_text())["bill"]
    # Each was greeted, too.
    sent = counts(requests)
    assert bill["model"]["requests"] + bill["judge"]["requests"] == sum(sent.values())
    assert bill["judge"]["requests"] == sent["judge"] + 1
    assert bill["judge"]["cost"] == pytest.approx(
        (3 * bill["judge"]["prompt_tokens"] + 4 * bill["judge"]["completion_tokens"])
        / 1e6
    )
    assert "Paid for the model" in done.stdout
    page = evaluate(tmp_path, "report", "out", "--output", "r.html")
    assert page.returncode == 0, page.stderr
    assert "Paid for the judge" in (tmp_path / "r.html").read_text()
    again = evaluate(tmp_path, *command(url, *PRICES))
    assert "nothing was computed again" in again.stdout


def test_a_budget_is_for_model_and_judge_and_for_all_commands(tmp_path):
    with server(both) as (url, requests):
        first = evaluate(tmp_path, *command(url, *PRICES, "--max-cost", "0.02"))
        assert first.returncode == 3, first.stderr
        assert "could bring the cost above 0.02" in first.stderr
        assert "Paid for the model: " in first.stdout
        again = evaluate(tmp_path, *command(url, *PRICES, "--max-cost", "0.02"))
        assert again.returncode == 3
        paid = read([tmp_path / "out/m/jcq" / BILL])
        assert 0.015 < sum(each.cost_at_most for each in paid.values()) <= 0.02
        done = evaluate(tmp_path, *command(url, *PRICES, "--max-cost", "10"))
    assert done.returncode == 0, done.stderr
    bill = json.loads((tmp_path / "out/m/jcq/metrics.json").read_text())["bill"]
    assert sum(paid["requests"] for paid in bill.values()) == len(requests)


def test_a_budget_needs_the_models_prices_and_a_limit(tmp_path):
    words = ("--judge-price-in", "1", "--judge-price-out", "1", "--max-cost", "1")
    unlimited = (
        "--endpoint",
        "{limit_name: none}",
        "--price-in",
        "1",
        "--price-out",
        "1",
    )
    with server(both) as (url, requests):
        for more in ((), unlimited):
            done = evaluate(tmp_path, *command(url, *words, *more))
            assert done.returncode == 2
            assert "max_cost needs the prices of the model's tokens" in done.stderr
        # The judge was greeted.
        assert counts(requests) == {"model": 2}


def test_a_kill_loses_what_is_under_way_and_no_more(tmp_path):
    def reply(body):
        time.sleep(0.05)
        return both(body)

    with server(reply) as (url, requests):
        words = command(url)
        environment = os.environ | {"OPENAI_API_KEY": "none"}
        for _ in range(3):
            running = subprocess.Popen(
                [sys.executable, "-m", "sozo", *words],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            before = len(requests)
            deadline = time.monotonic() + 60
            while len(requests) < before + 8 and running.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            running.send_signal(signal.SIGKILL)
            running.wait()
        done = evaluate(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    paid = read([tmp_path / "out/m/jcq" / BILL])
    lost = sum(each.lost for each in paid.values())
    assert 1 <= lost <= 9
    # A request may be killed between its line and the server.
    assert 0 <= sum(each.requests for each in paid.values()) - len(requests) <= lost
