"""The reward over HTTP is safe to retry: keys, the journal, clients that leave, servers that are killed."""

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event

import pytest

from http_server import Letters, Running, free_port, score, wait_until
from sozo.data.errors import UserError
from sozo.rewards.integrations.core import BATCH, Integration
from sozo.rewards.integrations.journal import Journal

HELPERS = Path(__file__).parents[1] / "helpers"


@pytest.fixture
def integration(monkeypatch):
    """An integration to make anew: a restart is another one."""
    monkeypatch.setenv("SOZO_TASKS", "http_server.Letters")
    return lambda: Integration("letters", penalise_duplicates=True)


class Gate:
    """Holds an integration's scoring until it is opened, and counts the batches."""

    def __init__(self, integration):
        self.alone, self.batches, self.open = integration.reward.alone, 0, Event()
        integration.reward.alone = self

    def __call__(self, items, answers):
        self.batches += 1
        assert self.open.wait(30)
        return self.alone(items, answers)


def test_the_same_key_gives_the_same_reply(integration):
    with Running(integration()) as client:
        first = score(client, "one", completions=["ab", "abc"])
        assert first == {
            "rewards": [2.0, 3.0],
            "scores": [2.0, 3.0],
            "reasons": [None, None],
        }
        assert score(client, "one", completions=["ab", "abc"]) == first
        assert score(client, "two", completions=["ab"])["reasons"] == ["duplicate"]
        assert score(client, completions=["ab"])["reasons"] == ["duplicate"]
        assert client.get("/health").json()["seen"] == 2


def test_a_key_with_another_body_is_refused(integration):
    with Running(integration()) as client:
        score(client, "one", completions=["ab"])
        reply = client.post(
            "/score", json={"completions": ["cd"]}, headers={"idempotency-key": "one"}
        )
        assert reply.status_code == 409
        assert "another body" in reply.json()["error"]
        assert "\n" not in reply.json()["error"]
        assert client.get("/health").json()["seen"] == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "é", "a\tb"])
def test_a_key_is_bounded(integration, key):
    with Running(integration()) as client:
        header = [(b"idempotency-key", key.encode("latin-1"))]
        reply = client.post("/score", json={"completions": ["ab"]}, headers=header)
        assert reply.status_code == 400
        assert "Idempotency-Key" in reply.json()["error"]
        assert client.get("/health").json()["seen"] == 0
        assert score(client, "x" * 255, completions=["ab"])["rewards"] == [2.0]


def test_two_keys_in_one_request_are_refused(integration):
    with Running(integration()) as client:
        keys = [("idempotency-key", "a"), ("idempotency-key", "b")]
        assert (
            client.post(
                "/score", json={"completions": ["ab"]}, headers=keys
            ).status_code
            == 400
        )


def test_a_mistake_is_not_kept_under_its_key(integration):
    with Running(integration()) as client:
        header = {"idempotency-key": "one"}
        assert (
            client.post("/score", json={"completions": [5]}, headers=header).status_code
            == 400
        )
        assert score(client, "one", completions=["ab"])["rewards"] == [2.0]


def test_a_key_still_in_work_is_waited_for(integration):
    opened = integration()
    gate, running = Gate(opened), Running(opened)
    with running as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(score, client, "one", completions=["ab"])
        wait_until(lambda: gate.batches == 1)
        second = pool.submit(score, client, "one", completions=["ab"])
        time.sleep(0.1)
        gate.open.set()
        assert (
            first.result()
            == second.result()
            == {"rewards": [2.0], "scores": [2.0], "reasons": [None]}
        )
        assert gate.batches == 1


def test_validation_with_a_key_leaves_no_history(integration):
    with Running(integration()) as client:
        assert score(client, "one", completions=["ab"], validate=True)["rewards"] == [
            2.0
        ]
        assert client.get("/health").json()["seen"] == 0
        assert score(client, "one", completions=["ab"], validate=True)["rewards"] == [
            2.0
        ]


def test_an_answer_sent_singly_is_paid_once(integration):
    with Running(integration()) as client:
        paid = [score(client, completions=["ab"])["rewards"][0] for _ in range(100)]
        assert paid == [2.0] + [0.0] * 99
    with Running(
        integration()
    ) as client:  # each time on a connection of its own, closed with the last byte
        header = {"connection": "close"}
        bodies = [
            client.post("/score", json={"completions": ["ab"]}, headers=header)
            for _ in range(100)
        ]
        paid = [reply.json()["rewards"][0] for reply in bodies]
        assert paid == [2.0] + [0.0] * 99


def test_equal_bodies_at_the_same_time_are_paid_once(integration):
    opened = integration()
    gate, running = Gate(opened), Running(opened)
    with running as client, ThreadPoolExecutor(4) as pool:
        replies = [pool.submit(score, client, completions=["ab"]) for _ in range(4)]
        wait_until(lambda: gate.batches == 1)
        gate.open.set()
        assert sorted(reply.result()["rewards"][0] for reply in replies) == [
            0.0,
            0.0,
            0.0,
            2.0,
        ]


def test_nothing_is_scored_on_for_a_client_that_left(integration, caplog):
    opened, body = integration(), {"completions": [f"{k:06}" for k in range(4 * BATCH)]}
    gate, running = Gate(opened), Running(opened)
    caplog.set_level("INFO")
    with running as client:
        connection = running.begin(body)
        wait_until(lambda: gate.batches == 1)
        caplog.clear()
        connection.close()
        time.sleep(0.1)
        gate.open.set()
        wait_until(lambda: "left" in caplog.text)
        assert gate.batches == 1
        assert client.get("/health").json()["seen"] == 0
        server = [record for record in caplog.records if record.name == "uvicorn.error"]
        assert len(server) == 1
        assert server[0].exc_info is None
        assert score(client, **body)["rewards"] == [6.0] * (4 * BATCH)


def test_a_client_that_leaves_while_it_sends_costs_one_line(integration, caplog):
    running = Running(integration())
    caplog.set_level("INFO")
    with running:
        caplog.clear()
        connection = running.begin(b'{"completions": ["ab"', path="/score")
        connection.close()
        wait_until(lambda: caplog.records)
        connection = running.begin({"completions": ["ab"]} | {"x": ["y" * 1_000_000]})
        connection.close()
        time.sleep(0.3)
    assert "Traceback" not in caplog.text
    assert "Exception" not in caplog.text


def test_a_reply_that_was_not_delivered_is_given_to_an_equal_body_once(
    integration, monkeypatch
):
    opened, keep, kept = integration(), Journal.keep, Event()
    running = Running(opened)

    def kept_and_left(self, *words):
        keep(self, *words)
        if not kept.is_set():
            connection.close()
            time.sleep(0.2)  # the server's loop hears of it
            kept.set()

    monkeypatch.setattr(Journal, "keep", kept_and_left)
    gate = Gate(opened)
    with running as client:
        connection = running.begin({"completions": ["ab", "ab"]})
        wait_until(lambda: gate.batches == 1)
        gate.open.set()
        assert kept.wait(30)
        assert client.get("/health").json()["seen"] == 1
        same = client.post(
            "/score",
            content=json.dumps({"completions": ["ab", "ab"]}),
            headers={"content-type": "application/json"},
        )
        assert same.json()["rewards"] == [2.0, 0.0]
        again = client.post(
            "/score",
            content=json.dumps({"completions": ["ab", "ab"]}),
            headers={"content-type": "application/json"},
        )
        assert again.json()["rewards"] == [0.0, 0.0]


def test_a_restart_with_the_journal_knows_keys_and_history(integration, tmp_path):
    with Running(integration(), tmp_path / "j") as client:
        first = score(client, "one", completions=["ab", "abc"])
        score(client, completions=["abcd"])
    with Running(integration(), tmp_path / "j") as client:
        assert client.get("/health").json()["seen"] == 3
        assert score(client, "one", completions=["ab", "abc"]) == first
        assert score(client, completions=["abcd", "abcde"])["reasons"] == [
            "duplicate",
            None,
        ]
        assert client.post("/reset", json={}).json() == {"seen": 0}
    with Running(integration(), tmp_path / "j") as client:
        assert client.get("/health").json()["seen"] == 0
        assert score(client, "one", completions=["ab", "abc"]) == first


def test_a_restart_without_a_journal_forgets(integration):
    for _ in range(2):
        with Running(integration()) as client:
            assert score(client, "one", completions=["ab"])["reasons"] == [None]


def test_a_journal_has_one_server(integration, tmp_path):
    about = integration().about()
    journal = Journal(tmp_path, about)
    with pytest.raises(UserError, match="end the server that has it") as caught:
        Journal(tmp_path, about)
    assert "\n" not in str(caught.value)
    journal.close()
    Journal(tmp_path, about).close()


def test_a_journal_belongs_to_one_reward(integration, tmp_path):
    Journal(tmp_path, integration().about()).close()
    with pytest.raises(UserError, match="another task or reward; name another folder"):
        Journal(
            tmp_path,
            Integration("letters", penalise_duplicates=True, scale=2.0).about(),
        )


def test_what_is_not_ours_is_left_alone(integration, tmp_path):
    about, precious = integration().about(), tmp_path / "precious"
    precious.write_text("mine " * 999)
    for name in ("journal.sqlite", "journal.sqlite-journal"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).symlink_to(precious)
        with pytest.raises(UserError, match="link"):
            Journal(folder, about)
    (tmp_path / "journal.sqlite").rename(tmp_path / "old")
    (tmp_path / "journal.sqlite").write_text("mine " * 999)
    for folder in (tmp_path, precious, precious / "under"):
        with pytest.raises(UserError):
            Journal(folder, about)
    assert (
        precious.read_text()
        == (tmp_path / "journal.sqlite").read_text()
        == "mine " * 999
    )


def test_a_journal_that_cannot_be_written_pays_nobody(
    integration, monkeypatch, tmp_path
):
    def full(*words):
        raise OSError("No space left on device")

    with Running(integration(), tmp_path) as client:
        score(client, completions=["ab"])
        with monkeypatch.context() as broken:
            broken.setattr(Journal, "keep", full)
            assert (
                client.post("/score", json={"completions": ["cd"]}).status_code == 500
            )
        assert score(client, completions=["ab", "cd"])["reasons"] == ["duplicate", None]


def test_an_undelivered_reply_survives_a_kill(integration, tmp_path):
    opened, raw = integration(), b'{"completions": ["ab"]}'
    journal = Journal(tmp_path, opened.about())  # the server died behind this write
    kept = b'{"rewards":[2.0],"scores":[2.0],"reasons":[null]}'
    journal.keep(
        f"body {hashlib.sha256(raw).hexdigest()}",
        hashlib.sha256(raw).hexdigest(),
        kept,
        [b"k" * 16],
    )
    journal.close()
    with Running(opened, tmp_path) as client:
        header = {"content-type": "application/json"}
        assert client.post("/score", content=raw, headers=header).content == kept
        assert client.post("/score", content=raw, headers=header).json()["rewards"] == [
            2.0
        ]  # made up: no key was its
        assert client.post("/score", content=raw, headers=header).json()["rewards"] == [
            0.0
        ]


class Killed:
    """A real server on one journal that is killed and started again; clients that try until they have a reply."""

    def __init__(self, folder):
        self.folder, self.port, self.kills = folder, free_port(), 0
        self.start()

    def start(self):
        command = [
            sys.executable,
            HELPERS / "http_server.py",
            str(self.port),
            self.folder,
        ]
        environment = {
            **os.environ,
            "SOZO_TASKS": "http_server.Letters",
            "PYTHONPATH": str(HELPERS),
        }
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.kills += 1

    def paid(self, key, texts):
        body, headers = (
            json.dumps({"completions": texts}),
            {"content-type": "application/json", "idempotency-key": key},
        )
        for _ in range(1000):
            connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                connection.request("POST", "/score", body, headers)
                reply = connection.getresponse()
                content = reply.read()
                if reply.status == 200:
                    return sum(json.loads(content)["rewards"])
                assert reply.status == 503, content
            except (OSError, HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.1)
        raise AssertionError("no reply ever came")


def total_of(folder, requests, kills):
    """The sum that four clients are paid for all requests, while the server is killed so many times."""
    server, draw = Killed(folder), random.Random(7)
    done = []

    def send(number):
        paid = server.paid(f"request-{number}", requests[number])
        done.append(number)
        return paid

    try:
        with ThreadPoolExecutor(4) as pool:
            replies = [pool.submit(send, number) for number in range(len(requests))]
            for k in range(kills):
                # In the midst of the load: a share of it has been answered.
                share = (k + 1) * len(requests) // (kills + 1)
                wait_until(lambda share=share: len(done) >= share, 120)
                time.sleep(draw.uniform(0, 0.02))
                server.kill()
                server.start()
            return sum(reply.result() for reply in replies), server.kills
    finally:
        server.kill()


def test_ten_kills_under_load_change_no_sum(tmp_path):
    draw = random.Random(3)
    # Every text stands in several requests: whoever comes first is paid for it.
    requests = [["x" * draw.randint(1, 900) for _ in range(300)] for _ in range(220)]
    worth = sum(map(len, {text for texts in requests for text in texts}))
    assert total_of(tmp_path / "killed", requests, 10) == (worth, 10)
    assert total_of(tmp_path / "unbroken", requests, 0) == (worth, 0)
    assert Letters.name == "letters"
