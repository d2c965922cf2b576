"""`sozo serve`: the integrations' core over HTTP."""

import subprocess
import sys
import time
from threading import Thread

import httpx2
import pytest

import warm
from http_server import MOST_BYTES, Running, free_port, score
from integration_texts import FREE, OTHER, REWRITE, SETTINGS, STORY, TEN
from integrations.texts import cases
from sozo.data.errors import UserError
from sozo.rewards import make_dat_reward
from sozo.rewards.integrations.core import Integration


@pytest.fixture(scope="module")
def client():
    with Running(Integration("dat", **SETTINGS)) as client:
        yield client


def test_a_thousand_texts_are_paid_as_by_the_reward():
    drawn = cases()
    with Running(Integration("dat", **FREE)) as client:
        by_http = score(client, completions=[case.output for case in drawn])
        by_openrlhf = score(
            client,
            query=[case.query for case in drawn],
            prompts=[case.prompt for case in drawn],
            labels=[""] * len(drawn),
        )
    reward = make_dat_reward(**FREE)
    assert (
        by_http["rewards"]
        == by_openrlhf["rewards"]
        == reward(completions=[case.answer for case in drawn])
    )
    assert by_http["scores"] == [completion.score for completion in reward.last]
    assert (
        by_http["reasons"]
        == by_openrlhf["reasons"]
        == [completion.reason for completion in reward.last]
    )


def test_all_clients_share_one_history_that_validation_does_not_fill(client):
    assert client.post("/reset", json={}).json() == {"seen": 0}
    assert score(client, completions=[OTHER], validate=True)["reasons"] == [None]
    assert client.get("/health").json()["seen"] == 0
    assert score(client, completions=[TEN, OTHER])["reasons"] == [None, None]
    with httpx2.Client(base_url=client.base_url) as other:
        assert score(other, completions=[TEN])["reasons"] == ["duplicate"]
        assert score(other, completions=[TEN], validate=True)["reasons"] == [None]
        assert score(other, completions=[TEN], split=["test"])["reasons"] == [None]
    assert client.get("/health").json()["seen"] == 2
    assert score(client, completions=[])["rewards"] == []


def test_columns_reach_the_task():
    with Running(Integration("sat", min_length=10)) as client:
        reply = score(
            client,
            completions=[REWRITE, STORY],
            story=[STORY, STORY],
            prompts=["?", "?"],
        )
        assert reply["reasons"] == [None, "copied"]
        assert reply["rewards"][0] == pytest.approx(10 * reply["scores"][0])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"prompts": ["?"]}, "completions: is missing"),
        ({"completions": TEN}, "completions: Input should be a valid list"),
        ({"completions": [TEN], "prompts": ["?", "?"]}, "2 prompts came with 1 texts"),
        (
            {"completions": [TEN], "validate": True, "prompts": "?"},
            "prompts must be a list",
        ),
        (
            {"completions": [TEN], "story": ["a", "b"]},
            "story must be a list of 1 values",
        ),
        (
            {"completions": [TEN], "valdate": True},
            "valdate: Input should be a valid list",
        ),
        (
            {"query": [TEN], "prompts": ["?"], "labels": [""]},
            "no prompt that is known stands before the answer",
        ),
        ({"completions": [5]}, "a text or a conversation was expected"),
        (
            {"completions": [TEN], "validate": "yes"},
            "validate: Input should be a valid boolean",
        ),
        ([TEN], "must be an object"),
    ],
)
def test_a_mistake_is_one_line(client, body, says):
    reply = client.post("/score", json=body)
    assert reply.status_code == 400
    assert says in reply.json()["error"]
    assert "\n" not in reply.json()["error"]


def test_what_is_no_json_or_too_large_is_refused(client):
    header = {"content-type": "application/json"}
    assert client.post("/score", content="{", headers=header).status_code == 400
    assert (
        client.post("/score", content="[" * 100_000, headers=header).status_code == 400
    )
    assert (
        client.post(
            "/reset", content="{}", headers={"content-type": "text/plain"}
        ).status_code
        == 415
    )
    assert (
        client.post("/score", json={"completions": ["x" * MOST_BYTES]}).status_code
        == 413
    )

    def endless():  # says no length
        for _ in range(100):
            yield b"x" * 100_000

    assert client.post("/score", content=endless(), headers=header).status_code == 413
    assert client.get("/nosuch").status_code == 404
    assert client.get("/score").status_code == 405
    assert client.get("/health").status_code == 200


def test_a_failure_says_nothing_of_itself(monkeypatch):
    integration = Integration("dat", **SETTINGS)
    with Running(integration) as client:
        monkeypatch.setattr(integration.reward, "alone", lambda *lists: 1 / 0)
        reply = client.post("/score", json={"completions": [TEN]})
        assert (reply.status_code, reply.json()) == (
            500,
            {"error": "scoring failed; the server's log says why"},
        )

        def refuse(*lists):
            raise UserError("the endpoint http://me:secret@host/v1 is away")

        monkeypatch.setattr(integration.reward, "alone", refuse)
        reply = client.post("/score", json={"completions": [TEN]})
        assert (reply.status_code, reply.json()) == (
            400,
            {"error": "the endpoint http://host/v1 is away"},
        )


def test_health_answers_while_a_batch_is_scored(monkeypatch):
    integration = Integration("dat", **SETTINGS)
    alone, begun = integration.reward.alone, []

    def slow(items, answers):
        begun.append(True)
        while len(begun) < 2:
            time.sleep(0.01)
        return alone(items, answers)

    monkeypatch.setattr(integration.reward, "alone", slow)
    with Running(integration) as client:
        replies = []
        thread = Thread(target=lambda: replies.append(score(client, completions=[TEN])))
        thread.start()
        while not begun:
            time.sleep(0.01)
        assert client.get("/health").status_code == 200
        assert replies == []
        begun.append(True)
        thread.join()
    assert replies[0]["reasons"] == [None]


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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["jcq"], "No such command"),
        (["dat", "--reward", '{"scal": 1}'], "unknown setting: scal"),
    ],
)
def test_what_cannot_be_served_is_refused(words, says):
    done = warm.run([sys.executable, "-m", "sozo", "serve", *words])
    assert done.returncode == 2
    assert says in done.stderr
