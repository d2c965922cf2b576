"""`sozo run --tasks jcq` against a real server: `transformers serve` on loopback, as answerer and as judge."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from bigram_model import END, UNKNOWN, build_bigrams
from grpo_runs import _free_port, environment
from mini_model import build_mini
from model_server import wait_for
from sozo.data.prompts import prompt
from sozo.scoring.judges.ledger import read_judgements
from sozo.tasks import finished_run
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.rubric import JCQ_V1

ROOT = Path(__file__).parents[2]
VAGUE = "どの答えにもよいところがあります。"
VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
ANSWERS = [f"案{k}: 古い傘の骨で、{k}人で囲む小さな噴水を作ります。" for k in range(8)]
CONCURRENCY = 3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(tmp_path_factory, ginza, jumandic_checker, nouns):
    """A server with three models.

    `lists` writes nouns whatever it is asked, and at temperature 0 never ends; `vague` always says the same, which is
    no verdict; `verdicts` answers questions and gives a verdict.
    """
    folder = tmp_path_factory.mktemp("served")
    lists = build_mini(folder / "lists", ginza, jumandic_checker, nouns)
    ending = prompt("jcq_judge").splitlines()[-1]
    follows = {
        UNKNOWN: ANSWERS,
        ending: [VERDICT],
        VERDICT: [END],
        **{answer: [END] for answer in ANSWERS},
    }
    verdicts = build_bigrams(folder / "verdicts", follows)
    vague = build_bigrams(folder / "vague", {UNKNOWN: [VAGUE], VAGUE: [END]})
    port, log = _free_port(), folder / "server.log"
    script = Path(sys.executable).with_name("transformers")
    variables = environment(PYTHONPATH=os.pathsep.join(sys.path))
    command = [str(script), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=variables, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/health")
            url = f"http://127.0.0.1:{port}/v1"
            yield SimpleNamespace(
                url=url,
                log=log,
                lists=str(lists),
                vague=str(vague),
                verdicts=str(verdicts),
            )
        finally:
            process.terminate()


def asked(served):
    """Chat completions that the server has been asked for."""
    return served.log.read_text("utf-8", "replace").count("[Request received]")


def start(folder, *words):
    command = [sys.executable, "-m", "sozo", *map(str, words)]
    variables = environment(OPENAI_API_KEY="none", PYTHONPATH=str(ROOT))
    return subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def evaluate(folder, *words):
    process = start(folder, *words)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return output


def kill_when(process, ready):
    limit = time.monotonic() + 300
    while not ready():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < limit
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def jcq(served, answerer, judge, *more):
    words = (
        "run",
        "--tasks",
        "jcq",
        "--trial",
        "--model",
        answerer,
        "--base-url",
        served.url,
        "--concurrency",
        1,
        "--max-new-tokens",
        40,
    )
    words += (
        "--judge-model",
        judge,
        "--judge-base-url",
        served.url,
        "--judge-max-tokens",
        40,
    )
    return (*words, "--judge-concurrency", CONCURRENCY, "--output", "out", *more)


def test_a_client_killed_while_answers_are_drawn_and_while_they_are_judged(
    served, tmp_path
):
    command = jcq(served, served.lists, served.vague, "--batch-size", 5)
    out = tmp_path / "out" / "lists" / "jcq"
    ledger = out / "judgements.jsonl"

    def parts():
        return {
            path.name: path.read_bytes()
            for path in sorted((out / "answers").glob("part-*.parquet"))
        }

    def kept():
        """Answers of the batch whose part is not written yet."""
        path = out / "answers" / f".part-{len(parts()):05d}.jsonl.tmp"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    kill_when(start(tmp_path, *command), lambda: parts() and kept() >= 2)
    drawn, before = parts(), asked(served)
    missing = 35 - 5 * len(drawn) - kept()
    kill_when(
        start(tmp_path, *command),
        lambda: ledger.exists() and ledger.read_bytes().count(b"\n") >= 10,
    )
    # What was drawn stays. One request finds out how the server wants to be asked, and what was under way at a kill may
    # have come to the server and not back.
    assert drawn.items() <= parts().items()
    assert len(parts()) == 7
    judged, written = asked(served), ledger.read_bytes()
    written = written[: written.rindex(b"\n") + 1]
    lines = written.count(b"\n")
    assert missing + 1 + lines <= judged - before <= missing + 2 + lines + CONCURRENCY
    shown = evaluate(tmp_path, *command)
    assert ledger.read_bytes().startswith(written)
    judgements = read_judgements(ledger, (JCQ_V1,))
    assert (
        len(judgements) - lines
        <= asked(served) - judged
        <= len(judgements) - lines + CONCURRENCY
    )

    # Every answer was judged twice and ends without a score.
    asks = Counter(line.answer_id for line in judgements)
    assert (len(asks), set(asks.values())) == (35, {2})
    for line in judgements:
        assert (line.reply, line.status, line.scores) == (VAGUE, "unparseable", None)
        assert (line.finish_reason, line.completion_tokens) == ("stop", 2)
    metrics = json.loads((out / "metrics.json").read_text("utf-8"))
    assert {name: count for name, count in metrics["statuses"].items() if count} == {
        "unparseable": 35
    }
    assert (
        metrics["measures"]["jcq/mean"]["value"],
        metrics["measures"]["jcq/mean"]["n"],
    ) == (None, 0)
    assert (
        metrics["prompt_tokens"] == sum(line.prompt_tokens for line in judgements) > 0
    )
    assert "0 of 35" in shown

    settled, content = asked(served), ledger.read_bytes()
    assert "finished before" in evaluate(tmp_path, *command)
    assert (asked(served), ledger.read_bytes()) == (settled, content)


def test_a_judge_that_gives_verdicts(served, tmp_path):
    shown = evaluate(
        tmp_path,
        *jcq(
            served,
            served.verdicts,
            served.verdicts,
            "--judge-price-in",
            1,
            "--judge-price-out",
            2,
        ),
    )
    out = tmp_path / "out" / "verdicts" / "jcq"
    metrics = json.loads((out / "metrics.json").read_text("utf-8"))
    assert metrics["statuses"]["ok"] == 35
    expected = {
        "fluency": 4,
        "flexibility": 3,
        "originality": 2,
        "elaboration": 5,
        "mean": 3.5,
    }
    assert {
        name: metrics["measures"][f"jcq/{name}"]["value"] for name in expected
    } == expected
    answers = finished_run(out).scored
    assert [answer.item for answer in answers] == [
        question.id for question in trial_questions()
    ]
    assert {answer.text for answer in answers} <= set(ANSWERS)
    assert len({answer.text for answer in answers}) > 3
    # To this tokenizer a judge's prompt is four tokens: what it does not know, the answer, more of that, the last line.
    assert (metrics["prompt_tokens"], metrics["completion_tokens"]) == (4 * 35, 2 * 35)
    assert metrics["cost"] == pytest.approx((4 * 35 + 2 * 2 * 35) / 1e6)
    assert "35 of 35" in shown


def test_a_judge_that_never_ends(served, tmp_path):
    rows = [
        {"id": k, "question_id": question.id, "answer": ANSWERS[0]}
        for k, question in enumerate(trial_questions())
    ]
    (tmp_path / "answers.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf-8"
    )
    command = (
        "score",
        "jcq",
        "answers.jsonl",
        "--trial",
        "--judge-model",
        served.lists,
        "--output",
        "out",
    )
    before = asked(served)
    evaluate(
        tmp_path, *command, "--judge-base-url", served.url, "--judge-max-tokens", 12
    )
    assert asked(served) == before + 35
    judgements = read_judgements(tmp_path / "out" / "judgements.jsonl", (JCQ_V1,))
    assert {
        (str(line.status), line.completion_tokens, line.scores) for line in judgements
    } == {("truncated", 12, None)}
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
    assert metrics["statuses"]["truncated"] == len(judgements) == 35
