"""The endpoint judge against a scripted server on loopback: what is retried, what is not, and what is never shown."""

import asyncio
import time
from contextlib import ExitStack
from email.utils import formatdate

import pytest

from http_server import wait_until
from judge_asked import ask
from judge_server import VERDICT, completion, serving
from sentences import refused, says
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.endpoint.pace import RetryPolicy, retry_after
from sozo.scoring.judges.endpoint import EndpointJudge

KEY = "sk-test/0123456789abcdef"
QUICK = RetryPolicy(retries=3, first_wait=0.01, longest_wait=0.02, patience=1.0)


@pytest.fixture
def serve(monkeypatch):
    """`judge, seen = serve(answer, answer, ...)`: the last answer is given from then on. An exception in one fails."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    servers = ExitStack()

    def make(*answers, by=None, **how):
        seen = []

        def reply(request, headers):
            seen.append((request, dict(headers), time.monotonic()))
            if by:
                return by(request)
            answer = answers[min(len(seen), len(answers)) - 1]
            return answer() if callable(answer) else answer

        url = servers.enter_context(serving(reply))
        return EndpointJudge("judge", base_url=url, **{"retry": QUICK, **how}), seen

    with servers:
        yield make


def test_the_request_and_the_reply(serve):
    judge, seen = serve((200, {}, completion()))
    assert ask(judge, "評価して") == [Reply(VERDICT, False, "stop", "r", 100, 20)]
    request, headers, _ = seen[0]
    assert request == {
        "model": "judge",
        "temperature": 0.0,
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": "評価して"}],
    }
    assert headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "trouble",
    [
        (500, {}, {"error": {"message": "boom"}}),
        (408, {}, b"<html>"),
        None,
        (200, {}, b"\xff{"),
        (200, {}, b'{"choices": [{"mess'),
        (200, {}, []),
    ],
)
def test_trouble_that_passes_is_tried_again(serve, trouble):
    judge, seen = serve(trouble, trouble, (200, {}, completion()))
    assert ask(judge, "p")[0].text == VERDICT
    assert len(seen) == 3


def test_nobody_there(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    judge = EndpointJudge("judge", base_url="http://127.0.0.1:9/v1", retry=QUICK)
    with refused("client: nobody there"):
        ask(judge, "p")
    judge.proven = True  # it may be restarting
    with refused("client: nobody there any more"):
        ask(judge, "p")


@pytest.mark.parametrize("status", [403, 404])
def test_one_refused_prompt_is_no_dead_endpoint(serve, status):
    def refuses(request):
        if "だめ" in request["messages"][0]["content"]:
            return status, {}, {"error": {"message": "not this one"}}
        wait_until(lambda: judge.proven or judge._doubtful)  # refusing is quicker
        return 200, {}, completion()

    judge, _ = serve(by=refuses, concurrency=2)
    replies = ask(judge, "だめ", "p", "q")
    line = f"HTTP {status}: not this one"
    line += " (asked /v1/chat/completions)" * (status == 404)
    assert [reply.error for reply in replies] == [line, None, None]
    assert judge.proven
    assert ask(judge, "だめ")[0].error == line


def test_a_server_that_wants_an_hour_is_given_a_minute(serve, capsys, monkeypatch):
    monkeypatch.setattr("sozo.scoring.endpoint.client._LONG", 0.05)
    policy = RetryPolicy(retries=5, first_wait=0.01, longest_wait=0.1, patience=1.0)
    judge, seen = serve(
        (503, {"Retry-After": "3600"}, {"error": "warming up"}), retry=policy
    )
    assert ask(judge, "p")[0].error == "HTTP 503: warming up (2 attempts)"
    assert len(seen) == 2
    assert says("client: a long wait", capsys.readouterr().err)


def test_a_rate_limit_holds_everybody_back_as_long_as_it_says(serve):
    limited = (429, {"retry-after-ms": "300"}, {})
    judge, seen = serve(limited, (200, {}, completion()), concurrency=2)

    async def first_one_then_two():
        first = asyncio.create_task(judge.ask("a"))
        while not seen:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        replies = await asyncio.gather(first, judge.ask("b"), judge.ask("c"))
        await judge.close()
        return replies

    assert [reply.text for reply in asyncio.run(first_one_then_two())] == [VERDICT] * 3
    limited, *others = [moment for *_, moment in seen]
    assert len(others) == 3
    assert min(others) - limited >= 0.29


def test_rate_limits_do_not_use_up_the_retries(serve):
    limited = (429, {"Retry-After": "0.01"}, {})
    judge, seen = serve(*[limited] * 10, (200, {}, completion()))
    assert ask(judge, "p")[0].text == VERDICT
    assert len(seen) == 11
    judge, seen = serve((429, {"Retry-After": "0.3"}, {"error": {"message": "later"}}))
    assert ask(judge, "p")[0].error.startswith("HTTP 429: later")
    assert len(seen) == 4  # the patience is one second


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        ((401, {}, {"error": {"message": f"no key: {KEY}"}}), "a key that is shown"),
        ((429, {"Retry-After": "3600"}, {}), "a limit for an hour"),
    ],
)
def test_what_no_prompt_will_get_past_ends_the_run(serve, answer, row):
    judge, seen = serve(answer)
    with refused(f"client: {row}"):
        ask(judge, "p")
    assert len(seen) == 1


def test_what_is_wrong_with_one_prompt_is_not_tried_again(serve):
    judge, seen = serve(
        (400, {}, {"error": {"message": "too long"}}),
        (400, {}, {"error": {"code": "content_filter"}}),
    )
    assert ask(judge, "p")[0] == Reply(error="HTTP 400: too long")
    assert ask(judge, "p")[0].refused
    assert len(seen) == 2


def test_tokens_are_those_of_every_attempt_that_says_so(serve):
    judge, _ = serve(
        (
            200,
            {},
            {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 0}},
        ),
        (200, {}, completion()),
    )
    assert ask(judge, "p")[0].prompt_tokens == 107
    # Of an error that comes beside choices, too.
    judge, _ = serve(
        (200, {}, {**completion(), "error": "cold"}), (200, {}, completion())
    )
    assert ask(judge, "p")[0].prompt_tokens == 200
    judge, _ = serve((200, {}, completion(usage=(10**400, -1))))
    reply = ask(judge, "p")[0]
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)


def test_the_key_is_masked_wherever_the_server_puts_it(serve):
    judge, _ = serve(
        (200, {}, completion(f"{VERDICT} {KEY}", f"stop {KEY}", reply_id=f"id-{KEY}"))
    )
    assert KEY not in repr(ask(judge, "p")[0])
    assert KEY not in repr(judge.describe())


def test_settings_that_cannot_be(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with refused("client: concurrency 0"):
        EndpointJudge("judge", concurrency=0)
    judge = EndpointJudge("judge", base_url="https://me:secret@host/v1?key=secret")
    assert judge.describe()["base_url"] == "https://host/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-鍵")
    with refused("client: no such key"):
        EndpointJudge("judge")
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with refused("client: no key"):
        EndpointJudge("judge")


def test_retry_after_takes_numbers_and_dates():
    assert retry_after(
        None, formatdate(time.time() + 30, usegmt=True)
    ) == pytest.approx(30, abs=2)
    assert retry_after(None, formatdate(0, usegmt=True)) == 0.0
    assert [
        retry_after(None, value) for value in (None, "", "soon", "-1", "inf", "nan")
    ] == [None] * 6
