"""`sozo run --tasks jcq sat` as a user runs them, against a server on loopback that answers and judges."""

import json
import shutil

import pytest

from command_line import here
from model_server import completion, server
from run_files import config_of, metrics_of
from sentences import refused
from sozo.eval.wandb_results import _values
from sozo.tasks import finished_run
from sozo.tasks.jcq.questions import trial_questions
from two_tasks import RUN, VERDICT, both, command, evaluate, story_teller

NUMBERS = {question.question: k for k, question in enumerate(trial_questions())}


def test_jcq_from_questions_to_a_row(tmp_path):
    prices = ("--judge-price-in", "1", "--judge-price-out", "2")
    twice = ("--answers-per-item", "2", "--batch-size", "30")
    with server(both) as (url, requests):
        words = command(url, url, *prices, *twice)
        done = evaluate(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        asked = len(requests)
        again = evaluate(tmp_path, *words)
        assert "finished before" in again.stdout
        assert len(requests) == asked
        # Killed after the answers: only the judge is asked again.
        shutil.copytree(tmp_path / "out", tmp_path / "cut")
        for name in ("metrics.json", "judgements.jsonl"):
            (tmp_path / "cut" / RUN / name).unlink()
        words = command(url, url, *prices, *twice, output="cut")
        assert evaluate(tmp_path, *words).returncode == 0
        judged = [body for body in requests[asked:] if body["model"] == "j"]
        assert len(judged) == len(requests) - asked
    metrics, cut = (metrics_of(tmp_path / name / RUN) for name in ("out", "cut"))
    # 36 asks and a greeting, the second time too.
    bills = [each.pop("bill")["judge"]["requests"] for each in (metrics, cut)]
    assert bills == [37, 73]
    assert metrics == cut
    # Two equal answers to a question are judged once; the unparseable reply is asked for twice and stays unscored.
    statuses = {name: n for name, n in metrics["statuses"].items() if n}
    assert statuses == {"ok": 68, "unparseable": 2}
    config = config_of(tmp_path / "out" / RUN)
    decoder = config["loaded"]["decoder"]
    assert decoder["top_p"] == 1.0
    assert "prompt" not in decoder  # the questions are the prompts, not DAT's
    assert metrics["measures"]["jcq/fluency"]["value"] == 4
    assert metrics["measures"]["jcq/mean"]["value"] == 3.5
    assert (metrics["scored_items"], metrics["measures"]["jcq/mean"]["n"]) == (34, 34)
    assert "35, 34 with a score" in " ".join(done.stdout.split())
    ledger = (tmp_path / "out" / RUN / "judgements.jsonl").read_text("utf-8")
    assert len(ledger.splitlines()) == 36
    assert config["judge"] == {
        "backend": "openai",
        "model": "j",
        "base_url": url,
        "server": url,
        "temperature": 0.0,
        "max_tokens": 1024,
        "price": {"per_million_in": 1.0, "per_million_out": 2.0},
    }


def test_jcq_does_not_judge_reasoning(tmp_path):
    def thinking(body):
        asked = body["messages"][-1]["content"]
        if "# 出力形式" in asked:
            return completion(VERDICT)
        first = NUMBERS.get(asked) == 0
        return completion("<think>案は" if first else "<think>案は三つ</think>\n答え")

    with server(thinking) as (url, requests):
        done = evaluate(tmp_path, *command(url, url))
    assert done.returncode == 0, done.stderr
    _, *asked = [  # the first asks whether the judge is there
        body["messages"][-1]["content"] for body in requests if body["model"] == "j"
    ]
    assert len(asked) == 34  # of the first nothing is left
    assert not [text for text in asked if "案は" in text or "think" in text]
    assert sum("# 回答\n答え\n" in text for text in asked) == 34
    (file,) = (tmp_path / "out" / RUN / "jcq-judge" / "answers").iterdir()
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    assert [line["answer"] for line in lines] == ["", *["答え"] * 34]


def test_a_retry_that_stops_on_its_budget_leaves_what_holds(tmp_path):
    answers = [both, lambda body: completion(VERDICT)]
    with server(lambda body: answers[0](body)) as (url, _):
        prices = ("--judge-price-in", "1", "--judge-price-out", "2")
        words = command(url, url, *prices)
        free = "--price-in", "0", "--price-out", "0", "--max-cost"
        assert evaluate(tmp_path, *words, *free, "9").returncode == 0
        run = tmp_path / "out" / RUN
        assert metrics_of(run)["statuses"]["unparseable"] == 1
        stopped = evaluate(tmp_path, *words, "--retry-unjudged", *free, "0.000001")
        assert stopped.returncode == 3
        assert metrics_of(run)["statuses"]["unparseable"] == 1
        del answers[0]
        assert evaluate(tmp_path, *words, "--retry-unjudged").returncode == 0
        assert metrics_of(run)["statuses"]["ok"] == 35


def test_answers_that_were_cut_or_empty_are_counted_beside_the_mean(tmp_path):
    ends = completion("案", "length"), completion("", "stop"), completion("案がある。")

    def answers(body):
        number = NUMBERS.get(body["messages"][-1]["content"])
        return both(body) if number is None else ends[min(number // 10, 2)]

    with server(answers) as (url, requests):
        done = evaluate(tmp_path, *command(url, url))
    assert done.returncode == 0, done.stderr
    states = metrics_of(tmp_path / "out" / RUN)["states"]
    states = {name: n for name, n in states.items() if n}
    assert states == {"complete": 15, "cut": 10, "no_text": 10}
    shown = " ".join(done.stdout.split())
    assert "Answers: cut at the limit 10 of 35, 28.6%" in shown
    assert "10 of 35 answers cut at the limit" in shown
    limits = [body.get("max_tokens", 0) for body in requests if body["model"] == "m"]
    assert max(limits) == 4096


def test_no_judge_is_shown_an_answer_without_text_and_all_are_counted(tmp_path):
    lost = (
        completion("", "content_filter"),
        completion("<think>案は"),
        completion("", "length"),
        completion(" \n"),
        (400, {"error": {"message": "not this one"}}),
    )

    def answers(body):
        number = NUMBERS.get(body["messages"][-1]["content"], 99)
        return lost[number] if number < len(lost) else both(body)

    with server(answers) as (url, requests):
        done = evaluate(tmp_path, *command(url, url))
    assert done.returncode == 0, done.stderr
    judged = [body for body in requests if body["model"] == "j"]
    assert len(judged) == 1 + 30  # the first greets
    metrics = metrics_of(tmp_path / "out" / RUN)
    assert sum(metrics["statuses"].values()) == 30
    reasons = {"error": 1, "refusal": 0, "filtered": 1, "no_text": 3}
    assert metrics["reasons"] == reasons
    mean = metrics["measures"]["jcq/mean"]
    assert (mean["value"], mean["n"], mean["of"]) == (3.5, 30, 35)
    shown = " ".join(done.stdout.split())
    assert "1 of 35 answers never came" in shown
    assert "3 of 35 answers without text" in shown
    assert "Unusable: without text 3 of 35, 8.6%" in shown
    run = finished_run(tmp_path / "out" / RUN)
    logged = _values(run)
    reasons = [logged[f"eval/jcq/reasons_{why}"] for why in ("error", "no_text_of")]
    assert reasons == [1, 35]


PRICES = ("--judge-price-in", "1", "--judge-price-out", "1")
MODEL_PRICES = ("--price-in", "1", "--price-out", "1")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("run: jcq of nouns", ("--model", "random")),
        ("run: trial and questions", ("--questions", "q.jsonl")),
        ("run: judge prompt", ("--judge-prompt", "mine")),
        ("run: half a price", PRICES[:2]),
        ("run: no answers", ("--answers-per-item", "0")),
        ("run: answers in all", ("--num-answers", "6")),
        ("run: answers in all", ("--num-usable", "6", "--dry-run")),
        ("run: judge backend", ("--judge-backend", "mlx")),
        ("run: temperature", ("--sampling", "temperature=nan")),
        ("run: best of jcq", ("--sampling", "best-of=4")),
        ("run: max cost", ("--max-cost", "nan", *PRICES)),
        ("run: cost unknown", ("--base-url", "http://h/v1", "--max-cost", "5")),
        (
            "judges: max_cost without prices",
            (
                "--base-url",
                "http://h/v1",
                *MODEL_PRICES,
                "--max-cost",
                "5",
                "--dry-run",
            ),
        ),
        ("run: base url", ("--base-url", "http://h:99999/v1")),
    ],
)
def test_what_jcq_cannot_be_asked_so(row, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    model = () if "--model" in words else ("--model", "m")
    common = ("run", "--tasks", "jcq", "--trial", "--output", "out")
    with refused(row):
        here(*common, *model, *words)
    assert not (tmp_path / "out").exists()


def test_a_task_that_is_none_and_two_models_of_one_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused("run: no such task"):
        here("run", "--model", "a", "--tasks", "dad", "--output", "out")
    with refused("run: two models of one folder"):
        here("run", "--model", "org/a", "org/a", "--output", "out")


def test_sat_from_stories_to_a_row(tmp_path):
    with server(story_teller) as (url, requests):
        words = ("run", "--tasks", "sat", "--model", "m", "--base-url", url)
        words += ("--output", "out")
        done = evaluate(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        asked = len(requests)
        assert "finished before" in evaluate(tmp_path, *words).stdout
        assert len(requests) == asked
    run = tmp_path / "out" / "m" / "sat"
    metrics = metrics_of(run)
    assert (
        metrics["num_items"],
        metrics["measures"]["sat"]["n"],
        metrics["reasons"]["no_text"],
    ) == (113, 112, 1)
    assert metrics["measures"]["sat"]["value"] == pytest.approx(0, abs=1e-6)
    assert metrics["measures"]["sat/copied"]["value"] > 0.99
    assert "112 of 113" in done.stdout
    # What was written can be scored again, with no model.
    done = evaluate(tmp_path, "score", "sat", run, "--output", "again")
    assert done.returncode == 0, done.stderr
    del metrics["bill"]
    assert metrics_of(tmp_path / "again") == metrics


# A judge whose every reply costs 1; the models cost nothing.
COSTLY = (
    *("--judge-max-tokens", "1000", "--judge-price-in", "0"),
    *("--judge-price-out", "1000", "--price-in", "0", "--price-out", "0"),
)


def counted(reply):
    status, payload = reply
    used = {"prompt_tokens": 0, "completion_tokens": 1000, "total_tokens": 1000}
    return status, payload | {"usage": used}


def paid(folder):
    ledgers = [folder / "out" / name / "jcq" / "judgements.jsonl" for name in "ab"]
    return [ledger.read_text("utf-8").count("\n") for ledger in ledgers]


def test_max_cost_is_for_all_models_of_a_run(tmp_path):
    with server(lambda body: counted(both(body))) as (url, _):
        words = command(url, url, *COSTLY, "--max-cost", "50", models=("a", "b"))
        done = evaluate(tmp_path, *words)
        assert done.returncode == 3, done.stderr  # stopped
    # One answer of a is asked for twice; the judge was greeted once, in 1000 tokens.
    assert paid(tmp_path) == [36, 13]
    bill = metrics_of(tmp_path / "out" / "a" / "jcq")["bill"]
    assert bill["judge"]["cost_at_most"] == 37
    assert not (tmp_path / "out" / "b" / "jcq" / "metrics.json").exists()


def test_max_cost_counts_what_every_model_has_cost_before(tmp_path):
    well = []

    def answer(body):
        asks_judge = "# 出力形式" in body["messages"][-1]["content"]
        ill = asks_judge and not well
        return counted(completion("採点できません") if ill else both(body))

    with server(answer) as (url, _):
        words = command(url, url, *COSTLY, models=("a", "b"))
        assert evaluate(tmp_path, *words).returncode == 0
        assert paid(tmp_path) == [70, 70]
        well.append(True)
        done = evaluate(tmp_path, *words, "--retry-unjudged", "--max-cost", "160")
        assert done.returncode == 3, done.stderr
    assert paid(tmp_path) == [89, 70]  # and one for greeting the judge
