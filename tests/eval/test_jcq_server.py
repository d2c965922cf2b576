"""`sozo run --tasks jcq` against a real server: `transformers serve` on loopback, as answerer and as judge."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bigram_model import END, UNKNOWN, build_bigrams
from grpo_runs import _free_port, environment
from model_server import wait_for
from run_files import metrics_of
from sozo.data.prompts import prompt
from sozo.scoring.judges.ledger import read_judgements
from sozo.tasks import finished_run
from sozo.tasks.jcq.rubric import JCQ_V1
from two_tasks import command, evaluate

VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"
ANSWERS = [f"案{k}: 古い傘の骨で、{k}人で囲む小さな噴水を作ります。" for k in range(8)]


@pytest.fixture
def url(tmp_path):
    """A server."""
    port = _free_port()
    script = Path(sys.executable).with_name("transformers")
    variables = environment(PYTHONPATH=os.pathsep.join(sys.path))
    words = [str(script), "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (
        (tmp_path / "server.log").open("wb") as log,
        subprocess.Popen(
            words, env=variables, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            wait_for(f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


@pytest.mark.launches
def test_a_judge_that_gives_verdicts(url, tmp_path):
    """Of a model that answers questions, and gives a verdict where one is asked for."""
    ending = prompt("jcq_judge").splitlines()[-1]
    follows = {UNKNOWN: ANSWERS, ending: [VERDICT], VERDICT: [END]}
    follows |= {answer: [END] for answer in ANSWERS}
    model = str(build_bigrams(tmp_path / "verdicts", follows))
    words = command(url, url, "--concurrency", "1", models=(model,))
    words[words.index("j")] = model
    words += ["--max-new-tokens", "40", "--judge-max-tokens", "40"]
    done = evaluate(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out" / "verdicts" / "jcq"
    metrics = metrics_of(out)
    assert metrics["statuses"]["ok"] == 35
    assert metrics["measures"]["jcq/mean"]["value"] == 3.5
    answers = finished_run(out).scored
    assert {answer.text for answer in answers} <= set(ANSWERS)
    assert len({answer.text for answer in answers}) > 3
    # To this tokenizer a judge's prompt is four tokens: what it does not know, the answer, more of that, the last line.
    judged = read_judgements(out / "judgements.jsonl", (JCQ_V1,))
    tokens = {(line.prompt_tokens, line.completion_tokens) for line in judged}
    assert (len(judged), tokens) == (35, {(4, 2)})
