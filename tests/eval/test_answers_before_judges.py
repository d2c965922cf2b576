"""Before a model is paid its judge must answer; what is paid is any judge's; `--dry-run` says what both cost."""

import re
import shlex

from typer.testing import CliRunner

from command_line import here
from model_server import completion, server
from run_files import metrics_of
from sentences import says
from sozo.eval.cli import make_app
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.rubric import JCQ_V1
from two_tasks import RUN, both, command, evaluate


def refusing(status, message):
    return lambda body: (status, {"error": {"message": message}})


def pasted(text):
    """The command that a message ends with, but for its first word, as a shell reads it; the judge's flags are ours."""
    return shlex.split(re.search(r": sozo (score .*)", text)[1])


def by_judge(name, url):
    """The flags of a judge on the trial's questions."""
    return ["--trial", "--judge-model", name, "--judge-base-url", url]


def test_a_judge_that_cannot_be_asked_costs_no_answer(tmp_path):
    with (
        server(both) as (url, answered),
        server(refusing(401, "bad key")) as (judge, judged),
    ):
        done = evaluate(tmp_path, *command(url, judge))
    assert done.returncode == 2
    assert says("run: judge's key", done.stderr)
    assert (len(answered), len(judged)) == (0, 1)
    assert not [*(tmp_path / "out").rglob("*.*")]


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
        assert says("run: judge's key expired", done.stderr)
        assert len(answered) == 1 + 35
        run = tmp_path / "what's it" / RUN
        assert not (run / "metrics.json").exists()
        score = pasted(done.stderr)
        assert score[-1] == "what's it/m/jcq-j"
        score[2:2] = by_judge("j", judge)
        asked = len(judged)
        plan = evaluate(tmp_path, *score, "--dry-run")
        assert plan.returncode == 0, plan.stderr
        assert "what's it/m/jcq: judge j: at most 35 requests" in plan.stdout
        assert len(judged) == asked
        assert not (tmp_path / score[-1]).exists()
        verdicts.append(True)
        assert evaluate(tmp_path, *score).returncode == 0
        assert evaluate(tmp_path, *words).returncode == 0
        assert len(answered) == 1 + 35
        (run / "answers" / "part-00001.parquet").unlink()
        (run / "metrics.json").unlink()
        half = evaluate(tmp_path, *score[:-1], "half")
    assert says("score: a run that is not finished", half.stderr)
    metrics = metrics_of(tmp_path / score[-1])
    assert metrics["statuses"]["ok"] == 34


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
        assert not answered + judged
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
    assert done.returncode == 2
    assert answered == []


def test_models_by_a_further_judge_are_compared_with_the_base_by_that_judge(tmp_path):
    with server(grade(0)) as (url, _), server(by_model) as (judge, _):
        words = command(url, judge, models=("x/a", "x/b"))
        words.insert(words.index("j") + 1, "org/k")
        done = evaluate(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    found = findings(find_evaluated([str(tmp_path / "out")]))
    pairs = {(base.name, method.name) for base, method in found.compared.pairs}
    assert pairs == {("a", "b")}
    by_judge = found.difference("b", "a", found.tasks["jcq"].known_by().by("org/k"))
    assert by_judge.by == "org/k"


def test_a_plan_counts_tokens_dollars_and_what_is_there_and_asks_nobody(
    tmp_path, monkeypatch, capsys
):
    with server(both) as (url, answered), server(both) as (judge, judged):
        words = command(url, judge, "--batch-size", "20")
        prices = ("--price-in", "1000", "--price-out", "0", "--max-new-tokens", "100")
        prices += ("--judge-price-in", "0", "--judge-price-out", "1000000")
        prices += ("--judge-max-tokens", "7")
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setenv("OPENAI_API_KEY", "none")
            assert not here(*words, *prices, "--dry-run")
        said = capsys.readouterr().out
        assert not answered + judged
        assert not (tmp_path / "out").exists()
        questions = [question.question for question in trial_questions()]
        characters = sum(map(len, questions))
        *_, model, judges, whole, _ = said.splitlines()
        assert whole == f"in all at most {characters / 1000 + 245:,.2f} dollars"
        assert model == (
            f"m/jcq: model m: at most 35 requests, {characters:,} tokens in and 3,500 out "
            f"(a token a character), {characters / 1000:.2f} dollars"
        )
        prompts = [JCQ_V1.prompt(question, "") for question in questions]
        read = sum(map(len, prompts)) + 35 * 100
        assert judges == (
            f"m/jcq: judge j: at most 35 requests, {read:,} tokens in and 245 out "
            "(a token a character), 245.00 dollars"
        )
        assert evaluate(tmp_path, *words, *prices).returncode == 0
        (tmp_path / "out" / RUN / "answers" / "part-00001.parquet").unlink()
        (tmp_path / "out" / RUN / "metrics.json").unlink()
        plan = evaluate(tmp_path, *words, *prices, "--dry-run")
    assert "m/jcq: model m: at most 15 requests" in plan.stdout
    assert "m/jcq: judge j: at most 0 requests" in plan.stdout


def test_a_plan_of_usable_lists_is_a_bound_and_what_is_expected_stands_beside_it():
    words = ("--model", "tiny", "--price-in", 1, "--price-out", 2, "--dry-run")
    words = "dat", *words, "--expected-tokens", 30, "--output", "out"
    told = CliRunner().invoke(make_app(), [*map(str, words)]).output
    assert "at most 2,048 requests, 479,232 tokens in and 524,288 out" in told
    assert "1.53 dollars\n" in told
    assert "expected (all answers usable, each of 30 tokens): 0.03 dollars" in told
