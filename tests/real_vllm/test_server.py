"""vLLM's OpenAI server on loopback, of SmolLM2-135M, as answerer and as judge of JCQ's trial questions.

What its weak judge says has no meaning. What is tested is what the server tells and refuses, and that nothing is lost.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import httpx2
import pytest

from http_server import free_port
from sozo.data.errors import UserError
from sozo.data.prompts import prompt
from sozo.data.schema import iter_tables
from sozo.models.model_support import encode_text
from sozo.models.settings import GeneratorSettings, resolve
from sozo.models.weights import load_tokenizer
from sozo.scoring.endpoint.pace import RetryPolicy
from sozo.scoring.endpoint.profile import read_profile
from sozo.scoring.judges.endpoint import EndpointJudge
from sozo.scoring.judges.ledger import read_judgements
from sozo.scoring.judges.protocol import ToJudge
from sozo.scoring.judges.run import judge_answers
from sozo.tasks.jcq.questions import TASKS, trial_questions
from sozo.tasks.jcq.rubric import JCQ_V1

WINDOW, AT_ONCE, NAME = 2048, 4, "smollm2"  # tokens, requests that the engine works on
QUESTIONS = {question.task: question for question in reversed(trial_questions())}
ANSWER = "古い傘の骨で小さな噴水を作ります。"
SCORES = r"流暢性: [1-5]\n柔軟性: [1-5]\n独創性: [1-5]\n精緻性: [1-5]"
# As Granite marks its reasoning: in words, which any tokenizer has.
REASONED = rf"Here is my thought process: [a-z ]{{4,20}} Here is my response: {SCORES}"


class Served:
    """The server, which can be killed and started again on its port."""

    def __init__(self, model, log):
        port = free_port()
        self.root, self.model, self._log = f"http://127.0.0.1:{port}", model, log
        self.url = f"{self.root}/v1"
        options = {
            "model": model,
            "served-model-name": NAME,
            "host": "127.0.0.1",
            "port": port,
            "dtype": "float32",  # a CPU without bf16 takes ten times as long for it
        }
        options |= {
            "max-model-len": WINDOW,
            "max-num-seqs": AT_ONCE,
            "reasoning-parser": "granite",
        }
        # So that the tests can make the model reason.
        options |= {
            "structured-outputs-config": json.dumps({"enable_in_reasoning": True})
        }
        words = [
            word
            for name, value in options.items()
            for word in (f"--{name}", str(value))
        ]
        self._command = [
            sys.executable,
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--enforce-eager",
            *words,
        ]
        self.start()

    def start(self):
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True
            )
        limit = time.monotonic() + 600
        while True:
            assert self.process.poll() is None, self._log.read_text("utf-8", "replace")[
                -3000:
            ]
            assert time.monotonic() < limit
            try:
                httpx2.get(f"{self.root}/health").raise_for_status()
                return
            except httpx2.HTTPError:
                time.sleep(0.5)

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def measured(self, name):
        """The sum of one of the server's metrics over all labels."""
        lines = httpx2.get(f"{self.root}/metrics").text.splitlines()
        return sum(
            float(line.split()[-1])
            for line in lines
            if line.startswith(f"vllm:{name}{{")
        )


@pytest.fixture(scope="module", autouse=True)
def key():
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("OPENAI_API_KEY", "none")
        patched.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture(scope="module")
def served(real, key, tmp_path_factory):
    server = Served(real, tmp_path_factory.mktemp("served") / "log")
    yield server
    server.kill()


def judge(served, profile=None, **options):
    return EndpointJudge(
        NAME, served.url, profile=read_profile(profile), concurrency=AT_ONCE, **options
    )


def structured(**what):
    return {"extra_body": {"structured_outputs": what}}


def to_judge(answer=ANSWER):
    return [ToJudge(q.id, q.id, q.question, answer, q.task) for q in QUESTIONS.values()]


def judged(served, ledger, profile=None, answers=None, **options):
    return judge_answers(
        judge(served, profile, **options), JCQ_V1, answers or to_judge(), ledger
    )


def writer(served, profile=None, **settings):
    endpoint = json.dumps(profile) if profile else None
    asked = GeneratorSettings(
        NAME, "openai", base_url=served.url, endpoint=endpoint, **settings
    )
    return resolve(asked).load()


def test_tokens_and_endings_are_what_the_server_says(served, tmp_path):
    tokenizer = load_tokenizer(served.model)
    done = judged(served, tmp_path / "j", max_tokens=8)
    assert {name: n for name, n in done.statuses.items() if n} == {
        "truncated": len(TASKS)
    }
    for asked, line in zip(to_judge(), done.judgements, strict=True):
        assert line.prompt_tokens == len(
            encode_text(tokenizer, JCQ_V1.prompt(asked.question, ANSWER))
        )
        assert (line.completion_tokens, line.finish_reason) == (8, "length")
        assert (line.reply_model, line.fingerprint[:5]) == (NAME, "vllm-")
    cut = writer(served, max_new_tokens=3).answer(["Name an animal."] * 3, 0, 0)
    assert {answer.finish_reason for answer in cut} == {"length"}
    chosen = writer(served, structured(choice=["cat", "dog"])).answer(
        ["Name an animal."] * 6, 0, 0
    )
    assert {(answer.text, answer.finish_reason) for answer in chosen} <= {
        ("cat", "stop"),
        ("dog", "stop"),
    }


def test_seeds_repeat_answers(served):
    first, again, other = (
        [
            answer.text
            for answer in writer(served, max_new_tokens=8, concurrency=1).answer(
                ["Tell a story."] * 3, s, 0
            )
        ]
        for s in (1, 1, 2)
    )
    assert first == again
    assert len({*first, *other}) == 6


def test_replies_of_a_weak_judge_parse_once_their_form_is_given(served, tmp_path):
    free = judged(served, tmp_path / "free", max_tokens=60)
    assert free.statuses["ok"] == 0
    bound = judged(served, tmp_path / "bound", structured(regex=SCORES), max_tokens=60)
    assert bound.statuses["ok"] == len(TASKS)
    # A form is no judgement: it counts up, whatever it is shown.
    assert len({tuple(line.scores.values()) for line in bound.judgements}) < len(TASKS)


def test_reasoning_that_the_server_takes_out_is_no_part_of_a_verdict(served, tmp_path):
    done = judged(
        served, tmp_path / "whole", structured(regex=REASONED), max_tokens=100
    )
    assert done.statuses["ok"] == len(TASKS)
    assert not any("thought" in line.reply for line in done.judgements)
    # It is paid for all the same.
    tokenizer = load_tokenizer(served.model)
    assert all(
        line.completion_tokens > 10 + len(tokenizer.encode(line.reply))
        for line in done.judgements
    )
    cut = judged(served, tmp_path / "cut", structured(regex=REASONED), max_tokens=10)
    assert cut.statuses["truncated"] == len(TASKS)


def test_a_prompt_beyond_the_window_fails_alone(served, tmp_path, capsys):
    long = "Name an animal. " * WINDOW
    answers = writer(served, max_new_tokens=4).answer(
        ["Name an animal.", long, "Name a plant."], 0, 0
    )
    assert [answer.finish_reason for answer in answers] == ["length", "error", "length"]
    assert (
        "1 of 3 prompts got no answer (HTTP 400: This model's maximum context length"
        in capsys.readouterr().err
    )
    answers = [*to_judge()[:3], ToJudge("long", "long", "問い", long)]
    done = judged(
        served, tmp_path / "j", structured(regex=SCORES), answers=answers, max_tokens=60
    )
    assert [str(line.status) for line in done.judgements] == ["ok"] * 3 + ["api_error"]


@pytest.mark.parametrize("limit", [WINDOW, 2 * WINDOW])
def test_a_limit_beyond_the_window_is_one_line(served, limit):
    with pytest.raises(
        UserError,
        match=r"HTTP 400: .*; give a smaller limit on new tokens, or the server a longer",
    ):
        writer(served, max_new_tokens=limit).answer([prompt("dat")] * 20, 0, 0)


def test_more_requests_than_it_works_on_wait_and_are_all_answered(served):
    answers = writer(served, max_new_tokens=6, concurrency=8 * AT_ONCE).answer(
        ["Name an animal."] * 8 * AT_ONCE, 0, 0
    )
    assert {answer.finish_reason for answer in answers} <= {"length", "stop"}


def test_a_request_that_is_given_up_is_given_up_by_the_server_too(served, tmp_path):
    retry = RetryPolicy(retries=1, first_wait=0.1)
    hasty = judged(
        served,
        tmp_path / "j",
        {"timeout": 0.3},
        answers=to_judge()[:1],
        max_tokens=600,
        retry=retry,
    )
    (line,) = hasty.judgements
    assert (str(line.status), line.error) == (
        "api_error",
        "no reply within 0.3 s (2 attempts)",
    )
    limit = time.monotonic() + 60
    while served.measured("num_requests_running") + served.measured(
        "num_requests_waiting"
    ):
        assert time.monotonic() < limit
        time.sleep(0.1)
    again = judged(
        served,
        tmp_path / "j",
        structured(regex=SCORES),
        answers=to_judge()[:1],
        max_tokens=60,
    )
    assert again.statuses["ok"] == 1


def test_nothing_is_lost_when_the_client_and_the_server_are_killed(served, tmp_path):
    words = [
        "run",
        "--tasks",
        "jcq",
        "--trial",
        "--model",
        NAME,
        "--base-url",
        served.url,
        "--max-new-tokens",
        "6",
        "--output",
        "out",
    ]
    words += [
        "--judge-model",
        NAME,
        "--judge-base-url",
        served.url,
        "--judge-max-tokens",
        "60",
    ]
    words += [
        "--judge-endpoint",
        json.dumps(structured(regex=SCORES)),
        "--judge-concurrency",
        str(AT_ONCE),
    ]
    folder = tmp_path / "out" / NAME / "jcq"
    ledger, answers, log = (
        folder / "judgements.jsonl",
        folder / "answers",
        tmp_path / "log",
    )

    def start(*more):
        command = [sys.executable, "-m", "sozo", *words, *more]
        with log.open("ab") as errors:
            return subprocess.Popen(command, cwd=tmp_path, stdout=errors, stderr=errors)

    def judgements():
        return ledger.read_bytes().count(b"\n") if ledger.exists() else 0

    def texts():
        return [
            text
            for table in iter_tables(answers, ["text"])
            for text in table["text"].to_pylist()
        ]

    def wait_for(number, client):
        limit = time.monotonic() + 600
        while judgements() < number:
            assert client.poll() is None, log.read_text("utf-8")[-3000:]
            assert time.monotonic() < limit
            time.sleep(0.02)

    client = start()
    wait_for(5, client)
    client.kill()
    client.wait()
    drawn = texts()
    client = start()
    wait_for(judgements() + 5, client)
    served.kill()
    time.sleep(1)
    kept = [line.reply_id for line in read_judgements(ledger, (JCQ_V1,)) if line.scores]
    served.start()
    client.wait()
    assert start("--retry-unjudged").wait() == 0, log.read_text("utf-8")[-3000:]
    assert texts() == drawn  # no answer was drawn again
    lines = [line for line in read_judgements(ledger, (JCQ_V1,)) if line.scores]
    assert [line.reply_id for line in lines][: len(kept)] == kept
    assert Counter(line.question_id for line in lines) == dict.fromkeys(
        (q.id for q in trial_questions()), 1
    )
    # What the last server answered is what came after the kill, and the greetings of who asked it.
    assert (
        served.measured("request_success_total") <= len(lines) - len(kept) + AT_ONCE + 4
    )
    metrics = json.loads((folder / "metrics.json").read_text("utf-8"))
    assert metrics["statuses"]["ok"] == len(trial_questions())
    assert (folder / "jcq-judge").is_dir()
