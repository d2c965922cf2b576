"""Ideas from patents: what is an idea, which judgements are asked, and what comes of them, as a user runs it."""

import json
import re
from collections import Counter
from importlib.resources import files
from itertools import product

import pytest

from command_line import sozo
from fakes import FakeJudge
from model_server import KEY, completion, server
from pbig_runs import CRITERIA, by_kind, criterion_of, verdict
from sentences import refused
from sozo.eval.run import score_answers
from sozo.suite.pbig.ideas import parse_idea, trial_ideas, trial_patents
from sozo.suite.pbig.rows import worth
from sozo.suite.pbig.settings import PbigSettings
from sozo.suite.pbig.stages import judge_in_stages
from sozo.suite.pbig.task import Pbig
from sozo.tasks import finished_run, refuse_training
from sozo.tasks.task import Answer, Item, Row

IDEA = {
    "title": "枕",
    "description": "眠る",
    "implementation": "縫う",
    "differentiation": "軽い",
}


def scored(folder, judge, path=None, **values):
    task = Pbig(PbigSettings(**values))
    task.judge = judge
    trial = files("sozo.suite.pbig").joinpath("trial", "ideas.jsonl")
    return score_answers(task, path or trial, folder)


def known(run, name):
    """A measure's value, of how many answers, and of how many it could be."""
    measure = run.metrics["measures"][f"pbig/{name}"]
    return measure["value"], measure["n"], measure["of"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(IDEA),
        f"```json\n{json.dumps(IDEA)}\n```",
        f"<think>{{}}</think>{json.dumps(IDEA, indent=1)}",
    ],
)
def test_an_idea_is_read(text):
    assert parse_idea(text).fields == IDEA


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_json"),
        (f"アイデア: {json.dumps(IDEA)}", "no_json"),
        (json.dumps(IDEA)[:-1] + ', "title": "布"}', "no_json"),
        ("[" * 100_000, "no_json"),
        (json.dumps({**IDEA, "price": "100円"}), "not_four_fields"),
        (json.dumps({**IDEA, "title": " "}), "blank_field"),
        (f"<think>{json.dumps(IDEA)}", "no_text"),
    ],
)
def test_what_leaves_a_doubt_is_no_idea(text, reason):
    assert (parse_idea(text).fields, str(parse_idea(text).reason)) == (None, reason)


def test_a_long_field_is_cut_and_named():
    parsed = parse_idea(
        json.dumps({**IDEA, "title": "枕" * 101, "description": f" {'長' * 300} "})
    )
    assert parsed.cut == ("title",)
    assert len(parsed.fields["title"]) == 100


def test_worth_by_hand():
    markets = dict.fromkeys(MARKETS, 0)
    scores = {"specificity": 3, "technical_validity": 2, "innovativeness": 5}
    scores |= markets | {"competitive_advantage": 1}
    assert worth(scores) == pytest.approx((2 / 3 + 1 / 3 + 1 + 0) / 5)
    closed = {"specificity": 3, "technical_validity": 1} | markets
    assert worth(closed) == pytest.approx((2 / 3 + 0) / 5)
    assert worth({"specificity": 2}) == pytest.approx((1 / 3) / 5)
    assert worth({"specificity": 3}) is None  # the second judgement failed
    assert worth({}) is None


MARKETS = [c.name for c in CRITERIA if c.not_applicable is not None]


def business(*scores):
    """Worth of an idea with all technical axes at 4, by need and size of B2B, then of B2C."""
    names = [f"{name}_{to}" for to in ("b2b", "b2c") for name in AXES_OF_MARKETS]
    technical = dict.fromkeys([c.name for c in CRITERIA[:4]], 4)
    return worth(technical | dict(zip(names, scores, strict=True)))


AXES_OF_MARKETS = ("need_validity", "market_size")


def test_need_and_market_size_count_once_for_the_better_served_market():
    technical = 1 + 1 + 3 / 4 + 1
    assert business(1, 3, 2, 1) == pytest.approx((technical + 4 / 6) / 5)
    # A half market is none.
    assert business(3, 0, 0, 3) == pytest.approx(technical / 5)


def test_naming_a_second_market_never_lowers_pay_and_no_market_is_the_worst():
    paid = {scores: business(*scores) for scores in product(range(4), repeat=4)}
    for (n, m, k, j), pay in paid.items():
        assert pay >= max(paid[n, m, 0, 0], paid[0, 0, k, j])
        assert pay >= paid[0, 0, 0, 0]
        assert (pay == paid[0, 0, 0, 0]) == (not n * m and not k * j)


def test_titles_that_differ_in_form_only_are_equal():
    ideas = [{**IDEA, "title": title} for title in ("A 枕", "ａ枕", "布")]
    rows = [*(Row(facts=idea) for idea in ideas), Row(reason="format")]
    answers = [Answer("", "p", "")] * len(rows)
    rows = Pbig().with_others([Item("p", "")] * len(rows), answers, rows)
    assert [row.values.get("pbig/same_title") for row in rows] == [1, 1, 0, None]


def test_gates_ask_what_the_paper_asks_and_no_more(tmp_path):
    judge = FakeJudge(by_kind)
    run = scored(tmp_path / "run", judge)
    asked = Counter(criterion_of(prompt).name for prompt in judge.asked)
    later = dict.fromkeys([c.name for c in CRITERIA if c.groups == ("business",)], 48)
    assert asked == {
        "specificity": 72,
        "technical_validity": 48,
        "innovativeness": 24,
        "competitive_advantage": 24,
        **later,
    }
    assert run.metrics["statuses"]["ok"] == len(judge.asked) == 360
    assert known(run, "feasible") == (0.5, 24, 24)
    assert known(run, "innovativeness")[:2] == (2, 24)
    # 4 3 2 2 and a market of 2 and 2; 3 1 and such a market; 2: each one's place on its scale, over five.
    good, unbuildable, vague = 1 + 2 / 3 + 1 / 4 + 1 / 3 + 2 / 3, 2 / 3 + 2 / 3, 1 / 3
    mean = pytest.approx((good + unbuildable + vague) / 15)
    assert known(run, "worth")[0] == mean
    assert finished_run(tmp_path / "run").by_item(Pbig.measures[0])["nlp-1"] == mean
    assert 0 < known(run, "distance")[0] < 1
    assert known(run, "same_title")[0] == 0
    # The same command again asks nobody; a cut ledger asks for what is missing.
    again = FakeJudge(by_kind)
    scored(tmp_path / "run", again)
    ledger = tmp_path / "run" / "judgements.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-3]))
    (tmp_path / "run" / "metrics.json").unlink()
    assert scored(tmp_path / "run", again).metrics == run.metrics
    assert len(again.asked) == 3


def test_means_leave_out_what_is_no_product_for_a_market(tmp_path):
    zero = {idea.title for idea in trial_ideas() if idea.patent.startswith("nlp")}

    def reply(prompt):
        title = re.search("Product idea: (.+)", prompt.rpartition("# Input")[2])[1]
        name = criterion_of(prompt).name
        if name not in MARKETS:
            return verdict(4)
        return verdict(0 if name.endswith("b2b") and title in zero else 3)

    run = scored(tmp_path / "run", FakeJudge(reply))
    for name in ("need_validity_b2b", "market_size_b2b"):
        assert known(run, name) == (3, 16, 24)
    assert known(run, "b2b") == (pytest.approx(2 / 3), 24, 24)
    assert known(run, "b2c") == (1, 24, 24)
    assert known(run, "worth")[0] == pytest.approx((1 + 1 + 3 / 4 + 1 + 1) / 5)


def test_a_failed_judgement_is_no_score_and_opens_no_gate(tmp_path):
    def failing(prompt):
        return (
            "I would say 4."
            if criterion_of(prompt).name == "technical_validity"
            else by_kind(prompt)
        )

    run = scored(tmp_path / "run", FakeJudge(failing))
    assert known(run, "technical_validity")[:2] == (None, 0)
    assert known(run, "innovativeness")[1] == 0
    assert run.metrics["statuses"]["unparseable"] == 48
    # Of a vague idea all is known: it is worth little. Of the others it is not known what they are worth.
    assert known(run, "worth")[:2] == (pytest.approx(1 / 15), 24)
    assert run.metrics["reasons"] == {"unparseable": 48}
    table = finished_run(tmp_path / "run").table()
    assert table["score"].null_count == 48
    assert table["reason"].null_count == 24


def test_money_ends_judging_between_two_judgements(tmp_path):
    prices = {
        "judge_price_in": 0.0,
        "judge_price_out": 1e6 / 50,
        "max_cost": 2.0,
    }  # at most 1 for each judgement, and here 0.4
    run = scored(tmp_path / "run", FakeJudge(by_kind, concurrency=1), **prices)
    assert "above 2" in run.stopped
    assert run.metrics["measures"]["pbig/specificity"]["n"] == 1


def test_the_trial_never_enters_training():
    patent, idea, asked = trial_patents()[3], trial_ideas()[8], Pbig().items()[3]
    own = {"question": "Patent: 枕\nAbstract: 聞く枕。"}
    refuse_training([Item("1", "枕を一つ考えてください。", own)])
    copied = json.dumps({**IDEA, "description": idea.description})
    for item in (
        asked,
        Item("1", f"次の技術を使って。\n{patent.abstract}"),
        Item("1", "考えて", {"answer": copied}),
    ):
        with refused("pbig: the trial"):
            refuse_training([item])


def test_from_patents_to_numbers(tmp_path):
    rows = [
        {"id": f"US{k}", "title": f"枕{k}", "abstract": f"聞く枕、その{k}。"}
        for k in range(3)
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def answer(body):
        asked = body["messages"][-1]["content"]
        if "# Output format" in asked:
            return completion(verdict(1 if "悪い" in asked else 3))
        if "枕2" in asked:
            return completion("わかりません。")
        description = "悪い" if "枕1" in asked else "長" * 400
        written = {**IDEA, "description": description}
        return completion(json.dumps(written))

    with server(answer) as (url, requests):
        words = ["run", "--tasks", "pbig", "--pbig-patents", "p.jsonl"]
        words += ["--judge-model", "j", "--judge-base-url", url, "--base-url", url]
        words += ["--model", "m", "--answers-per-item", "2", "--output", "runs"]
        done = sozo(tmp_path, *words, OPENAI_API_KEY=KEY)
        assert done.returncode == 0, done.stderr
        # It is greeted. Two equal ideas share a judgement: 2 by specificity, and one idea by the seven others.
        assert len([body for body in requests if body["model"] == "j"]) == 1 + 9
    metrics = json.loads((tmp_path / "runs/m/pbig/metrics.json").read_text("utf-8"))
    assert (metrics["usable"], metrics["num_answers"]) == (4, 6)
    assert metrics["reasons"] == {"no_json": 2}
    assert metrics["cut"]["description"] == 2
    same = metrics["measures"]["pbig/same_title"]
    assert (same["value"], same["n"], same["of"]) == (1, 2, 3)
    specific = metrics["measures"]["pbig/specific"]
    assert (specific["value"], specific["low"]) == (0.5, None)
    assert specific["reason"] == "2 values: an interval needs 3"
    with refused("pbig: a language"):
        Pbig(PbigSettings(pbig_language="fr")).items()


def test_where_no_answer_is_an_idea_the_ledger_is_there_and_empty(tmp_path):
    ledger = tmp_path / "judgements.jsonl"
    assert judge_in_stages(None, [], ledger)[1].cost == 0
    assert ledger.read_bytes() == b""
