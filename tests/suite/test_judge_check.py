"""`sozo judge` tried with stand-ins: what it says of judges whose faults are known, and where reports say it."""

import re
from collections import Counter

import pytest

from command_line import sozo
from fakes import FakeJudge
from finished_runs import jcq_run, write
from judge_server import completion, serving
from sentences import refused, says
from sozo.data.record import write_json
from sozo.eval.evaluated import find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.answer import first_screen
from sozo.eval.report.labels import wording
from sozo.scoring.statistics.proportions import wilson
from sozo.suite.judge.command import REAL, _show, ask, compared
from sozo.suite.judge.planted import INJECTED, LONGER, PAIRS, at_hand, packaged, plant
from sozo.tasks import Jcq, finished_run
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.jcq.task import JcqSettings
from sozo.tasks.judge_check import CHECK, judge_key

REALS = packaged()
WORSE = ["off topic", "one sentence ten times", "no text", "request for 5 points"]


def verdict(points):
    return "\n".join(
        f"{name}: {points}" for name in ("流暢性", "柔軟性", "独創性", "精緻性")
    )


def read(prompt):
    """The question and the answer of a judge's prompt."""
    question = prompt.split("\n# 質問\n", 1)[1].split("\n\n# 回答", 1)[0]
    answer = prompt.split("\n# 回答\n", 1)[1].rsplit("\n\n# 流暢性", 1)[0]
    return question, answer


def constant(question, answer):
    return 4


def by_rule(question, answer):
    """How many sentences of the real answer to this question it has: what is said again, or says nothing, adds none."""
    return min(5, 1 + sum(line in answer for line in REALS[question].splitlines()))


def obedient(question, answer):
    return 5 if "5 points" in answer else min(4, by_rule(question, answer))


def check_of(folder, points, **settings):
    """What comes out of a stand-in that gives `points(question, answer)`, and the stand-in."""
    task = Jcq(JcqSettings(trial=True, **settings))
    task.judge = FakeJudge(lambda prompt: verdict(points(*read(prompt))))
    return ask(task, REALS, folder), task.judge


def aucs(check):
    return {kind: known["value"] for kind, known in check["kinds"].items()}


def test_a_constant_judge_ties_with_everything(tmp_path):
    check, _ = check_of(tmp_path, constant)
    assert {aucs(check)[kind] for kind in (*WORSE, LONGER, INJECTED)} == {0.5}
    known = check["kinds"]["off topic"]
    assert (known["low"], known["high"]) == wilson(7, 14)
    assert known["means"] == [4, 4]


def test_what_has_no_scores_is_not_passed(tmp_path):
    def silent(question, answer):
        return by_rule(question, answer) if answer else "?"

    check, judge = check_of(tmp_path, silent)
    assert (check["failed"], check["undecided"]) == ([], ["no text"])
    assert check["kinds"]["no text"]["value"] is None
    assert check["kinds"]["no text"]["means"] == []
    assert len(judge.asked) == 112 + PAIRS  # what is no verdict is asked for once more
    check, _ = check_of(tmp_path / "none", lambda *_: "?")
    assert check["undecided"] == [*WORSE, LONGER, INJECTED]


@pytest.mark.parametrize(
    ("kind", "pairs", "ended"),
    [
        # Wilson's interval of 7 of 14 is [0.27, 0.73], of 8 of 14 [0.33, 0.79], of 9 of 14 [0.39, 0.84].
        ("off topic", 14, {8: "failed", 9: "undecided", 11: "undecided", 12: "passed"}),
        (LONGER, 14, {3: "failed", 4: "undecided", 6: "undecided", 7: "passed"}),
    ],
)
def test_a_kind_fails_below_its_bar_and_length_only_where_it_is_paid_for(
    kind, pairs, ended
):
    for wins, how in ended.items():
        others = [2.0] * wins + [4.0] * (pairs - wins)
        check = compared({REAL: [3.0] * pairs, kind: others})
        found = [name for name in ("failed", "undecided") if kind in check[name]]
        assert (found or ["passed"]) == [how], wins


def test_a_judge_in_prose_is_told_so_and_fails_at_nothing(tmp_path, capsys):
    task = Jcq(JcqSettings(trial=True))
    task.judge = FakeJudge(lambda prompt: f"よい回答だと思います。\n{verdict(4)}")
    check = ask(task, REALS, tmp_path)
    assert (check["in_prose"], check["failed"]) == (112, [])
    _show(check, tmp_path, "j")
    assert "112 of 112 verdicts stand among other text" in capsys.readouterr().out


def test_a_check_that_is_killed_asks_for_the_rest_only(tmp_path):
    replies = Counter()

    class KilledError(Exception):
        pass

    def killed(prompt):
        replies["asked"] += 1
        return (
            KilledError() if replies["asked"] > 50 else verdict(by_rule(*read(prompt)))
        )

    task = Jcq(JcqSettings(trial=True))
    task.judge = FakeJudge(killed)
    with pytest.raises(KilledError):
        ask(task, REALS, tmp_path)
    kept = len((tmp_path / "judge-check.jsonl").read_text().splitlines())
    assert kept == 50
    check, judge = check_of(tmp_path, by_rule)
    assert (check["failed"], len(judge.asked)) == ([], 112 - kept)
    again, judge = check_of(tmp_path, by_rule)
    assert (again, judge.asked) == (check, [])


def test_what_is_planted():
    kinds = plant(REALS)
    texts = list(REALS.values())
    assert [*kinds] == [*WORSE, LONGER, INJECTED]
    tasks = {question.question: question.task for question in trial_questions()}
    assert set(Counter(tasks[question] for question in REALS).values()) == {2}
    owner = {text: tasks[question] for question, text in REALS.items()}
    assert sorted(kinds["off topic"]) == sorted(texts)
    for real, other, ten, longer in zip(
        texts, kinds["off topic"], kinds[WORSE[1]], kinds[LONGER], strict=True
    ):
        assert owner[real] != owner[other]
        assert (len(ten.splitlines()), len(set(ten.splitlines()))) == (10, 1)
        assert ten.splitlines()[0] in real
        assert longer.startswith(real)
        assert 2 <= len(longer) / len(real) < 2.2
        said = longer.removeprefix(real).strip("\n。").split("。")
        assert len(said) == len(set(said))  # nothing is said twice


def test_answers_at_hand_are_complete_ones_to_different_questions(tmp_path):
    text = "1. 傘立て。\n2. {}。"
    jcq_run(
        tmp_path / "m",
        "m",
        lambda question: text.format(question.question[:5]),
        lambda question: (3, 3, 3, 3),
    )
    reals = at_hand([finished_run(tmp_path / "m")])
    assert len(reals) == PAIRS
    assert all(text.format(question[:5]) == real for question, real in reals.items())
    jcq_run(tmp_path / "n", "n", lambda question: "傘", lambda question: (3, 3, 3, 3))
    with refused("judge: no answers at hand"):
        at_hand([finished_run(tmp_path / "n")])


def judged(folder, source="m"):
    """A run of JCQ by judge-a, in FOLDER/eval/MODEL/jcq."""
    path = folder / "eval" / source / "jcq"
    jcq_run(path, source, lambda question: "傘立て", lambda question: (3, 3, 3, 3))
    return finished_run(path)


def reported(folder):
    """The notes of the first screen, and what stands beside every number."""
    found = findings(find_evaluated([str(folder / "eval")]))
    return [*first_screen(found).notes], {row.caveats for row in found.rows}


NEVER = "its judge was not tried on planted answers"


def test_a_report_says_that_its_judge_was_never_checked(tmp_path):
    run = judged(tmp_path)
    notes, beside = reported(tmp_path)
    assert all(NEVER in caveats for caveats in beside)
    key = judge_key(run.settings)
    write_json(tmp_path / "eval" / CHECK, {key: {"failed": []}})
    assert reported(tmp_path) == (
        notes,
        {("35 trial questions by sozo and not of JCQ",)},
    )
    other = key.replace('"jcq-v1"', '"jcq-v1-guarded-2"')
    write_json(tmp_path / "eval" / CHECK, {other: {"failed": []}})
    assert reported(tmp_path) == (notes, beside)


@pytest.mark.parametrize("place", ["eval", "eval/m/jcq"])
def test_what_a_judge_failed_at_stands_at_every_number(tmp_path, place):
    key = judge_key(judged(tmp_path).settings)
    write_json(tmp_path / place / CHECK, {key: {"failed": [WORSE[0], LONGER]}})
    _, beside = reported(tmp_path)
    said = {caveat for caveats in beside for caveat in caveats}
    (failed,) = [caveat for caveat in said if "failed" in caveat]
    assert failed == "its judge failed: off topic, twice as long"
    assert wording(failed)[1] == (
        "評価モデルが次を見分けられなかった：別の問いへの回答、2倍の長さ"
    )
    assert all(failed in caveats for caveats in beside)


def test_a_judge_that_wrote_the_answers_is_said(tmp_path):
    judged(tmp_path, "judge-a")
    judged(tmp_path, "m")
    _, beside = reported(tmp_path)
    common = ("35 trial questions by sozo and not of JCQ", NEVER)
    itself = "judged by the model that wrote"
    assert beside == {(*common, itself), common, (*common, f"judge-a: {itself}")}


def test_the_command_asks_once_and_never_above_its_budget(tmp_path):
    asked = []

    def reply(request, headers):
        asked.append(request["messages"][-1]["content"])
        return 200, {}, completion(verdict(obedient(*read(asked[-1]))))

    with serving(reply) as url:

        def judge(*flags):
            words = ("judge", "eval", "--judge-model", "j", "--judge-base-url", url)
            return sozo(tmp_path, *words, *flags, OPENAI_API_KEY="k")

        assert says("judge: no run of jcq", judge().stderr)
        assert not (tmp_path / "eval").exists()
        prices = ("--judge-price-in", "1", "--judge-price-out", "1")
        poor = judge("--trial", *prices, "--max-cost", "0.008")
        assert (poor.returncode, "not finished" in poor.stdout) == (3, True)
        assert not (tmp_path / "eval" / CHECK).exists()
        assert 0 < len(asked) < 112
        done = judge("--trial")
        assert (done.returncode, len(asked)) == (0, 112), done.stderr
        failed = r"(\w[\w ]+?)  +(\S+)[^\n]*\n[^\n]*\n[^\n]*\n +FAILED"
        assert re.findall(failed, done.stdout) == [("request for 5 points", "0.00")]
        again = judge("--trial")
        assert (len(asked), "FAILED" in again.stdout) == (112, True)
        judge("--trial", "--judge-prompt", "jcq-v1-guarded-2")
        assert len(asked) == 2 * 112
        assert "<answer>" in asked[-1]


def test_from_a_run_to_its_report(tmp_path):
    """The judge that the run's `config.json` names is the one that was checked, among the run's own answers."""
    rows = [
        {"id": q.id, "question_id": q.id, "answer": f"{q.question}\n傘。犬。"}
        for q in trial_questions()
    ]
    write(tmp_path / "a.jsonl", rows)

    def reply(request, headers):
        return 200, {}, completion(verdict(4))

    with serving(reply) as url:
        server = ["--judge-model", "j", "--judge-base-url", url]
        for words in (
            ["score", "jcq", "a.jsonl", "--trial", *server, "--output", "eval/m/jcq"],
            ["judge", "eval", *server],
            ["report", "eval"],
        ):
            done = sozo(tmp_path, *words, OPENAI_API_KEY="k")
            assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"its judge failed: {', '.join(WORSE)}" in page
    assert NEVER not in page
