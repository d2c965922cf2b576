"""The one client of OpenAI-compatible servers: what generator, judge and encoder share, and what nobody may see."""

import asyncio
import threading
from base64 import b64encode
from contextlib import ExitStack

import pytest

from http_server import wait_until
from judge_server import serving
from sozo.data.errors import UserError
from sozo.scoring.endpoint.client import Endpoint
from sozo.scoring.endpoint.pace import CircuitBreaker, RetryPolicy, run_to_end

KEY = "sk-test/0123456789abcdef"
QUICK = RetryPolicy(retries=3, first_wait=0.01, longest_wait=0.02, patience=1.0)


@pytest.fixture
def serve(monkeypatch):
    """`url, requests = serve(reply)`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    servers = ExitStack()

    def make(reply):
        requests = []

        def answer(request, headers):
            requests.append((request, dict(headers)))
            return reply(request, headers)

        return servers.enter_context(serving(answer)), requests

    with servers:
        yield make


def number(content):
    return content["n"]


def post(endpoint, bodies):
    outcomes = {}
    endpoint.post_all("x", bodies, number, outcomes.__setitem__)
    return [outcomes[k] for k in range(len(bodies))]


def test_as_many_at_once_as_is_said_and_each_outcome_has_its_number(serve):
    under_way, seen = set(), []
    together = threading.Barrier(4)

    def reply(request, headers):
        under_way.add(request["n"])
        seen.append(len(under_way))
        together.wait(10)
        under_way.remove(request["n"])
        return 200, {}, request

    url, requests = serve(reply)
    endpoint = Endpoint("m", url, concurrency=4)
    assert [
        outcome.value for outcome in post(endpoint, [{"n": k} for k in range(12)])
    ] == list(range(12))
    assert (len(requests), max(seen)) == (12, 4)
    assert post(endpoint, []) == []


def test_it_works_where_an_event_loop_is_running(serve):
    url, _ = serve(lambda request, headers: (200, {}, request))

    async def notebook():
        return post(Endpoint("m", url), [{"n": 1}])

    assert asyncio.run(notebook())[0].value == 1
    assert run_to_end(asyncio.sleep(0, "x")) == "x"


def test_after_an_error_what_is_under_way_arrives_and_nothing_more_is_sent(serve):
    failed = threading.Event()

    def reply(request, headers):
        if request["n"]:
            failed.wait(10)
        else:
            wait_until(lambda: len(requests) == 3)
        return 200, {}, request

    url, requests = serve(reply)
    kept = []

    def take(k, outcome):
        if k == 0:
            failed.set()
            raise UserError("the disk is full")
        kept.append(k)

    with pytest.raises(UserError):
        Endpoint("m", url, concurrency=3).post_all(
            "x", [{"n": k} for k in range(20)], number, take
        )
    assert sorted(kept) == [1, 2]
    assert len(requests) == 3


def test_no_secret_is_shown_however_it_is_echoed(serve):
    basic = b64encode(b"me:p%ss-word/1").decode()
    forms = (
        KEY,
        "p%ss-word/1",
        "p%25ss-word%2F1",
        basic,
        "me:p%25ss-word%2F1@host",
    )

    def reply(request, headers):
        return (
            400,
            {},
            {"error": {"message": " ".join((*forms, headers["Authorization"]))}},
        )

    url, _ = serve(reply)
    endpoint = Endpoint("m", url.replace("//", "//me:p%25ss-word%2F1@"), retry=QUICK)
    [outcome] = post(endpoint, [{}])
    message = str(endpoint.failure(outcome.error))
    assert endpoint.url == url
    assert message.count("***") == len(forms) + 1
    for secret in ("0123456789", "ss-word", basic):
        assert secret not in message


def test_an_answer_ends_what_failed_in_a_row():
    breaker = CircuitBreaker()
    assert not any(breaker.trips(f"a{k}", answered=False) for k in range(19))
    assert not breaker.trips("b", answered=True)
    assert not any(breaker.trips(f"c{k}", answered=False) for k in range(19))
    assert breaker.trips("d", answered=False)
