"""What others send to `sozo serve`: each mistake is one line, and neither size, number nor name of a host harms it."""

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest
from typer.testing import CliRunner

import sent_by_others as sent
from http_server import JSON, Running, score, wait_until
from integration_texts import SETTINGS, TEN
from sentences import refused, says
from sozo.eval.cli import make_app
from sozo.rewards.integrations import room as room_module
from sozo.rewards.integrations import serve as serve_module
from sozo.rewards.integrations.core import Integration

SURROGATE = b'"\\ud800"'
DEEP = '{"a":' * 3000 + "1" + "}" * 3000
# What stands where a list of texts is expected, and what stands where one text is.
NO_LISTS = (5, "text", {"0": "犬"})
NO_TEXTS = (
    5,
    None,
    ["犬"],
    [{"role": 5, "content": "犬"}],
    [{"role": "assistant", "content": [{"type": 5, "text": "犬"}]}],
)
NO_LABELS = ([1], 1.5, ["item"], DEEP, "{", '{"a": }', "{} {}")


@pytest.fixture(scope="module")
def clients():
    with (
        Running(Integration("dat", **SETTINGS)) as dat,
        Running(Integration("sat", min_length=10)) as sat,
    ):
        yield {"dat": dat, "sat": sat}


def bodies():
    for wrong in (*NO_LISTS, None):
        yield {"completions": wrong}
        yield {"completions": [TEN], "item": wrong}
    for wrong in NO_LISTS:
        yield {"completions": [TEN], "prompts": wrong}
    for wrong in NO_TEXTS:
        yield {"completions": [TEN, wrong]}
        yield {"completions": [TEN], "prompts": [wrong]}
    for wrong in NO_LABELS:
        yield {"query": ["[INST] x [/INST] a"], "labels": [wrong]}
    yield {"completions": [TEN], "validate": None}
    yield from (5, {}, {"prompts": ["a"]}, {"labels": [""]})
    yield {"completions": [TEN], "prompts": []}
    yield {"completions": ["a"] * 131_073}


def raws():
    yield from (b"", b"{", b'{"completions": [}', b"\xff\xfe", b"{} {}", b"nul")
    yield from (b"[" * 100_000, b'{"a":' * 100_000)
    yield b'{"completions": ' + DEEP.encode() + b"}"
    for wrong in (SURROGATE, b'"\xed\xa0\x80"', b"NaN", b"9" * 5000):
        yield b'{"completions": [%s]}' % wrong
        yield b'{"completions": [[{"role": %s, "content": "a"}]]}' % wrong
    yield b'{"completions": ["a"], "prompts": [%s]}' % SURROGATE
    yield b'{"completions": ["a"], "item": [NaN]}'
    yield b'{"completions": ["a\x01"]}'


def is_one_line(reply, statuses=(400,)):
    assert reply.status_code in statuses, reply.text
    (line,) = reply.json().values()
    assert 0 < len(line) < 1000
    assert "\n" not in line
    assert "Traceback" not in line


def test_each_mistake_of_a_body_is_one_line(clients):
    for body in bodies():
        reply = clients["dat"].post("/score", content=json.dumps(body), headers=JSON)
        is_one_line(reply)
    for raw in raws():
        is_one_line(clients["dat"].post("/score", content=raw, headers=JSON))
    assert clients["dat"].get("/health").json()["seen"] == 0


def test_the_most_values_and_columns_are_read(clients, monkeypatch):
    columns = {"completions": []} | {f"k{k}": [] for k in range(1000)}
    is_one_line(clients["dat"].post("/score", json=columns), statuses=(413,))
    monkeypatch.setattr(serve_module, "MOST_VALUES", 100)
    texts = [",[{" * 300] * 3  # marks within texts are none of JSON's
    reply = score(clients["dat"], completions=texts, validate=True)
    assert reply["reasons"] == ["format"] * 3
    for many in (b"[],", b'"",'):
        raw = b'{"completions": [' + many * 101 + b"0]}"
        reply = clients["dat"].post("/score", content=raw, headers=JSON)
        is_one_line(reply, statuses=(413,))


def test_a_request_too_many(monkeypatch):
    monkeypatch.setattr(serve_module, "MOST_SMALL", 8)
    integration, opened = Integration("dat", **SETTINGS), Event()
    alone = integration.reward.alone
    monkeypatch.setattr(
        integration.reward, "alone", lambda *lists: opened.wait(60) and alone(*lists)
    )
    running = Running(integration)
    with running as client, ThreadPoolExecutor(8) as pool:
        eight = [
            pool.submit(score, client, completions=[TEN, str(k)]) for k in range(8)
        ]
        wait_until(running.app.routes[0].app._small.locked)
        ninth = client.post("/score", json={"completions": ["x" * 1_000_000]})
        is_one_line(ninth, statuses=(503,))
        assert int(ninth.headers["retry-after"]) > 0
        assert client.get("/health").status_code == 200
        opened.set()
        assert sum(reply.result()["reasons"].count(None) for reply in eight) == 1
        assert score(client, completions=[TEN])["reasons"] == ["duplicate"]


@pytest.fixture(scope="module")
def known():
    """A client of a server that knows itself by the name lab7, too."""
    with Running(Integration("dat", **SETTINGS), hosts=["lab7"]) as client:
        yield client


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:80", "[::1]:8765", "LOCALHOST.:1", "Lab7:99"],
)
def test_known_hosts_are_served(known, host):
    assert known.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765",
        "127.0.0.1.nip.io",
        "localhost,evil.example",
        "evil@localhost",
        "localhost:port",
        "[::1",
    ],
)
def test_other_hosts_are_refused(known, host):
    for reply in (
        known.get("/health", headers={"host": host}),
        known.post("/score", json={"completions": []}, headers={"host": host}),
        known.post("/reset", json={}, headers={"host": host}),
    ):
        assert reply.status_code == 400
        assert says("serve: an unknown host", reply.json()["error"])


@pytest.mark.parametrize(
    ("said", "words"),
    {
        "serve: no port": ["dat", "--port", "99999"],
        "serve: reward is a list": ["dat", "--reward", "[1]"],
        "serve: reward is no JSON": ["dat", "--reward", "{"],
        "serve: reward has an unknown setting": ["dat", "--reward", '{"scal": 1}'],
        "serve: no folder of a journal": ["dat", "--journal", "/dev/null/x"],
        "serve: no such task": ["jcq"],
    }.items(),
)
def test_what_cannot_be_served_is_told_at_the_start(said, words):
    done = CliRunner().invoke(make_app(), ["serve", *words])
    assert done.exit_code in (1, 2)
    told = done.stderr.strip() or str(done.exception)
    assert says(said, told.splitlines()[-1]), told


def test_an_integration_refuses_options_that_pay_no_number():
    for wrong in (float("nan"), float("inf"), "1", None, [1]):
        with refused("integration: a scale that is no number"):
            Integration("dat", scale=wrong)
    with refused("integration: penalise_duplicates is a text"):
        Integration("dat", penalise_duplicates="no")
    assert Integration("dat", scale=1).reward.scale == 1


@pytest.mark.parametrize(
    ("limit", "begun"), [("STALLED", b'{"compl'), ("PATIENCE", b" " * 1_100_000)]
)
def test_a_client_that_stops_in_the_midst_is_given_up(limit, begun, monkeypatch):
    monkeypatch.setattr(room_module, limit, 0.2)
    running = Running(Integration("dat", **SETTINGS))
    with running as client, ExitStack() as held:
        for _ in range(3):
            held.enter_context(running.begin(begun, announced=1_900_000))
        wait_until(lambda: client.get("/health").json()["requests"]["slow"] == 3)
        assert score(client, completions=[])["rewards"] == []


def test_a_body_that_is_announced_too_long_is_refused_at_once():
    running = Running(Integration("dat", **SETTINGS))
    with running as client:
        with running.begin(b"{", announced=80_000_000) as connection:
            assert connection.recv(20).startswith(b"HTTP/1.1 413")
        told = client.post("/score", json={"completions": ["a" * 1_000_001]})
        assert told.status_code == 400
        assert says("serve: a text is too long", told.json()["error"])


@pytest.mark.parametrize("raw", sent.EQUAL_KEYS)
def test_a_body_that_says_a_key_twice_is_refused(clients, raw):
    reply = clients["dat"].post("/score", content=raw, headers=JSON)
    is_one_line(reply)
    assert "comes twice" in reply.text


@pytest.mark.parametrize("raw", sent.NO_EQUAL_KEYS)
def test_colons_in_texts_are_no_keys(clients, raw):
    reply = clients["dat"].post("/score", content=raw, headers=JSON)
    assert "comes twice" not in reply.text


def test_who_holds_all_room_gives_way_to_another_address(monkeypatch):
    monkeypatch.setattr(serve_module, "MOST_LARGE", 2)
    head = (
        b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    never_ended = head + b"Content-Length: 1900000\r\n\r\n" + b"x" * 1_500_000
    with Running(Integration("dat", **SETTINGS)) as client, ExitStack() as held:
        for _ in range(4):
            one = held.enter_context(socket.socket())
            one.bind(("127.0.0.2", 0))
            one.connect(("127.0.0.1", client.base_url.port))
            one.sendall(never_ended)

        def counts():
            return client.get("/health").json()["requests"]

        # A client alone has all the room that there is; what is beyond it is refused.
        wait_until(lambda: counts()["refused"] == counts()["read"] == 2)
        for k in range(2):
            text = f"1. 犬\n{k}" + " " * 600_000
            reply = client.post("/score", json={"completions": [text, text]})
            assert reply.status_code == 200
        # One place is enough for who asks for one at a time.
        expected = {"read": 1, "scored": 0, "sent": 0, "refused": 3, "slow": 0}
        assert counts() == expected


def test_a_reply_that_nobody_reads_is_given_up(monkeypatch):
    monkeypatch.setattr(room_module, "STALLED", 0.2)
    sent_parts = []

    async def send(message):
        sent_parts.append(message)
        if len(sent_parts) > 3:
            await asyncio.Event().wait()

    async def deliver():
        client = asyncio.get_running_loop().create_future()
        await serve_module._deliver(b"x" * 1_000_000, client, send)

    with pytest.raises(room_module.SlowClientError):
        asyncio.run(asyncio.wait_for(deliver(), 10))
    assert len(sent_parts) == 4
