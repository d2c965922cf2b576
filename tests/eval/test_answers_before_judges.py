"""Before a model is paid its judge must answer; what is paid is any judge's; `--dry-run` says what both cost."""

import csv
import io
import json
import re
import shlex
import shutil
import time

import pytest
from transformers import AutoTokenizer

from bigram_model import END, UNKNOWN, build_bigrams
from http_server import free_port
from model_server import completion, server
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.rubric import JCQ_V1
from two_tasks import RUN, both, evaluate

GONE = f"http://127.0.0.1:{free_port()}/v1"


def refusing(status, message):
    return lambda body: (status, {"error": {"message": message}})


def command(url, judge, *words, output="out"):
    return [
        *("run", "--tasks", "jcq", "--model", "m", "--base-url", url, "--trial"),
        *("--judge-model", "j", "--judge-base-url", judge, "--output", output, *words),
    ]


def verdicts_asked(requests):
    return [
        body for body in requests if "# 出力形式" in body["messages"][-1]["content"]
    ]


def pasted(text):
    """The command that a message ends with, but for its first word, as a shell reads it."""
    return shlex.split(re.search(r": sozo (score .*)", text)[1])


@pytest.mark.parametrize(
    ("status", "message"),
    [(None, "Connect"), (401, "HTTP 401: bad key"), (404, "HTTP 404: no such model")],
)
def test_a_judge_that_cannot_be_asked_costs_no_answer(status, message, tmp_path):
    with (
        server(both) as (url, answered),
        server(refusing(status, message.partition(": ")[2])) as (judge, judged),
    ):
        judge = judge if status else GONE
        done = evaluate(tmp_path, *command(url, judge))
        plan = evaluate(tmp_path, *command(url, judge, "--dry-run"))
    assert done.returncode == 2
    assert f"error: judge j at {judge}: " in done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert f"missing: judge j at {judge}: " in plan.stdout
    assert plan.returncode == 1
    assert [body["max_tokens"] for body in answered] == [1]  # the plan's greeting
    assert len(judged) == (2 if status else 0)
    assert not [*(tmp_path / "out").rglob("*.*")]


def test_a_model_that_its_server_does_not_know_is_missing(tmp_path):
    with server(refusing(404, "no such model")) as (url, _), server(both) as (judge, _):
        plan = evaluate(tmp_path, *command(url, judge, "--dry-run"))
    assert plan.returncode == 1
    assert plan.stdout.count("missing: ") == 1
    assert f"missing: m at {url}: HTTP 404: no such model" in plan.stdout
    assert "m/jcq: judge j: 35 requests" in plan.stdout


def test_a_judge_that_fails_later_leaves_answers_that_one_command_has_judged(tmp_path):
    verdicts = []

    def later(body):
        if verdicts or body["max_tokens"] == 1:
            return both(body)
        return 401, {"error": {"message": "the key has expired"}}

    with server(both) as (url, answered), server(later) as (judge, judged):
        words = command(url, judge, "--batch-size", "20", output="what's it")
        done = evaluate(tmp_path, *words)
        assert done.returncode == 2
        assert "the key has expired; set OPENAI_API_KEY" in done.stderr
        assert done.stderr.count("\n") == 1
        assert len(answered) == 1 + 35
        run = tmp_path / "what's it" / RUN
        assert not (run / "metrics.json").exists()
        score = pasted(done.stderr)
        assert score[-1] == "what's it/m/jcq-j"
        asked = len(judged)
        plan = evaluate(tmp_path, *score, "--dry-run")
        assert plan.returncode == 0, plan.stderr
        assert "what's it/m/jcq: judge j: 35 requests" in plan.stdout
        assert (len(judged), judged[-1]["max_tokens"]) == (asked + 1, 1)
        assert not (tmp_path / score[-1]).exists()
        verdicts.append(True)
        assert evaluate(tmp_path, *score).returncode == 0
        assert evaluate(tmp_path, *words).returncode == 0
        assert len(answered) == 1 + 35
        (run / "answers" / "part-00001.parquet").unlink()
        (run / "metrics.json").unlink()
        half = evaluate(tmp_path, *score[:-1], "half")
    assert f"{RUN}: is not finished; run the command" in half.stderr
    metrics = json.loads((tmp_path / score[-1] / "metrics.json").read_text("utf-8"))
    assert metrics["statuses"]["ok"] == 34


def test_another_judge_is_told_how_it_gets_the_answers_that_are_there(tmp_path):
    with server(both) as (url, answered), server(both) as (judge, judged):
        assert evaluate(tmp_path, *command(url, judge)).returncode == 0
        paid = len(answered)
        other = ["org/k v" if word == "j" else word for word in command(url, judge)]
        done = evaluate(tmp_path, *other)
        assert done.returncode == 2
        said = 'error: out/m/jcq: holds a run with judge.model = "j", but now it is "org/k v"; '
        assert done.stderr.startswith(said + "to judge its answers so: sozo score jcq ")
        score = pasted(done.stderr)
        assert evaluate(tmp_path, *score).returncode == 0
        assert len(answered) == paid
        shutil.rmtree(tmp_path / "out" / RUN / "answers")
        (tmp_path / "out" / RUN / "metrics.json").unlink()
        none = evaluate(tmp_path, *other)
    assert "give another output folder, or the same settings" in none.stderr
    assert {body["model"] for body in judged} == {"j", "org/k v"}
    new = tmp_path / "out" / "m" / "jcq-org-k-v"
    metrics = json.loads((new / "metrics.json").read_text("utf-8"))
    assert (metrics["judge"], metrics["source"]) == ("org/k v", "m")


def grade(low):
    """Verdicts that follow the number in the answer, `low` points lower."""

    def answer(body):
        asked = body["messages"][-1]["content"]
        if "# 出力形式" not in asked:
            return completion(str(len(asked) % 3))
        number = int(re.search(r"# 回答\n(\d)", asked)[1]) + 3 - low
        names = ("流暢性", "柔軟性", "独創性", "精緻性")
        return completion("\n".join(f"{name}: {number}" for name in names))

    return answer


def by_model(body):
    return grade(2 if body["model"] == "org/k" else 0)(body)


def test_two_judges_in_one_command_score_the_same_answers(tmp_path):
    with server(grade(0)) as (url, answered), server(by_model) as (judge, judged):
        words = command(url, judge, "--judge-price-in", "1", "--judge-price-out", "1")
        words.insert(words.index("j") + 1, "org/k")
        plan = evaluate(tmp_path, *words, "--dry-run")
        assert plan.returncode == 0, plan.stdout + plan.stderr
        who = [line.split(":")[1].strip() for line in plan.stdout.splitlines()[:3]]
        assert who == ["model m", "judge j", "judge org/k"]
        assert [body["model"] for body in judged] == ["j", "org/k"]
        del answered[:], judged[:]
        done = evaluate(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        assert len(answered) == 1 + 35
        by = [body["model"] for body in judged]
        assert (by[:2], by.count("j"), by.count("org/k")) == (["j", "org/k"], 36, 36)
        asked = len(judged)
        again = evaluate(tmp_path, *words)
        assert again.stdout.count("finished before") == 2
        assert (len(answered), len(judged)) == (36, asked)
    out = tmp_path / "out" / "m"
    assert {path.name for path in out.iterdir()} == {"jcq", "jcq-org-k"}
    assert "JCQ: agreement of judges" in done.stdout
    assert re.search(r"m: org/k and j +0\.\d\d +−2\.00", done.stdout)
    page = evaluate(tmp_path, "report", "out", "--output", "r.html")
    assert page.returncode == 0, page.stderr
    (table,) = (tmp_path / "r-tables").glob("*agreement*.csv")
    (row,) = csv.DictReader(io.StringIO(table.read_text("utf-8-sig")))
    assert (row["Model"], row["ICC n"]) == ("m: org/k and j", "35")
    # They differ by 2 on the same side always: a variance of 2 beside that of 35 answers.
    assert float(row["ICC"]) == pytest.approx(0.26, abs=0.001)
    assert float(row["Difference"]) == -2
    rows = csv.DictReader(
        (tmp_path / "r-tables" / "table12.csv").open("r", encoding="utf-8-sig")
    )
    assert [row["Model"] for row in rows] == ["m", "m by org/k"]


def test_a_further_judge_that_cannot_be_asked_costs_no_answer(tmp_path):
    def refusing_k(body):
        return (
            (404, {"error": {"message": "no k"}})
            if body["model"] == "k"
            else both(body)
        )

    with server(both) as (url, answered), server(refusing_k) as (judge, _):
        words = command(url, judge)
        words.insert(words.index("j") + 1, "k")
        done = evaluate(tmp_path, *words)
        plan = evaluate(tmp_path, *words, "--dry-run")
    assert done.returncode == 2
    assert "error: judge k at" in done.stderr
    assert "missing: judge k at" in plan.stdout
    assert [body["max_tokens"] for body in answered] == [1]  # the plan's greeting


def test_models_by_a_further_judge_are_compared_with_the_base_by_that_judge(tmp_path):
    with server(grade(0)) as (url, _), server(by_model) as (judge, _):
        words = command(url, judge)
        words.insert(words.index("j") + 1, "org/k")
        words[words.index("m")] = "x/a"
        words.insert(words.index("x/a") + 1, "x/b")
        done = evaluate(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    found = findings(find_evaluated([str(tmp_path / "out")]))
    pairs = {(base.name, method.name) for base, method in found.compared.pairs}
    assert pairs == {("a", "b"), ("a by org/k", "b by org/k")}


def test_a_plan_counts_tokens_dollars_minutes_and_what_is_there(tmp_path):
    folder = build_bigrams(tmp_path / "judge", {UNKNOWN: [END]})
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def slow(body):
        time.sleep(0.2)
        return both(body)

    with server(slow) as (url, answered), server(both) as (judge, judged):
        words = command(url, judge, "--batch-size", "20")
        words[words.index("j")] = str(folder)
        prices = ("--price-in", "1000", "--price-out", "0", "--max-new-tokens", "100")
        prices += ("--judge-price-in", "0", "--judge-price-out", "1000000")
        prices += ("--judge-max-tokens", "7", "--concurrency", "2")
        plan = evaluate(tmp_path, *words, *prices, "--dry-run")
        assert plan.returncode == 0, plan.stderr + plan.stdout
        assert [len(answered), len(judged)] == [1, 1]
        assert not (tmp_path / "out").exists()
        questions = [question.question for question in trial_questions()]
        characters = sum(map(len, questions))
        model, judges, whole, _ = plan.stdout.splitlines()
        assert whole == f"in all at most {characters / 1000 + 245:,.2f} dollars"
        assert model.startswith(
            f"m/jcq: model m: 35 requests, at most {characters:,} tokens in and 3,500 out "
            f"(a token a character), {characters / 1000:.2f} dollars; "
        )
        # By two at once, each as slow as the one token.
        assert float(model.split()[-4]) >= round(35 * 0.2 / 2 / 60, 2)
        prompts = [JCQ_V1.prompt(question, "") for question in questions]
        read = sum(len(tokenizer.tokenize(prompt)) for prompt in prompts) + 35 * 100
        assert judges.startswith(
            f"m/jcq: judge {folder}: 35 requests, at most {read:,} tokens in and 245 out "
            "(by its tokenizer), 245.00 dollars; "
        )
        assert evaluate(tmp_path, *words, *prices).returncode == 0
        (tmp_path / "out" / RUN / "answers" / "part-00001.parquet").unlink()
        (tmp_path / "out" / RUN / "metrics.json").unlink()
        plan = evaluate(tmp_path, *words, *prices, "--dry-run")
    assert "m/jcq: model m: 15 requests" in plan.stdout
    assert f"m/jcq: judge {folder}: 0 requests" in plan.stdout


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("--judge-endpoint", "{key_env: JUDGE_KEY}"), "JUDGE_KEY is not set"),
        (("--judge-backend", "vllm"), "the package vllm is not installed"),
        (("--model", "org/none"), "org/none: neither in a folder"),
        (
            (
                *("--tasks", "dat", "--embedding-model", "openai:e"),
                *("--embedding-endpoint", "{key_env: ENCODER_KEY}"),
            ),
            "ENCODER_KEY is not set",
        ),
        (("--tasks", "sat", "--sat-embedding-model", "org/away"), "org/away: neither"),
        (("--questions", "none.jsonl"), "give either --trial or --questions"),
    ],
)
def test_what_is_missing_here_is_a_line(words, missing, tmp_path):
    with server(both) as (url, _):
        words = ("--trial", "--judge-base-url", url, *words, "--output", "out")
        words = ("run", "--tasks", "jcq", "--model", "tiny", *words)
        if "--judge-backend" in words:
            words = [word for word in words if word not in ("--judge-base-url", url)]
        plan = evaluate(tmp_path, *words, "--dry-run")
    assert plan.returncode == 1, plan.stderr
    assert f"missing: {missing}" in plan.stdout
    assert not (tmp_path / "out").exists()
