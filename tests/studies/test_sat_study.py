"""Appendix C: people's places, the judge, rankings and correlations by hand, and the paper's numbers computed again."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import FakeJudge
from finished_runs import sat_items, write_run
from sentences import refused
from sozo.data.prompts import prompt
from sozo.data.published import load
from sozo.scoring.endpoint.client import Reply
from sozo.scoring.judges.ledger import read_judgements
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.scoring.measure import Measure
from sozo.studies.correlate import people
from sozo.studies.correlate.graded import graded_by
from sozo.studies.correlate.people import compare, curve, places_of
from sozo.studies.correlate.people import printed as printed_of
from sozo.studies.ratings import UNIT
from sozo.tasks.sat.run_result import SAT_V1, SatRunResult, parse_grade
from sozo.tasks.sat.stories import Story
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer, Row

# The judge

TALE = Story("1", "", "", "", "亀を助けた漁師が竜宮城へ行った。")


@pytest.mark.parametrize(
    ("reply", "grade"), [("1", 1), ("5", 5), (" 3\n", 3), ("<think>4か5</think>\n4", 4)]
)
def test_a_grade(reply, grade):
    assert parse_grade(reply) == {"creativity": grade}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        *"06４五²٤",
        "10",
        "4.5",
        "4点",
        "評価: 4",
        "4\n5",
        "-1",
        "<think>4",
        "4</think>",
    ],
)
def test_no_grade(reply):
    assert parse_grade(reply) is None


@given(st.text(max_size=20))
def test_only_one_digit_is_a_grade(reply):
    grade = parse_grade(reply)
    assert (
        grade is None
        or reply.strip() == str(grade["creativity"])
        or reply.strip().startswith("<think>")
    )


def replying(replies):
    """A judge that replies by the rewrite inside the prompt."""
    return FakeJudge(lambda text: replies[text.rpartition("# 現代版の物語\n")[2]])


def grade(judge, rows, folder, **settings):
    """The models' rewrites as finished runs, graded into the ledger of the folder: the models' means, and how it ended."""
    runs = {}
    for model, rewrites in rows.items():
        write_run(
            folder / model, Sat(), sat_items([TALE]), rewrites, [Row()] * len(rewrites)
        )
        runs[model] = SatRunResult("sat", Measure("sat"), folder / model, {}, {}, {})
    settings = JudgeSettings(**settings)
    graded, cost, _ = graded_by(judge, settings, runs, folder / "j.jsonl")
    return [*graded.groupby("system").score.mean()], cost["statuses"]


def test_every_rewrite_is_judged_once_and_keeps_its_status(tmp_path):
    texts = ["速い話", "", "長い話", "<think>", "怪しい話", "<think>案</think>速い話"]
    rows = {
        "A": [Answer(str(k), "1", text, "A") for k, text in enumerate(texts)],
        "B": [Answer("0", "1", " 速い話\n", "B")],
    }
    judge = replying(
        {"速い話": "4", "長い話": Reply(error="HTTP 500"), "怪しい話": "5点です"}
    )
    means, statuses = grade(judge, rows, tmp_path)
    ended = {"ok": 2, "no_rewrite": 2, "api_error": 1, "unparseable": 1}
    # One ledger line for the same text by two models, and two for the reply that is no grade.
    assert statuses == {"A": ended, "B": {"ok": 1}}
    assert means == [0.8, 0.8]
    assert len(judge.asked) == 4
    lines = read_judgements(tmp_path / "j.jsonl", (SAT_V1,))
    assert sorted(
        (line.prompt, line.reply, line.scores) for line in lines if line.reply
    ) == [
        ("sat-v1", "4", {"creativity": 4}),
        ("sat-v1", "5点です", None),
        ("sat-v1", "5点です", None),
    ]
    # A rerun asks what failed only if it is told to, and another rewrite is the only new question.
    rows["B"].append(Answer("1", "1", "遅い話", "B"))
    judge = replying({"遅い話": "2"})
    means, _ = grade(judge, rows, tmp_path)
    assert (len(judge.asked), means[1]) == (1, pytest.approx(0.6))
    fixed = replying({"長い話": "1", "怪しい話": "5"})
    means, statuses = grade(fixed, rows, tmp_path, retry_unjudged=True)
    assert statuses["A"] == {"ok": 4, "no_rewrite": 2}
    assert means[0] == pytest.approx((4 + 1 + 5 + 4) / 4 / 5)


def test_a_ledger_line_has_the_scores_of_its_prompt(tmp_path):
    grade(replying({"話": "4"}), {"A": [Answer("0", "1", "話")]}, tmp_path)
    path = tmp_path / "j.jsonl"
    path.write_text(path.read_text("utf-8").replace("creativity", "fluency"), "utf-8")
    with refused("sat study: ledger of other scores"):
        read_judgements(path, (SAT_V1,))


def test_the_judges_prompt_takes_any_text():
    text = prompt("sat_judge")
    nasty = "{story}\n# 評価基準\n\\1 5"
    asked = text.replace("{story}", TALE.text).replace("{rewrite}", nasty)
    assert SAT_V1.prompt(TALE.text, nasty) == asked


# Tables and rankings


def table(scores, criterion="x"):
    """A rater's scores, model -> story -> score, as `scores_of` gives them."""
    rows = [
        (model, story, "", score)
        for model, own in scores.items()
        for story, score in own.items()
    ]
    frame = pd.DataFrame(rows, columns=[*UNIT, criterion])
    return frame.set_index(UNIT).astype(float)


def published():
    """Table 23: one number per model is the mean of one story."""
    rows = load("sat_eleven_models")
    return {
        name: table({r["model"]: {"": r[name]} for r in rows})
        for name in ("simcse", "human", "gpt_4o")
    }


def test_table_23_is_ranked_as_the_paper_says():
    rows = places_of(published())
    assert len(rows) == 11
    first, last = rows[0], rows[-1]
    assert (first["system"], last["system"]) == ("Claude 3.5 Sonnet", "Llama-3-8B")
    for row, place in ((first, 1), (last, 11)):
        assert {row[name]["place"] for name in published()} == {place}
    people = {row["system"]: row["human"]["place"] for row in rows}
    # Qwen2-72B and Qwen2-7B share a place with people, 0.501 each, and the next one is left out.
    assert people["Qwen2-72B"] == people["Qwen2-7B"] == 6
    assert people["Claude 3 Haiku"] == 8


def test_a_model_without_scores_has_no_place():
    tables = {"e": table({"A": {"1": 0.1}}), "h": table({"B": {"1": 1}, "C": {"1": 0}})}
    ranked = {
        row["system"]: (row["e"]["place"], row["h"]["place"])
        for row in places_of(tables)
    }
    assert ranked == {"A": (1, None), "B": (None, 1), "C": (None, 2)}


# Correlation


def bounds(a, b, digit=0.0005):
    """Least and greatest correlation that numbers printed to three digits allow, to first order."""
    r, slope = np.corrcoef(a, b)[0, 1], 0.0
    for first, second in ((a, b), (b, a)):
        for k in range(len(first)):
            moved = list(first)
            moved[k] += 1e-6
            slope += abs(np.corrcoef(moved, second)[0, 1] - r) / 1e-6
    return r - slope * digit, r + slope * digit


def test_the_papers_correlation_with_people_from_its_own_table():
    tables = published()
    kinds = dict.fromkeys(tables["human"].index, "")
    (cell,) = compare(tables["human"], tables["simcse"], kinds)
    printed = printed_of("pkshatech/simcse-ja-bert-base-clcmlp")
    assert printed == 0.889
    assert cell["over systems"]["r"] == pytest.approx(0.8882, abs=5e-5)
    low, high = bounds(*(tables[name]["x"].tolist() for name in ("simcse", "human")))
    assert low < printed - 0.0005 < printed + 0.0005 < high
    # Each model has one number: its interval is that of eleven independent pairs. "All p-values were below 0.05".
    assert (cell["n"], cell["p"]) == (11, pytest.approx(0.0136, abs=1e-4))
    # Fisher alone: 0.618 to 0.971, which tails outrun.
    assert (cell["low"], cell["high"]) == pytest.approx((0.345, 0.986), abs=1e-3)
    # Not printed: how well the judge agrees with people. The encoder agrees no worse, for far less money.
    (judge,) = compare(tables["human"], tables["gpt_4o"], kinds)
    assert judge["r"] == pytest.approx(0.877, abs=1e-3)


# The curve


def random_tables(seed=0, models=6, stories=30):
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=(models, 1))
    both = (skill + rng.normal(size=(models, stories)) for _ in range(2))
    return [
        table({f"m{k}": dict(enumerate(row)) for k, row in enumerate(side)})
        for side in both
    ]


def test_the_curve_is_the_mean_over_subsets(monkeypatch):
    monkeypatch.setattr(people, "DRAWS", 20_000)
    sides = random_tables(stories=6)
    ours, theirs = (side["x"].to_numpy().reshape(6, 6) for side in sides)
    points = curve(*sides)
    assert [point["questions"] for point in points] == [1, 2, 3, 4, 5, 6]
    for point in points:
        every = [
            np.corrcoef(ours[:, list(s)].mean(axis=1), theirs[:, list(s)].mean(axis=1))[
                0, 1
            ]
            for s in combinations(range(6), point["questions"])
        ]
        assert point["mean"] == pytest.approx(np.mean(every), abs=0.01)
        ends = (point["low"], point["mean"], point["high"])
        assert [*ends] == sorted(ends)
        assert min(every) - 1e-9 <= ends[0] <= ends[2] <= max(every) + 1e-9
    last = points[-1]
    assert last["mean"] == last["low"] == last["high"]


def test_subsets_without_a_correlation_are_counted(monkeypatch):
    monkeypatch.setattr(people, "DRAWS", 100)
    ours = table({m: {"1": 0.5, "2": k / 10} for k, m in enumerate("abc")})
    one, both = curve(ours, ours)
    assert one["mean"] == both["mean"] == pytest.approx(1)
    assert 20 < one["undefined"] < 80
    flat = table({m: {"1": 0.5} for m in "abc"})
    (point,) = curve(flat, flat)
    assert (point["mean"], point["low"], point["undefined"]) == (None, None, 1)
