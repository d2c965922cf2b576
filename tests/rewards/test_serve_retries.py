"""The reward over HTTP is safe to retry: keys, the journal, clients that leave, servers that are killed."""

import hashlib
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event

import pytest

from http_server import JSON, Running, free_port, score, wait_until
from sentences import says
from sozo.rewards.integrations.core import BATCH, Integration
from sozo.rewards.integrations.journal import Journal, JournalError

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
        header = {"idempotency-key": "one"}
        reply = client.post("/score", json={"completions": ["cd"]}, headers=header)
        assert reply.status_code == 409
        assert says("serve: a key with another body", reply.json()["error"])
        assert client.get("/health").json()["seen"] == 1


@pytest.mark.parametrize("keys", [["x" * 256], ["a b"], ["a", "b"]])
def test_a_key_is_bounded_and_alone(integration, keys):
    with Running(integration()) as client:
        headers = [(b"idempotency-key", key.encode("latin-1")) for key in keys]
        reply = client.post("/score", json={"completions": ["ab"]}, headers=headers)
        assert reply.status_code == 400
        assert says("serve: no key", reply.json()["error"])
        assert client.get("/health").json()["seen"] == 0
        assert score(client, "x" * 255, completions=["ab"])["rewards"] == [2.0]


def test_a_mistake_is_not_kept_under_its_key(integration):
    with Running(integration()) as client:
        header = {"idempotency-key": "one"}
        reply = client.post("/score", json={"completions": [5]}, headers=header)
        assert reply.status_code == 400
        assert score(client, "one", completions=["ab"])["rewards"] == [2.0]


def test_a_key_still_in_work_is_waited_for(integration):
    opened = integration()
    gate, running = Gate(opened), Running(opened)
    turns = running.app.routes[0].app._turns
    with running as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(score, client, "one", completions=["ab"])
        wait_until(lambda: gate.batches == 1)
        second = pool.submit(score, client, "one", completions=["ab"])
        wait_until(lambda: turns["key one"]._waiters)
        gate.open.set()
        expected = {"rewards": [2.0], "scores": [2.0], "reasons": [None]}
        assert first.result() == second.result() == expected
        assert gate.batches == 1


def test_nothing_is_scored_on_for_a_client_that_left(integration, caplog):
    opened, body = integration(), {"completions": [f"{k:06}" for k in range(4 * BATCH)]}
    gate, running = Gate(opened), Running(opened)
    caplog.set_level("INFO")
    with running as client:
        connection = running.begin(body)
        wait_until(lambda: gate.batches == 1)
        caplog.clear()
        connection.close()
        running.wait_for_leaving()
        gate.open.set()
        wait_until(lambda: "left" in caplog.text)
        assert gate.batches == 1
        assert client.get("/health").json()["seen"] == 0
        server = [record for record in caplog.records if record.name == "uvicorn.error"]
        assert len(server) == 1
        assert server[0].exc_info is None
        assert score(client, **body)["rewards"] == [6.0] * (4 * BATCH)


def test_a_reply_that_was_not_delivered_is_given_to_an_equal_body_once(
    integration, monkeypatch
):
    opened, keep, kept = integration(), Journal.keep, Event()
    running = Running(opened)

    def kept_and_left(self, *words):
        keep(self, *words)
        if not kept.is_set():
            connection.close()
            running.wait_for_leaving()
            kept.set()

    monkeypatch.setattr(Journal, "keep", kept_and_left)
    gate, raw = Gate(opened), b'{"completions": ["ab", "ab"]}'
    with running as client:
        connection = running.begin(raw)
        wait_until(lambda: gate.batches == 1)
        gate.open.set()
        assert kept.wait(30)
        assert client.get("/health").json()["seen"] == 1
        replies = [client.post("/score", content=raw, headers=JSON) for _ in range(2)]
    assert [reply.json()["rewards"] for reply in replies] == [[2.0, 0.0], [0.0, 0.0]]


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


@pytest.mark.parametrize(
    ("error", "status"),
    [(OSError("No space left on device"), 500), (JournalError("it is full"), 503)],
)
def test_a_journal_that_cannot_be_written_pays_nobody(
    integration, error, status, monkeypatch, tmp_path
):
    def full(*words):
        raise error

    with Running(integration(), tmp_path) as client:
        score(client, completions=["ab"])
        with monkeypatch.context() as broken:
            broken.setattr(Journal, "keep", full)
            reply = client.post("/score", json={"completions": ["cd"]})
            assert reply.status_code == status
            assert says(f"serve: failed with {status}", reply.json()["error"])
        assert score(client, completions=["ab", "cd"])["reasons"] == ["duplicate", None]


def test_an_undelivered_reply_survives_a_kill(integration, tmp_path):
    opened, raw = integration(), b'{"completions": ["ab"]}'
    journal = Journal(tmp_path, opened.about())  # the server died behind this write
    kept = b'{"rewards":[2.0],"scores":[2.0],"reasons":[null]}'
    digest = hashlib.sha256(raw).hexdigest()
    journal.keep(f"body {digest}", digest, kept, [b"k" * 16])
    journal.close()
    with Running(opened, tmp_path) as client:
        replies = [client.post("/score", content=raw, headers=JSON) for _ in range(3)]
    assert replies[0].content == kept
    # The key in the journal was made up, so the second is paid as new.
    assert [reply.json()["rewards"] for reply in replies[1:]] == [[2.0], [0.0]]


class Killed:
    """A real server on one journal that is killed and started again; clients that try until they have a reply."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
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

    def paid(self, key, texts):
        body = json.dumps({"completions": texts})
        headers = JSON | {"idempotency-key": key}
        rewards = []

        def replied():
            connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                connection.request("POST", "/score", body, headers)
                reply = connection.getresponse()
                content = reply.read()
            except (OSError, HTTPException):
                return False
            finally:
                connection.close()
            assert reply.status in (200, 503), content
            rewards.extend(json.loads(content).get("rewards", []))
            return reply.status == 200

        wait_until(replied, 100)
        return sum(rewards)


@pytest.mark.launches
def test_kills_under_load_change_no_sum(tmp_path):
    draw, kills, done = random.Random(3), 2, []
    # Every text stands in several requests: whoever comes first is paid for it.
    requests = [["x" * draw.randint(1, 900) for _ in range(300)] for _ in range(50)]
    server = Killed(tmp_path)

    def send(number):
        paid = server.paid(f"request-{number}", requests[number])
        done.append(number)
        return paid

    try:
        with ThreadPoolExecutor(4) as pool:
            replies = [pool.submit(send, number) for number in range(len(requests))]
            for k in range(1, kills + 1):
                # In the midst of the load: a share of it has been answered.
                share = k * len(requests) // (kills + 1)
                wait_until(lambda share=share: len(done) >= share, 120)
                server.kill()
                server.start()
            total = sum(reply.result() for reply in replies)
    finally:
        server.kill()
    assert total == sum(map(len, {text for texts in requests for text in texts}))
