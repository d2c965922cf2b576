"""`sozo serve`: the integrations' core over HTTP."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx2
import pytest

from http_server import JSON, MOST_BYTES, Running, free_port, score
from integration_texts import REWRITE, SETTINGS, STORY, TEN
from sentences import says
from sozo.data.errors import UserError
from sozo.rewards.integrations.core import Integration


@pytest.fixture(scope="module")
def client():
    with Running(Integration("dat", **SETTINGS)) as client:
        yield client


def test_columns_reach_the_task_also_as_labels_of_openrlhf():
    with Running(Integration("sat", min_length=10)) as client:
        texts = {"completions": [REWRITE, STORY], "prompts": ["?", "?"]}
        reply = score(client, **texts, story=[STORY, STORY])
        assert reply["reasons"] == [None, "copied"]
        assert reply["rewards"][0] == pytest.approx(10 * reply["scores"][0])
        query = {"query": [f"何? {REWRITE}"], "prompts": ["何?"]}
        label = json.dumps({"story": STORY})
        by_openrlhf = score(client, **query, labels=[label], validate=True)
    assert by_openrlhf == {
        "rewards": reply["rewards"][:1],
        "scores": reply["scores"][:1],
        "reasons": [None],
        "extra_logs": {"usable": [1.0], "duplicate": [0.0]},
    }


@pytest.mark.parametrize(
    ("said", "body"),
    {
        "serve: completions are missing": {"prompts": ["?"]},
        "serve: completions are one text": {"completions": TEN},
        "serve: a column is too long": {"completions": [TEN], "story": ["a", "b"]},
        "serve: a column is no list": {"completions": [TEN], "valdate": True},
        "serve: no prompt before the answer": {"query": [TEN], "prompts": ["?"]},
        "serve: validate is a text": {"completions": [TEN], "validate": "yes"},
    }.items(),
)
def test_a_mistake_is_told(client, said, body):
    reply = client.post("/score", json=body)
    assert reply.status_code == 400
    assert says(said, reply.json()["error"])


def test_what_is_no_json_or_too_large_is_refused(client):
    def endless():  # says no length
        for _ in range(100):
            yield b"x" * 100_000

    text = {"content-type": "text/plain"}
    for status, said, content, headers in (
        (400, "serve: no JSON", "{", JSON),
        (400, "serve: no object", '["a"]', JSON),
        (415, "serve: sent as text", "{}", text),
        (413, "serve: too many bytes", "x" * (MOST_BYTES + 1), JSON),
        (413, "serve: too many bytes", endless(), JSON),
    ):
        reply = client.post("/score", content=content, headers=headers)
        assert reply.status_code == status
        assert says(said, reply.json()["error"])
    assert client.post("/reset", content="{}", headers=text).status_code == 415
    missed = client.post("/")
    assert missed.status_code == 404
    assert says("serve: no such path", missed.json()["error"])
    assert client.get("/score").status_code == 405


def test_a_failure_says_nothing_of_itself(monkeypatch):
    def refuse(*lists):
        raise UserError("the endpoint http://me:secret@host/v1 is away")

    integration = Integration("dat", **SETTINGS)
    with Running(integration) as client:
        for fails, status, error in (
            (lambda *lists: 1 / 0, 500, "scoring failed; the server's log says why"),
            (refuse, 400, "the endpoint http://host/v1 is away"),
        ):
            monkeypatch.setattr(integration.reward, "alone", fails)
            reply = client.post("/score", json={"completions": [TEN]})
            assert (reply.status_code, reply.json()) == (status, {"error": error})


def test_health_answers_while_a_batch_is_scored(monkeypatch):
    integration = Integration("dat", **SETTINGS)
    alone, begun, asked = integration.reward.alone, Event(), Event()

    def slow(items, answers):
        begun.set()
        assert asked.wait(30)
        return alone(items, answers)

    monkeypatch.setattr(integration.reward, "alone", slow)
    with Running(integration) as client, ThreadPoolExecutor(1) as pool:
        reply = pool.submit(score, client, completions=[TEN])
        assert begun.wait(30)
        assert client.get("/health").status_code == 200
        assert not reply.done()
        asked.set()
        assert reply.result()["reasons"] == [None]


@pytest.mark.launches
def test_the_command_serves_on_loopback():
    port = free_port()
    words = [
        "serve",
        "dat",
        "--port",
        str(port),
        "--noun-checker",
        "jumandic",
        "--reward",
        '{"scale": 1}',
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "sozo", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        for line in process.stderr:
            if "running on" in line:
                break
        assert f"http://127.0.0.1:{port}" in line
        reply = httpx2.post(
            f"http://127.0.0.1:{port}/score", json={"completions": [TEN]}
        ).json()
        assert 0 < reply["rewards"][0] == reply["scores"][0] < 1
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()
