"""The bill: what models and judges took is written down as it happens, adds up over commands, and ends at a budget."""

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sent_by_others as sent
from http_server import wait_until
from judge_server import completion
from model_server import server
from sentences import refused, says
from sozo.data.errors import UserError
from sozo.data.progress import say_once
from sozo.eval.cli import make_app
from sozo.scoring.endpoint.bill import BILL, Bill, Budget, OverBudgetError, Paid, Price
from sozo.scoring.endpoint.bill import read_bills as read
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.endpoint.pace import RetryPolicy
from two_tasks import both

BODY = {"messages": [{"role": "user", "content": "あ"}]}
PRICE = Price(1e6, 1e6)  # a dollar a token
AT_MOST = len(json.dumps(BODY["messages"], ensure_ascii=False).encode()) + 64 + 10
# Who waits for room waits for ever where the bill is wrong.
pytestmark = pytest.mark.timeout(30)
PRICES = (
    *("--price-in", "1", "--price-out", "2"),
    *("--judge-price-in", "3", "--judge-price-out", "4"),
)


FORK = multiprocessing.get_context("fork")
NO = 401, {"error": {"message": "no"}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def url():
    """A server that replies to all."""
    with server(lambda _: (200, completion())) as (url, _):
        yield url


def asked(url, path, times=1, price=PRICE, budget=None, timeout=5.0):
    """What came of requests, one after the other, that are noted in a bill at `path`."""
    retry = RetryPolicy(retries=2, first_wait=0.0)
    endpoint = Endpoint("m", url, retry=retry, concurrency=1, timeout=timeout)
    endpoint.bill = Bill(path, "model", price, 10, budget)
    outcomes = []
    endpoint.post_all(
        "chat/completions",
        [BODY] * times,
        endpoint.chat_reply,
        lambda _, outcome: outcomes.append(outcome),
    )
    return outcomes


def test_each_attempt_is_billed_by_how_it_ended(tmp_path):
    unread = completion()
    del unread["choices"]
    replies = [
        (500, {"error": {"message": "boom"}}),
        (200, unread),
        (200, completion()),
        (200, completion(usage=None)),
        (200, {"error": {"message": "upstream", "code": 400}}),
    ]
    with server(lambda _: replies.pop(0)) as (url, requests):
        asked(url, tmp_path / BILL, times=3)
    assert len(requests) == 5
    # Refused, 120 tokens twice, and two of which only the most is known.
    assert read([tmp_path / BILL]) == {
        "model": Paid(5, 200, 40, 1, 0, 2, 240.0, 240.0 + 2 * AT_MOST)
    }


def test_a_count_that_no_prompt_can_have_is_told_once(tmp_path, capsys):
    absurd = completion() | {"usage": {"prompt_tokens": 2050, "completion_tokens": 1}}
    with server(lambda _: (200, absurd)) as (url, _):
        asked(url, tmp_path / "bill.jsonl", times=3)
    count, cost = capsys.readouterr().err.splitlines()
    assert says("bill: a count that cannot be", count)
    assert says("bill: more than its most", cost)


def test_nothing_is_written_before_something_may_be_paid(url, tmp_path):
    path = tmp_path / "new" / BILL
    with server(lambda _: NO) as (closed, _):
        with pytest.raises(UserError):
            asked(closed, path)
        assert not path.parent.exists()
        asked(url, path)
        with pytest.raises(UserError):
            asked(closed, path)
    assert read([path]) == {"model": Paid(2, 100, 20, 1, 0, 0, 120.0, 120.0)}


def test_what_was_lost_counts_at_its_most(tmp_path):
    over = threading.Event()

    def silent(_):
        over.wait(10)
        return 200, completion()

    with server(silent) as (url, _):
        (outcome,) = asked(url, tmp_path / BILL, timeout=0.1)
        over.set()
    assert outcome.value is None
    assert read([tmp_path / BILL]) == {
        "model": Paid(3, 0, 0, 0, 3, 3, 0.0, 3 * AT_MOST)
    }


def test_a_torn_line_is_of_a_request_under_way_and_what_follows_counts(url, tmp_path):
    path = tmp_path / BILL
    asked(url, path, times=2)
    path.write_bytes(path.read_bytes()[:-20])
    asked(url, path)
    assert read([path]) == {"model": Paid(3, 200, 40, 0, 1, 1, 240.0, 240.0 + AT_MOST)}


@pytest.mark.parametrize("line", ['{"key": 1}', "17", "hello"])
def test_what_is_no_bill_is_named_by_its_line(line, tmp_path):
    path = tmp_path / BILL
    path.write_text(f'{{"request": "a", "to": "model"}}\n{line}\n')
    with refused("bill: no line of a bill"):
        read([path])


SENT = '{"request": "a", "to": "model", "most": null}'
ENDED = '{"request": "a", "ended": "reply", "cost": 1.0}'


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        ("ends alone", [ENDED]),
        ("an end of another", [SENT, ENDED, ENDED.replace('"a"', '"b"')]),
        ("cost anything", [SENT]),
        ("cost anything", [SENT.replace("null", "-5")]),
    ],
)
def test_what_cannot_be_summed_is_refused_under_a_limit(row, lines, tmp_path):
    path = tmp_path / BILL
    path.write_text("\n".join(lines) + "\n")
    with refused(f"bill: {row}"):
        read([path], limited=True)


@pytest.mark.parametrize("numbers", sent.BILL)
def test_an_impossible_number_of_a_bill_does_not_count(numbers, tmp_path, capsys):
    say_once.cache_clear()
    path = tmp_path / BILL
    lines = [
        '{"request": "a", "to": "judge", "most": 2.0, "time": null}',
        f'{{"request": "a", "ended": "reply", {numbers}}}',
        '{"request": "b", "to": "judge", "most": 2.0, "time": null}',
        '{"request": "b", "ended": "reply", "prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}',
    ]
    path.write_text("\n".join(lines) + "\n")
    before = path.read_bytes()
    paid = read([path])["judge"]
    assert paid.requests == 2
    assert 0.25 <= paid.cost <= 0.75
    assert paid.cost <= paid.cost_at_most <= 2.25
    assert 10 <= paid.prompt_tokens <= 20
    assert 5 <= paid.completion_tokens <= 10
    assert path.read_bytes() == before
    told = capsys.readouterr().err
    assert f"{path}, line 2: " in told
    assert told.count("\n") == 1


def test_a_bill_is_a_plain_file_whatever_its_line_ends(url, tmp_path):
    path = tmp_path / BILL
    asked(url, path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read([path])["model"].requests == 1
    os.mkfifo(tmp_path / "pipe")
    with refused("bill: no file"):
        Bill(tmp_path / "pipe", "model", None, None)
    for price, longest in ((None, 10), (PRICE, None)):
        with refused("bill: max_cost without prices"):
            Bill(path, "model", price, longest, Budget(1.0))


def test_what_a_request_itself_says_of_its_length_is_reserved(tmp_path):
    bill = Bill(tmp_path / BILL, "model", PRICE, 10, Budget(AT_MOST + 89.0))

    async def send():
        raise AssertionError("it was sent")

    for more in ({"max_tokens": 100}, {"n": 10}):
        with pytest.raises(OverBudgetError):
            asyncio.run(asyncio.wait_for(bill.note(BODY | more, send), 5))


def test_after_an_error_what_waits_for_room_is_not_sent(tmp_path):
    budget = Budget(1.5 * AT_MOST)
    with server(lambda _: NO) as (url, requests):
        endpoint = Endpoint("m", url, concurrency=3)
        endpoint.bill = Bill(tmp_path / BILL, "model", PRICE, 10, budget)
        with refused("client: a wrong key"):
            endpoint.post_all("chat/completions", [BODY] * 3, lambda c: c, print)
    assert len(requests) == 1


def test_a_price_that_is_given_later_counts(url, tmp_path):
    asked(url, tmp_path / BILL, price=None)
    assert read([tmp_path / BILL])["model"].unknown_cost == 1
    assert read([tmp_path / BILL], {"model": PRICE})["model"].cost == 120.0


def test_nothing_is_sent_that_could_cost_more_than_is_left(tmp_path):
    budget = Budget(1000.0, spent=1000.0 - AT_MOST - 121.0)
    with (
        server(lambda _: (200, completion())) as (url, requests),
        refused("bill: over the budget", OverBudgetError),
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

    asyncio.run(asyncio.wait_for(together(), 5))
    # c could bring 2 to 11, and nothing is under way that would end below its most.
    assert order == ["a", "b", "no c"]
    assert budget.spent == 2


def pay(file, times):
    """One payment after the other, of at most 3 dollars and really 1, while there is room for it; `times` at most."""
    budget = Budget(30.0, file=file)

    async def payments():
        for _ in range(times):
            if not await budget.reserve(3.0):
                return
            budget.settle(3.0, 1.0)
        assert await budget.reserve(3.0)
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(payments())


def test_commands_at_once_share_the_total_of_a_file_and_a_kill_loses_none_of_it(
    tmp_path,
):
    file = str(tmp_path / "budget.txt")
    for times, codes in (([2], [-signal.SIGKILL]), ([99, 99], [0, 0])):
        payers = [FORK.Process(target=pay, args=(file, n)) for n in times]
        for payer in payers:
            payer.start()
        for payer in payers:
            payer.join()
        assert [payer.exitcode for payer in payers] == codes
    lines = Path(file).read_text().splitlines()
    # 2 were paid, 3 may have been; with 23 more there is no room for another 3.
    assert sum(map(float, lines)) == 28


@pytest.mark.parametrize("content", ["no budget\n", "1.5\n-"])
def test_what_is_no_budget_is_refused_as_it_is(content, tmp_path):
    (tmp_path / "b").write_text(content)
    budget = Budget(1.0, file=str(tmp_path / "b"))
    with refused("bill: no budget file"):
        asyncio.run(budget.reserve(0.5))
    assert (tmp_path / "b").read_text() == content
    with refused("bill: a budget file without a limit"):
        Budget(None, file=str(tmp_path / "b"))


def counts(requests):
    """How many each was asked, of which one is a greeting."""
    return Counter({"m": "model", "j": "judge"}[body["model"]] for body in requests)


@pytest.fixture
def sozo(tmp_path, monkeypatch):
    """The command, run here."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(make_app(), words)


def command(url, *words):
    return [
        *("run", "--tasks", "jcq", "--model", "m", "--base-url", url, "--trial"),
        *("--judge-model", "j", "--judge-base-url", url, "--output", "out"),
        *("--concurrency", "3", "--judge-concurrency", "3", *words),
    ]


def test_a_budget_is_for_model_and_judge_and_for_all_commands(sozo, tmp_path):
    with server(both) as (url, requests):
        first = sozo(*command(url, *PRICES, "--max-cost", "0.02"))
        assert first.exit_code == 3, first.output
        assert says("bill: a run over its budget", first.output)
        assert "Paid for the model: " in first.stdout
        paid = read([tmp_path / "out/m/jcq" / BILL])
        assert 0.015 < sum(each.cost_at_most for each in paid.values()) <= 0.02
        (tmp_path / "out/m/jcq" / BILL).rename(tmp_path / BILL)
        unbilled = sozo(*command(url, *PRICES, "--max-cost", "10"))
        assert unbilled.exit_code == 2
        assert says("bill: a budget beside answers without one", unbilled.output)
        (tmp_path / BILL).rename(tmp_path / "out/m/jcq" / BILL)
        done = sozo(*command(url, *PRICES, "--max-cost", "10"))
    assert done.exit_code == 0, done.output
    bill = json.loads((tmp_path / "out/m/jcq/metrics.json").read_text())["bill"]
    assert {of: paid["requests"] for of, paid in bill.items()} == counts(requests)
    assert bill["judge"]["cost"] == pytest.approx(
        (3 * bill["judge"]["prompt_tokens"] + 4 * bill["judge"]["completion_tokens"])
        / 1e6
    )


def test_another_command_by_the_same_budget_file_asks_no_more(sozo, tmp_path):
    words = (*PRICES, "--max-cost", "0.02", "--budget-file", "budget.txt")
    with server(both) as (url, _):
        first = sozo(*command(url, *words))
        second = sozo(*command(url, *words, "--output", "other"))
    assert (first.exit_code, second.exit_code) == (3, 3), second.output
    assert says("bill: another command over the budget", second.output)
    bills = [*tmp_path.rglob(BILL)]
    paid = [each for bill in bills for each in read([bill]).values()]
    total = sum(map(float, (tmp_path / "budget.txt").read_text().splitlines()))
    assert total == pytest.approx(sum(each.cost_at_most for each in paid))
    assert total <= 0.02


@pytest.mark.launches
def test_a_kill_loses_what_is_under_way_and_no_more(sozo, tmp_path):
    killed = threading.Event()

    def reply(body):
        if len(requests) >= 8:
            killed.wait(60)
        return both(body)

    with server(reply) as (url, requests):
        words = command(url)
        running = subprocess.Popen(
            [sys.executable, "-m", "sozo", *words],
            cwd=tmp_path,
            env=os.environ | {"OPENAI_API_KEY": "none"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: len(requests) >= 8 or running.poll() is not None, 120)
        finally:
            running.kill()
            running.wait()
            killed.set()
        done = sozo(*words)
    assert done.exit_code == 0, done.output
    paid = read([tmp_path / "out/m/jcq" / BILL])
    lost = sum(each.lost for each in paid.values())
    assert 1 <= lost <= 3
    # A request may be killed between its line and the server.
    assert 0 <= sum(each.requests for each in paid.values()) - len(requests) <= lost
