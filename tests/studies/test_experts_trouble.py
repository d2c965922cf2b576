"""Judges for experts behind a server that fails three times in ten, under a client that is killed three times."""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from expert_worker import CONDITIONS, PLAN, RATINGS
from expert_world import CRITERION, reply
from grpo_runs import environment
from judge_server import completion, serving
from sozo.scoring.endpoint.bill import Price
from sozo.scoring.judges.ledger import read_judgements
from sozo.studies.experts.asks import asking_size
from sozo.suite.rubrics.criterion import criterion_rubric

HELPERS = Path(__file__).parents[1] / "helpers"
KEY = "sk-proj-Vq7/secret+key-0123456789"


class Server:
    """Fails two requests in ten at random, and replies wrongly to one prompt in ten, always alike."""

    def __init__(self, seed):
        self.random, self.served, self.lock = (
            random.Random(seed),
            Counter(),
            threading.Lock(),
        )

    def __call__(self, request, headers):
        prompt, key = request["messages"][0]["content"], headers["Authorization"]
        fault = self.random.random()
        time.sleep(0.002)
        if fault < 0.05:
            return 429, {"Retry-After": "0.02"}, {"error": {"message": f"no, {key}"}}
        if fault < 0.20:
            return (
                None
                if fault < 0.12
                else (500, {}, {"error": {"message": f"boom {key}"}})
            )
        with self.lock:
            self.served[prompt, request["seed"]] += 1
        bad = {
            0: "The score is 3.",
            1: json.dumps({"score": 9, "reason": "", "confidence": 99}),
            2: f"{reply(prompt)} {reply(prompt)}",
            3: None,
        }
        text = bad.get(sum(prompt.encode()) % 40, reply(prompt))
        return (
            200,
            {},
            completion(text or "{", "stop" if text else "length", usage=(100, 20)),
        )


def start(url, folder, *words):
    variables = environment(OPENAI_API_KEY=KEY, NO_PROXY="127.0.0.1")
    return subprocess.Popen(
        [sys.executable, HELPERS / "expert_worker.py", url, folder, *words],
        env=variables,
    )


def ledger(folder):
    return read_judgements(folder / "judgements.jsonl", (criterion_rubric(CRITERION),))


@pytest.mark.slow
def test_nothing_is_lost_paid_twice_or_shown(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    faults = Server(1)
    with serving(faults) as url:
        for stop_at in (60, 150, 300):
            client = start(url, killed)
            path, limit = killed / "judgements.jsonl", time.monotonic() + 60
            while not path.exists() or path.read_bytes().count(b"\n") < stop_at:
                assert client.poll() is None
                assert time.monotonic() < limit
                time.sleep(0.005)
            client.kill()
            client.wait()
        assert start(url, killed).wait(120) == 0
        lines, served = ledger(killed), faults.served.total()
        # What was under way when it was killed is paid for and not known: 16 requests at most, three times.
        assert len(lines) <= served <= len(lines) + 48
        assert start(url, killed).wait(60) == 0
        assert (faults.served.total(), len(ledger(killed))) == (served, len(lines))
    faults = Server(2)
    with serving(faults) as url:
        assert start(url, whole).wait(120) == 0
        assert faults.served.total() == len(ledger(whole))
        bill = json.loads((whole / "metrics.json").read_text("utf-8"))
        assert (bill["prompt_tokens"], bill["completion_tokens"]) == (
            100 * len(lines),
            20 * len(lines),
        )
        assert bill["cost"] == pytest.approx(140 * len(lines) / 1e6)
        most = asking_size(PLAN, 3, Price(1.0, 2.0), 1024)
        assert bill["cost"] <= 2 * most.cost
        assert most.requests == len({line.key for line in lines})
        # Once for each prompt and seed, twice where the reply could not be read.
        assert set(Counter(line.key for line in lines).values()) == {1, 2}
        assert bill["statuses"]["same 2"]["ok"] < len(RATINGS) * 3
    for name in ("experts.json", "predictions.jsonl"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert len((whole / "predictions.jsonl").read_text("utf-8").splitlines()) == len(
        RATINGS
    ) * len(CONDITIONS)
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and KEY in path.read_text("utf-8")
    ]
    failed = {line.key for line in ledger(whole) if line.scores is None}
    with serving(Server(3)) as url:
        assert start(url, whole, "--retry-unjudged").wait(60) == 0
        again = ledger(whole)[len(lines) :]
        assert {line.key for line in again} == failed
