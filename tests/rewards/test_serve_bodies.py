"""What others send to `sozo serve`: each mistake is one line, and neither size, number nor name of a host harms it."""

import asyncio
import json
import random
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from threading import Event

import httpx2
import pytest

import sent_by_others as sent
import warm
from fakes import list_text
from http_server import JSON, Running, score, wait_until
from integration_texts import REWRITE, SETTINGS, STORY, TEN
from sozo.data.errors import UserError
from sozo.rewards.integrations import room as room_module
from sozo.rewards.integrations import serve as serve_module
from sozo.rewards.integrations.core import Integration

SURROGATE = b'"\\ud800"'
DEEP = '{"a":' * 3000 + "1" + "}" * 3000
# What stands where a list of texts is expected, and what stands where one text is.
NO_LISTS = (5, 5.5, True, "text", {"a": [1]}, {"0": "犬"})
NO_TEXTS = (
    *(
        5,
        1.5,
        True,
        None,
        {"content": "犬"},
        {"role": "user"},
        [1],
        ["犬"],
        [None],
        [[]],
        [[{"content": "犬"}]],
    ),
    *(
        [{"role": 5, "content": "犬"}],
        [{"role": None, "content": "犬"}],
        [{"role": ["a"], "content": "犬"}],
    ),
    *(
        [{"role": "assistant", "content": wrong}]
        for wrong in (5, True, 1.5, {"type": "text"}, [1], ["犬"], [None], [[]])
    ),
    *(
        [{"role": "assistant", "content": [{"type": "text", "text": wrong}]}]
        for wrong in (5, True, ["犬"], {"a": 1})
    ),
    [{"role": "assistant", "content": [{"type": 5, "text": "犬"}]}],
    [
        {"role": "user", "content": [{"type": "text", "text": 5}]},
        {"role": "assistant", "content": "犬"},
    ],
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
    yield from ({"completions": wrong} for wrong in (*NO_LISTS, None))
    yield from ({"completions": [TEN], "prompts": wrong} for wrong in NO_LISTS)
    yield from (
        {"completions": [TEN], "validate": wrong}
        for wrong in (0, 1, "true", None, [], {})
    )
    yield from ({"completions": [TEN], "item": wrong} for wrong in (*NO_LISTS, None))
    yield from ({"completions": [wrong]} for wrong in NO_TEXTS)
    yield from ({"completions": [TEN, wrong]} for wrong in NO_TEXTS)
    yield from ({"completions": [TEN], "prompts": [wrong]} for wrong in NO_TEXTS)
    yield from (
        {"query": wrong, "prompts": [TEN], "labels": [""]}
        for wrong in (*NO_LISTS, None)
    )
    yield from (
        {"query": [TEN], "prompts": wrong, "labels": [""]} for wrong in NO_LISTS
    )
    yield from (
        {"query": [TEN], "prompts": [""], "labels": wrong} for wrong in NO_LISTS
    )
    yield from (
        {"query": [wrong], "prompts": ["a"], "labels": [""]} for wrong in NO_TEXTS
    )
    yield from (
        {"query": ["[INST] x [/INST] a"], "labels": [wrong]} for wrong in NO_LABELS
    )
    yield from ([], [TEN], "text", 5, None, True, [[]])
    yield from (
        {},
        {"a": 1},
        {"prompts": ["a"]},
        {"labels": [""]},
        {"completions": [TEN], "prompts": []},
    )
    yield {"completions": ["a"] * 131_073}
    yield {"completions": [5] * 100_000}
    yield {"query": ["a"] * 131_073}


def raws():
    yield from (
        b"",
        b"{",
        b"[",
        b'{"completions"',
        b'{"completions": [}',
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"nul",
    )
    yield from (
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"completions": [' + b"[" * 3000,
        b'{"completions": ' + DEEP.encode() + b"}",
    )
    yield from (
        b'{"completions": [%s]}' % wrong
        for wrong in (SURROGATE, b'"\xed\xa0\x80"', b"NaN", b"Infinity", b"9" * 5000)
    )
    yield from (
        b'{"completions": [[{"role": %s, "content": "a"}]]}' % wrong
        for wrong in (SURROGATE, b"NaN", b"9" * 5000)
    )
    yield b'{"completions": ["a"], "prompts": [%s]}' % SURROGATE
    yield b'{"completions": ["a"], "item": [NaN]}'
    yield b'{"completions": ["a"], "validate": NaN}'
    yield b'{"completions": ["a\x01"]}'


def is_one_line(reply, statuses=(400,)):
    assert reply.status_code in statuses, reply.text
    (line,) = reply.json().values()
    assert 0 < len(line) < 1000
    assert "\n" not in line
    assert "Traceback" not in line


@pytest.mark.parametrize("task", ["dat", "sat"])
def test_each_mistake_of_a_body_is_one_line(clients, task):
    for body in bodies():
        is_one_line(
            clients[task].post("/score", content=json.dumps(body), headers=JSON)
        )
    for raw in raws():
        is_one_line(clients[task].post("/score", content=raw, headers=JSON))
    assert clients[task].get("/health").json()["seen"] == 0


def test_each_mistake_of_a_column_is_one_line(clients):
    for wrong in (5, None, True, ["a"], {"a": 1}, 1.5):
        is_one_line(
            clients["sat"].post(
                "/score", json={"completions": [REWRITE], "story": [wrong]}
            )
        )
        query = {
            "query": [f"[INST] x [/INST] {REWRITE}"],
            "labels": [json.dumps({"story": wrong})],
        }
        is_one_line(clients["sat"].post("/score", json=query))
    good = score(
        clients["sat"],
        completions=[REWRITE],
        story=[STORY],
        more=[{"a": [1]}],
        validate=True,
    )
    assert good["reasons"] == [None]


def test_whatever_stands_in_a_body_is_no_bug(clients):
    """Bodies drawn at random from pieces that fit somewhere: an answer or a mistake, and never a failure."""
    draw = random.Random(5)
    pieces = [
        None,
        True,
        0,
        -1,
        2**70,
        0.5,
        "",
        "犬",
        TEN,
        "user",
        "assistant",
        "text",
        "[INST] a [/INST] b",
        "{}",
        DEEP,
    ]
    names = [
        "completions",
        "prompts",
        "query",
        "labels",
        "validate",
        "story",
        "item",
        "split",
        "role",
        "content",
        "type",
        "text",
    ]

    def piece(depth):
        kind = draw.random()
        if depth == 0 or kind < 0.3:
            return draw.choice(pieces)
        if kind < 0.65:
            return [piece(depth - 1) for _ in range(draw.randint(0, 2))]
        return {draw.choice(names): piece(depth - 1) for _ in range(draw.randint(0, 4))}

    answered = 0
    for _ in range(500):
        body = {"completions": [TEN], "validate": True}
        body |= {draw.choice(names): piece(5) for _ in range(draw.randint(1, 3))}
        body = {"query": ["[INST] a [/INST] b"]} | body if draw.random() < 0.3 else body
        for client in clients.values():
            reply = client.post("/score", json=body)
            if reply.status_code != 200:
                is_one_line(reply)
            answered += reply.status_code == 200
    assert answered > 20


def test_what_a_conversation_may_hold_is_read(clients):
    client = clients["dat"]
    parts = [{"type": "image", "url": "x"}, {"type": "text", "text": TEN}]
    texts = [
        TEN,
        [{"role": "assistant", "content": TEN, "name": "a", "tool_calls": [{"id": 5}]}],
        [{"role": "user", "content": None}, {"role": "assistant", "content": parts}],
        [{"content": TEN}],
    ]
    assert len(set(score(client, completions=texts, validate=True)["rewards"])) == 1
    assert score(
        client, completions=[[{"role": "assistant", "content": None}]], validate=True
    )["scores"] == [None]
    assert (
        score(client, completions=[TEN], prompts=None, validate=True)["scores"][0] > 0
    )


def test_the_most_completions_are_paid_and_the_most_values_read(clients):
    reply = score(clients["dat"], completions=["a"] * 131_072, validate=True)
    assert reply["reasons"] == ["format"] * 131_072
    texts = ['"[{,' * 4 + "a, " * 20] * 30_000  # marks within texts are none of JSON's
    with Running(Integration("dat", **SETTINGS), most_bytes=64 << 20) as client:
        assert len(score(client, completions=texts, validate=True)["reasons"]) == 30_000
        for many in (b"[],", b'"",'):
            raw = b'{"completions": [' + many * 2_200_000 + b"0]}"
            is_one_line(
                client.post("/score", content=raw, headers=JSON), statuses=(413,)
            )


def test_health_answers_while_a_body_is_read(monkeypatch):
    read, asked, begun = serve_module.from_json, Event(), Event()

    def waits(*words, **options):
        begun.set()
        assert asked.wait(30)  # would never come if the event loop read the body
        return read(*words, **options)

    monkeypatch.setattr(serve_module, "from_json", waits)
    with (
        Running(Integration("dat", **SETTINGS), most_bytes=64 << 20) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        reply = pool.submit(score, client, completions=["x" * 1000] * 60_000)
        assert begun.wait(60)
        assert client.get("/health").status_code == 200
        assert not reply.done()
        asked.set()
        assert len(reply.result()["reasons"]) == 60_000


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


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(
            (host, 200)
            for host in (
                "localhost",
                "127.0.0.1:80",
                "[::1]:8765",
                "LOCALHOST:1",
                "lab7",
                "Lab7:99",
            )
        ),
        *(
            (host, 400)
            for host in (
                "evil.example",
                "evil.example:8765",
                "localhost.evil.example",
                "127.0.0.1.nip.io",
            )
        ),
        *(
            (host, 400)
            for host in (
                "",
                "[",
                "[::1",
                "10.0.0.1",
                "localhost,evil.example",
                "evil@",
                "2130706433",
            )
        ),
    ],
)
def test_only_known_hosts_are_served(host, status):
    with Running(Integration("dat", **SETTINGS), hosts=["lab7"]) as client:
        for reply in (
            client.get("/health", headers={"host": host}),
            client.post("/score", json={"completions": []}, headers={"host": host}),
            client.post("/reset", json={}, headers={"host": host}),
        ):
            assert reply.status_code == status
            if status == 400:
                is_one_line(reply)
    assert status == 200 or "--allow-host" in reply.json()["error"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--port", "99999"], "99999"),
        (["--port", "-1"], "-1"),
        (["--reward", "[1]"], "reward"),
        (["--reward", "5"], "reward"),
        (["--reward", "{"], "reward"),
        (["--reward", '{"a":' * 3000], "reward"),
        (["--reward", '{"scale": NaN}'], "scale"),
        (["--reward", '{"scale": 1e999}'], "scale"),
        (["--reward", '{"scale": "2"}'], "scale"),
        (["--reward", '{"scale": null}'], "scale"),
        (["--reward", '{"penalise_duplicates": "yes"}'], "penalise_duplicates"),
        (["--journal", "/dev/null/x"], "/dev/null/x"),
    ],
)
def test_what_cannot_be_served_is_one_line_at_the_start(words, says):
    command = [
        sys.executable,
        "-m",
        "sozo",
        "serve",
        "dat",
        "--noun-checker",
        "jumandic",
        *words,
    ]
    done = warm.run(command)
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert says in last
    assert "Traceback" not in done.stderr
    assert len(last) < 1000


def test_a_integration_refuses_options_that_pay_no_number():
    for wrong in (float("nan"), float("inf"), "1", None, [1]):
        with pytest.raises(UserError, match="scale"):
            Integration("dat", scale=wrong)
    with pytest.raises(UserError, match="penalise_duplicates"):
        Integration("dat", penalise_duplicates="no")
    assert Integration("dat", scale=1).reward.scale == 1


@pytest.mark.parametrize("limit", ["PATIENCE", "STALLED"])
def test_a_client_that_stops_in_the_midst_is_given_up(limit, monkeypatch):
    monkeypatch.setattr(room_module, limit, 0.2)
    running = Running(Integration("dat", **SETTINGS))
    with running as client:
        head = "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
        stopped = [
            socket.create_connection(("127.0.0.1", running.port)) for _ in range(8)
        ]
        for connection in stopped:
            connection.sendall(head.encode() + b'{"compl')
        wait_until(
            lambda: client.post("/score", json={"completions": []}).status_code == 200
        )
        for connection in stopped:
            connection.close()
    assert httpx2


def test_a_body_that_is_announced_too_long_is_refused_at_once():
    running = Running(Integration("dat", **SETTINGS))
    with running as client:
        head = "POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", running.port)) as connection:
            connection.sendall(f"{head}Content-Length: 80000000\r\n\r\n".encode())
            assert connection.recv(20).startswith(b"HTTP/1.1 413")
        told = client.post("/score", json={"completions": ["a" * 1_000_001]})
        assert told.status_code == 400
        assert len(told.text) < 400


@pytest.mark.parametrize(
    "name",
    ["evil@localhost", "localhost/x", "localhost#x", "localhost:port", "[::1", ""],
)
def test_a_host_is_a_name_and_a_port(name):
    with Running(Integration("dat", **SETTINGS)) as client:
        assert client.get("/health", headers={"Host": name}).status_code == 400
        assert (
            client.get("/health", headers={"Host": "LOCALHOST.:8765"}).status_code
            == 200
        )


WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]


def test_a_journal_that_cannot_be_written_pays_nothing(monkeypatch):
    from sozo.rewards.integrations import journal

    def full(self, *_):
        raise journal.JournalError(
            "the journal cannot be written (database or disk is full)"
        )

    with Running(Integration("dat", **SETTINGS)) as client:
        with monkeypatch.context() as patch:
            patch.setattr(journal.Journal, "keep", full)
            told = client.post("/score", json={"completions": [list_text(WORDS)]})
            assert (told.status_code, "disk is full" in told.text) == (503, True)
        assert (
            client.post("/score", json={"completions": [list_text(WORDS)]}).json()[
                "rewards"
            ][0]
            > 8
        )


@pytest.mark.parametrize("raw", sent.EQUAL_KEYS)
def test_a_body_that_says_a_key_twice_is_refused(clients, raw):
    reply = clients["dat"].post("/score", content=raw, headers=JSON)
    is_one_line(reply)
    assert "comes twice" in reply.text


@pytest.mark.parametrize("raw", sent.NO_EQUAL_KEYS)
def test_colons_in_texts_are_no_keys(clients, raw):
    reply = clients["dat"].post("/score", content=raw, headers=JSON)
    assert "comes twice" not in reply.text


def test_a_million_keys_are_refused_soon():
    keys = b", ".join(b'"k%d": []' % k for k in range(1_000_000))
    deep = (
        b'{"completions": ["a"], "prompts": [[{"role": "user", "content": "a", %s}]]}'
    )
    with Running(Integration("dat", **SETTINGS), most_bytes=64 << 20) as client:
        raw = b'{"completions": [], ' + keys + b"}"
        is_one_line(client.post("/score", content=raw, headers=JSON), statuses=(413,))
        reply = client.post("/score", content=deep % keys, headers=JSON)
        assert reply.status_code in (200, 400)


def deaf_bodies():
    """What slow and deaf clients send: eight of each."""
    head = (
        b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    return {
        "bytes one by one": head + b"Content-Length: 99\r\n\r\n",
        "a large one, never ended": head
        + b"Content-Length: 1900000\r\n\r\n"
        + b"x" * 1_500_000,
    }


@pytest.mark.parametrize("kind", deaf_bodies())
def test_a_handful_of_slow_clients_leaves_others_served(kind, monkeypatch):
    monkeypatch.setattr(room_module, "STALLED", 3.0)
    raw = deaf_bodies()[kind]
    running = Running(Integration("dat", **SETTINGS))
    with running as client, ExitStack() as held:
        slow = []
        for _ in range(8):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", running.port))
            held.callback(one.close)
            one.sendall(raw)
            slow.append(one)
        for k in range(100):
            if kind == "bytes one by one":
                with suppress(OSError):
                    slow[k % 8].sendall(b" ")
            reply = client.post("/score", json={"completions": [f"1. 犬\n{k}"]})
            assert reply.status_code == 200
        wait_until(
            lambda: (
                client.get("/health").json()["requests"]
                == {"read": 0, "scored": 0, "sent": 0, "refused": 0, "slow": 8}
            )
        )


@pytest.mark.parametrize("kind", deaf_bodies())
def test_who_holds_all_room_gives_way_to_another_address(kind, monkeypatch):
    monkeypatch.setattr(serve_module, "MOST_READ", 8)
    monkeypatch.setattr(serve_module, "MOST_LARGE", 2)
    raw, running = deaf_bodies()[kind], Running(Integration("dat", **SETTINGS))
    room = 8 if kind == "bytes one by one" else 2
    with running as client, ExitStack() as held:
        for _ in range(2 * room):
            one = held.enter_context(socket.socket())
            one.bind(("127.0.0.2", 0))
            one.connect(("127.0.0.1", running.port))
            one.sendall(raw)

        def counts():
            return client.get("/health").json()["requests"]

        # A client alone has all the room that there is; what is beyond it is refused.
        wait_until(lambda: counts()["refused"] == room and counts()["read"] == room)
        for k in range(20):
            text = f"1. 犬\n{k}" + " " * (600_000 if room == 2 else 0)
            texts = [text, text] if room == 2 else [text]
            reply = client.post("/score", json={"completions": texts})
            assert reply.status_code == 200
        # One place is enough for who asks for one at a time.
        assert counts() == {
            "read": room - 1,
            "scored": 0,
            "sent": 0,
            "refused": room + 1,
            "slow": 0,
        }


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
