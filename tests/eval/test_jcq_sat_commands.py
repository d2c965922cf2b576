"""`sozo run --tasks jcq sat` as a user runs them, against a server on loopback that answers and judges."""

import json
import shutil

import pytest

from model_server import KEY, completion, server
from sozo.eval.deliver.wandb_results import _values
from sozo.eval.run import TaskRun
from sozo.tasks import finished_run
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.task import Jcq
from two_tasks import RUN, VERDICT, both, evaluate, story_teller


def files_with(folder, text):
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def test_jcq_from_questions_to_a_row(tmp_path):
    with server(both) as (url, requests):
        command = (
            "run",
            "--tasks",
            "jcq",
            "--model",
            "m",
            "--base-url",
            url,
            "--trial",
            "--answers-per-item",
            "2",
            "--batch-size",
            "30",
        )
        command += (
            "--judge-model",
            "j",
            "--judge-base-url",
            url,
            "--judge-price-in",
            "1",
            "--judge-price-out",
            "2",
        )
        done = evaluate(tmp_path, *command, "--output", "out")
        assert done.returncode == 0, done.stderr
        asked = len(requests)
        again = evaluate(tmp_path, *command, "--output", "out")
        assert "finished before" in again.stdout
        assert len(requests) == asked
        # Killed after the answers: only the judge is asked again.
        shutil.copytree(tmp_path / "out", tmp_path / "cut")
        for name in ("metrics.json", "judgements.jsonl"):
            (tmp_path / "cut" / RUN / name).unlink()
        assert evaluate(tmp_path, *command, "--output", "cut").returncode == 0
        judged = [body for body in requests[asked:] if body["model"] == "j"]
        assert len(judged) == len(requests) - asked
    metrics, cut = (
        json.loads((tmp_path / name / RUN / "metrics.json").read_text("utf-8"))
        for name in ("out", "cut")
    )
    # 36 asks and a greeting, the second time too.
    bills = [each.pop("bill")["judge"]["requests"] for each in (metrics, cut)]
    assert bills == [37, 73]
    assert metrics == cut
    # Two equal answers to a question are judged once; the unparseable reply is asked for twice and stays unscored.
    assert metrics["statuses"] == {
        "ok": 68,
        "in_prose": 0,
        "unparseable": 2,
        "refused": 0,
        "truncated": 0,
        "api_error": 0,
        "not_asked": 0,
    }
    decoder = json.loads((tmp_path / "out" / RUN / "config.json").read_text("utf-8"))[
        "loaded"
    ]["decoder"]
    assert decoder["top_p"] == 1.0
    assert "prompt" not in decoder  # the questions are the prompts, not DAT's
    assert metrics["measures"]["jcq/fluency"]["value"] == 4
    assert metrics["measures"]["jcq/mean"]["value"] == 3.5
    assert (metrics["scored_items"], metrics["measures"]["jcq/mean"]["n"]) == (34, 68)
    assert "unparseable" in done.stdout
    assert "35, 34 with a score" in " ".join(done.stdout.split())
    assert (
        len(
            (tmp_path / "out" / RUN / "judgements.jsonl")
            .read_text("utf-8")
            .splitlines()
        )
        == 36
    )
    assert files_with(tmp_path, KEY) == []
    facts = json.loads((tmp_path / "out" / RUN / "config.json").read_text("utf-8"))[
        "judge"
    ]
    expected = {
        "model": "j",
        "base_url": url,
        "server": url,
        "temperature": 0.0,
        "max_tokens": 1024,
    }
    assert facts == {
        "backend": "openai",
        **expected,
        "price": {"per_million_in": 1.0, "per_million_out": 2.0},
    }


def test_jcq_does_not_judge_reasoning(tmp_path):
    def thinking(body):
        asked = body["messages"][-1]["content"]
        if "# 出力形式" in asked:
            return completion(VERDICT)
        texts = {
            trial_questions()[0].question: "<think>案は",
            trial_questions()[1].question: "案は三つ</think>\n答え",
        }
        return completion(texts.get(asked, "<think>案は三つ</think>\n答え"))

    with server(thinking) as (url, requests):
        command = (
            "run",
            "--tasks",
            "jcq",
            "--model",
            "m",
            "--base-url",
            url,
            "--trial",
            "--judge-model",
            "j",
            "--judge-base-url",
            url,
        )
        done = evaluate(tmp_path, *command, "--output", "out")
    assert done.returncode == 0, done.stderr
    _, *asked = [  # the first asks whether the judge is there
        body["messages"][-1]["content"] for body in requests if body["model"] == "j"
    ]
    assert len(asked) == 34  # of the first nothing is left
    assert not [text for text in asked if "案は" in text or "think" in text]
    assert sum("# 回答\n答え\n" in text for text in asked) == 34
    (file,) = (tmp_path / "out" / RUN / "jcq-judge" / "answers").iterdir()
    assert [
        json.loads(line)["answer"] for line in file.read_text("utf-8").splitlines()
    ] == ["", *["答え"] * 34]


def test_a_retry_that_stops_on_its_budget_says_what_holds(tmp_path):
    answers = [both, lambda body: completion(VERDICT)]
    with server(lambda body: answers[0](body)) as (url, _):
        command = (
            "run",
            "--tasks",
            "jcq",
            "--model",
            "m",
            "--base-url",
            url,
            "--trial",
            "--judge-model",
            "j",
            "--judge-base-url",
            url,
        )
        command += (
            "--judge-price-in",
            "1",
            "--judge-price-out",
            "2",
            "--output",
            "out",
        )
        assert evaluate(tmp_path, *command).returncode == 0
        metrics = tmp_path / "out" / RUN / "metrics.json"
        assert json.loads(metrics.read_text("utf-8"))["statuses"]["unparseable"] == 1
        stopped = evaluate(
            *(tmp_path, *command, "--retry-unjudged", "--max-cost", "0.000001"),
            *("--price-in", "0", "--price-out", "0"),
        )
        assert stopped.returncode == 3
        assert (
            "not finished: the next request could bring the cost above 1e-06"
            in stopped.stdout
        )
        assert json.loads(metrics.read_text("utf-8"))["statuses"]["unparseable"] == 1
        del answers[0]
        assert evaluate(tmp_path, *command, "--retry-unjudged").returncode == 0
        assert json.loads(metrics.read_text("utf-8"))["statuses"]["ok"] == 35


def test_answers_that_were_cut_or_empty_are_counted_beside_the_mean(tmp_path):
    numbers = {question.question: k for k, question in enumerate(trial_questions())}

    def answers(body):
        number = numbers.get(body["messages"][-1]["content"])
        if number is None:
            return both(body)
        return (
            completion("案", "length"),
            completion("", "stop"),
            completion("案がある。"),
        )[min(number // 10, 2)]

    with server(answers) as (url, requests):
        command = (
            "run",
            "--tasks",
            "jcq",
            "--model",
            "m",
            "--base-url",
            url,
            "--trial",
            "--judge-model",
            "j",
            "--judge-base-url",
            url,
        )
        done = evaluate(tmp_path, *command, "--output", "out")
    assert done.returncode == 0, done.stderr
    states = json.loads((tmp_path / "out" / RUN / "metrics.json").read_text("utf-8"))[
        "answer_states"
    ]
    assert states == {
        "complete": 15,
        "truncated": 10,
        "filtered": 0,
        "error": 0,
        "empty": 10,
    }
    shown = " ".join(done.stdout.split())
    assert "Answers: truncated 10 of 35, 28.6%" in shown
    assert "Answers: empty 10 of 35, 28.6%" in shown
    assert "10 of 35 answers cut off" in shown
    assert "CUT OFF: what text came is judged without its end" in shown
    assert "answers were cut at" not in shown  # 10 of 35 are not most
    assert (
        max(body.get("max_tokens", 0) for body in requests if body["model"] == "m")
        == 4096
    )


def test_no_judge_is_shown_an_answer_without_text_and_every_table_says_how_many(
    tmp_path,
):
    lost = (
        completion("", "content_filter"),
        completion("<think>案は"),
        completion("", "length"),
        completion(" \n"),
        (400, {"error": {"message": "not this one"}}),
    )
    numbers = {question.question: k for k, question in enumerate(trial_questions())}

    def answers(body):
        number = numbers.get(body["messages"][-1]["content"], 99)
        return lost[number] if number < len(lost) else both(body)

    with server(answers) as (url, requests):
        words = ("run", "--tasks", "jcq", "--model", "m", "--base-url", url, "--trial")
        judge = ("--judge-model", "j", "--judge-base-url", url)
        done = evaluate(tmp_path, *words, *judge, "--output", "out")
    assert done.returncode == 0, done.stderr
    judged = [body for body in requests if body["model"] == "j"]
    assert len(judged) == 1 + 30  # the first greets
    metrics = json.loads((tmp_path / "out" / RUN / "metrics.json").read_text("utf-8"))
    assert sum(metrics["statuses"].values()) == 30
    reasons = {"error": 1, "filtered": 1, "reasoning": 2, "empty": 1}
    assert metrics["reasons"] == reasons
    assert (
        metrics["measures"]["jcq/mean"] | {"value": 3.5, "n": 30, "of": 35}
        == (metrics["measures"]["jcq/mean"])
    )
    said = [
        "1 of 35 answers never came",
        "1 of 35 answers unusable: filtered",
        "2 of 35 answers unusable: reasoning",
        "1 of 35 answers unusable: empty",
    ]
    shown = " ".join(done.stdout.split())
    assert all(text in shown for text in said)
    assert "Never came 1 of 35, 2.9%" in shown
    assert "Unusable: reasoning 2 of 35, 5.7%" in shown
    assert evaluate(tmp_path, "report", "out", "--output", "r.html").returncode == 0
    files = ["r.html", "r.json", "r-tables/findings.csv", "r-tables/overview.csv"]
    files += ["r-tables/overview.tex", "r-tables/table12.csv", "r-tables/table12.tex"]
    for name in files:
        text = (tmp_path / name).read_text("utf-8")
        assert all(words in text for words in said), name
    run = finished_run(tmp_path / "out" / RUN)
    logged = _values(TaskRun(Jcq(), run.folder, run.metrics, True))
    assert (logged["reasons_error"], logged["reasons_empty_of"]) == (1, 35)
    assert all(text in logged["caveats"] for text in said)


def test_reasoning_that_reaches_the_limit_and_leaves_no_text_is_said_in_a_line(
    tmp_path,
):
    with server(lambda body: completion("", "length")) as (url, _):
        done = evaluate(
            tmp_path,
            "dat",
            "--model",
            "m",
            "--base-url",
            url,
            "--num-answers",
            "3",
            "--output",
            "out",
        )
    assert done.returncode == 0, done.stderr
    assert "\n3 of 3 answers were cut at 256 tokens: --max-new-tokens\n" in done.stdout


def test_jcq_of_somebody_elses_answers_and_a_changed_judge(tmp_path):
    rows = [
        {"id": k, "question_id": q.id, "answer": f"答え{k}"}
        for k, q in enumerate(trial_questions())
    ]
    (tmp_path / "answers.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf-8"
    )
    with server(both) as (url, _):
        command = (
            "score",
            "jcq",
            "answers.jsonl",
            "--trial",
            "--judge-base-url",
            url,
            "--output",
            "out",
        )
        done = evaluate(tmp_path, *command, "--judge-model", "j")
        assert done.returncode == 0, done.stderr
        assert "35, 34 with a score" in " ".join(done.stdout.split())
        other = evaluate(tmp_path, *command, "--judge-model", "k")
        assert other.returncode == 2
        assert 'judge.model = "j"' in other.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--model", "random", "--trial"),
            "lists of nouns are no answer to jcq; give a language model as --model",
        ),
        (
            ("--model", "m", "--trial", "--questions", "q.jsonl"),
            "give either --trial or --questions, not both",
        ),
        (("--model", "m", "--questions", "q.jsonl"), "q.jsonl"),
        (
            ("--model", "m", "--trial", "--judge-prompt", "mine"),
            "judge_prompt must be one of jcq-v1",
        ),
        (
            ("--model", "m", "--trial", "--judge-price-in", "1"),
            "judge_price_in and judge_price_out go together",
        ),
        (
            ("--model", "m", "--trial", "--answers-per-item", "0"),
            "answers_per_item must be at least 1",
        ),
        (
            ("--model", "m", "--trial", "--judge-backend", "mlx"),
            "judge_backend must be",
        ),
        (
            ("--model", "m", "--trial", "--sampling", "temperature=nan"),
            "temperature: Input should be a finite number",
        ),
        (
            ("--model", "m", "--trial", "--sampling", "best-of=4"),
            "jcq gives none to an answer alone; leave out best-of",
        ),
        (
            (
                "--model",
                "m",
                "--trial",
                "--max-cost",
                "nan",
                "--judge-price-in",
                "1",
                "--judge-price-out",
                "1",
            ),
            "max_cost must be",
        ),
        (
            ("--model", "m", "--trial", "--base-url", "http://h/v1", "--max-cost", "5"),
            "max_cost needs the price",
        ),
        (
            ("--model", "m", "--trial", "--base-url", "http://h:99999/v1"),
            "base_url cannot be used",
        ),
    ],
)
def test_jcq_mistakes_are_one_line(words, message, tmp_path):
    done = evaluate(tmp_path, "run", "--tasks", "jcq", *words, "--output", "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_sat_from_stories_to_a_row(tmp_path):
    with server(story_teller) as (url, requests):
        command = ("run", "--tasks", "sat", "--model", "m", "--base-url", url)
        command += ("--output", "out")
        done = evaluate(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        asked = len(requests)
        assert "finished before" in evaluate(tmp_path, *command).stdout
        assert len(requests) == asked
    run = tmp_path / "out" / "m" / "sat"
    metrics = json.loads((run / "metrics.json").read_text("utf-8"))
    assert (
        metrics["num_items"],
        metrics["measures"]["sat"]["n"],
        metrics["reasons"]["empty"],
    ) == (113, 112, 1)
    assert metrics["measures"]["sat"]["value"] == pytest.approx(0, abs=1e-6)
    assert metrics["measures"]["sat/copied"]["value"] > 0.99
    assert "112 of 113" in done.stdout
    # What was written can be scored again, with no model.
    done = evaluate(tmp_path, "score", "sat", run, "--output", "again")
    assert done.returncode == 0, done.stderr
    again = json.loads((tmp_path / "again" / "metrics.json").read_text("utf-8"))
    del metrics["bill"]
    assert again == metrics


def test_run_takes_models_through_benchmarks(tmp_path):
    with server(
        lambda body: (
            both(body)
            if "物語" not in body["messages"][-1]["content"]
            else story_teller(body)
        )
    ) as (
        url,
        _,
    ):
        command = (
            "run",
            "--model",
            "org/a",
            "b",
            "--tasks",
            "jcq",
            "sat",
            "--base-url",
            url,
            "--trial",
        )
        command += ("--judge-model", "j", "--judge-base-url", url, "--output", "out")
        done = evaluate(tmp_path, *command)
        assert done.returncode == 0, done.stderr
    folders = {
        str(path.parent.relative_to(tmp_path / "out"))
        for path in tmp_path.rglob("metrics.json")
    }
    assert folders == {"a/jcq", "a/sat", "b/jcq", "b/sat"}
    rows = [
        json.loads((tmp_path / "out" / folder / "metrics.json").read_text("utf-8"))
        for folder in ("a/jcq", "b/sat")
    ]
    assert [row["source"] for row in rows] == ["a", "b"]
    assert done.stdout.count("JCQ, 35 trial questions, by j") == 2


def test_max_cost_is_for_all_models_of_a_run(tmp_path):
    def counted(body):
        status, payload = both(body)
        return status, payload | {
            "usage": {
                "prompt_tokens": 0,
                "completion_tokens": 1000,
                "total_tokens": 1000,
            }
        }

    with server(counted) as (url, _):
        command = (
            "run",
            "--model",
            "a",
            "b",
            "--tasks",
            "jcq",
            "--base-url",
            url,
            "--trial",
            "--output",
            "out",
        )
        command += (
            "--judge-model",
            "j",
            "--judge-base-url",
            url,
            "--judge-max-tokens",
            "1000",
            "--max-cost",
            "50",
            *("--price-in", "0", "--price-out", "0"),
        )
        done = evaluate(
            tmp_path, *command, "--judge-price-in", "0", "--judge-price-out", "1000"
        )  # each reply costs 1
        assert done.returncode == 3, done.stderr  # stopped
    ledgers = [
        (tmp_path / "out" / name / "jcq" / "judgements.jsonl").read_text("utf-8")
        for name in "ab"
    ]
    # One answer of a is asked for twice; the judge was greeted once, in 1000 tokens.
    assert [ledger.count("\n") for ledger in ledgers] == [36, 13]
    finished = tmp_path / "out" / "a" / "jcq" / "metrics.json"
    bill = json.loads(finished.read_text("utf-8"))["bill"]
    assert bill["judge"]["cost_at_most"] == 37
    assert not (tmp_path / "out" / "b" / "jcq" / "metrics.json").exists()
    assert "not finished: the next request could bring the cost above 50" in done.stdout


def test_max_cost_counts_what_every_model_has_cost_before(tmp_path):
    well = []

    def counted(body):
        asks_judge = "# 出力形式" in body["messages"][-1]["content"]
        status, payload = (
            completion("採点できません") if asks_judge and not well else both(body)
        )
        return status, payload | {
            "usage": {
                "prompt_tokens": 0,
                "completion_tokens": 1000,
                "total_tokens": 1000,
            }
        }

    def paid():
        ledgers = [
            tmp_path / "out" / name / "jcq" / "judgements.jsonl" for name in "ab"
        ]
        return [
            ledger.read_text("utf-8").count("\n") for ledger in ledgers
        ]  # each reply costs 1

    with server(counted) as (url, _):
        command = (
            "run",
            "--model",
            "a",
            "b",
            "--tasks",
            "jcq",
            "--base-url",
            url,
            "--trial",
            "--output",
            "out",
        )
        command += (
            "--judge-model",
            "j",
            "--judge-base-url",
            url,
            "--judge-max-tokens",
            "1000",
        )
        command += ("--judge-price-in", "0", "--judge-price-out", "1000")
        command += ("--price-in", "0", "--price-out", "0")
        assert evaluate(tmp_path, *command).returncode == 0
        assert paid() == [70, 70]
        well.append(True)
        done = evaluate(tmp_path, *command, "--retry-unjudged", "--max-cost", "160")
        assert done.returncode == 3, done.stderr
    assert paid() == [89, 70]  # and one for greeting the judge


def test_run_mistakes_are_one_line(tmp_path):
    for words, message in (
        (
            ("--model", "a", "--tasks", "dad"),
            "there is no task dad; there are dat, jcq, sat",
        ),
        (("--model", "org/a", "org/a"), "two models would go to the folder org-a"),
    ):
        done = evaluate(tmp_path, "run", *words, "--output", "out")
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
