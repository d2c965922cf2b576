"""A judge that fails in every way three times in ten, killed once, under a client killed twice."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from http_server import free_port, wait_until
from judge_server import VERDICT, expected, tokens
from judge_worker import ANSWERS
from sozo.scoring.judges.ledger import read_judgements
from sozo.tasks.jcq.rubric import JCQ_V1

HELPERS = Path(__file__).parents[1] / "helpers"
KEY = "sk-proj-Vq7/secret+key-0123456789"


def start(script, *arguments):
    environment = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "PYTHONPATH": str(HELPERS.parents[1] / "src"),
        "NO_PROXY": "127.0.0.1",
    }
    return subprocess.Popen(
        [sys.executable, HELPERS / script, *map(str, arguments)], env=environment
    )


def kill(process):
    process.kill()
    process.wait()


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(ledger, number, process):
    wait_until(lambda: lines(ledger) >= number or process.poll() is not None, 60)
    assert process.poll() is None, "the client ended too early"


def events(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.launches
def test_nothing_is_lost_invented_paid_twice_or_shown(tmp_path):
    ledger, log, summary = (
        tmp_path / "run" / "judgements.jsonl",
        tmp_path / "served.log",
        tmp_path / "run" / "summary",
    )
    port = free_port()
    server = start("judge_server.py", port, log, 1)
    client = None
    finished_before = []
    try:
        for stop_at in (150, 350):
            client = start(
                "judge_worker.py", f"http://127.0.0.1:{port}/v1", ledger, summary
            )
            if stop_at == 350:
                wait_for(ledger, 250, client)
                kill(server)
                server = start("judge_server.py", port, log, 2)
            wait_for(ledger, stop_at, client)
            kill(client)
            done = Counter(
                int(line.question_id) for line in read_judgements(ledger, (JCQ_V1,))
            )
            finished = {
                item
                for item, n in done.items()
                if n == 2 or (expected(item) != "unparseable" and item % 50 != 4)
            }
            finished_before.append((len(events(log)), finished))
        client = start(
            "judge_worker.py", f"http://127.0.0.1:{port}/v1", ledger, summary
        )
        assert client.wait(60) == 0
        written = ledger.read_bytes()
        requests = len(events(log))
        again = start("judge_worker.py", f"http://127.0.0.1:{port}/v1", ledger, summary)
        assert again.wait(60) == 0
    finally:
        for process in (server, client):
            if process and process.poll() is None:
                kill(process)

    # A run with nothing missing asks for nothing and writes nothing.
    assert ledger.read_bytes() == written
    assert len(events(log)) == requests
    # What was finished when a client was killed was not asked for again.
    for position, finished in finished_before:
        assert len(finished) > 50
        assert not finished & {
            row["item"] for row in events(log)[position:] if row["event"] == "request"
        }
    # Every item ends with its true status, and is scored once.
    judgements = read_judgements(ledger, (JCQ_V1,))
    last = {line.answer_id: line for line in judgements}
    assert {row: str(line.status) for row, line in last.items()} == {
        answer.id: expected(k) for k, answer in enumerate(ANSWERS)
    }
    scored = Counter(line.answer_id for line in judgements if line.scores)
    assert set(scored.values()) == {1}
    assert all(line.reply == VERDICT for line in judgements if line.scores)
    # The bill is that of the replies received, to the token; only what was on its way at a kill is not on it.
    served = {row["id"] for row in events(log) if row["event"] == "reply"}
    paid = [line for line in judgements if line.reply_id]
    errors = sum(line.status == "api_error" for line in judgements)
    ids = {line.reply_id for line in paid}
    assert len(ids) == len(paid) == len(judgements) - errors
    assert ids <= served
    for line in paid:
        counted = line.prompt_tokens, line.completion_tokens
        assert counted == tokens(int(line.question_id))
    # Three kills with at most 20 requests under way, and a few for which a busy machine took too long.
    assert len(served) - len(paid) <= 3 * 20 + 20
    facts = json.loads(summary.read_text())
    assert facts["requests"] == facts["unknown"] == 0
    assert facts["prompt_tokens"] == sum(line.prompt_tokens for line in paid)
    assert facts["completion_tokens"] == sum(line.completion_tokens for line in paid)
    price = facts["prompt_tokens"] + 2 * facts["completion_tokens"]
    assert facts["cost"] == pytest.approx(price / 1e6)
    # The server echoed the key in errors and in verdicts.
    assert "Bearer ***" in ledger.read_text()
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and b"secret" in path.read_bytes()
    ]
