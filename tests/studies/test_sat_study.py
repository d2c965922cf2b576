"""Appendix C: people's places, the judge, rankings and correlations by hand, and the paper's numbers computed again."""

import json
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
from sozo.studies.agreement import appendix_c
from sozo.studies.agreement.appendix_c import (
    agreement,
    agreement_curve,
    aligned,
    grade_answers,
    people_table,
    rank_models,
    score_table,
)
from sozo.studies.ratings import RANKING, Rating, read_rankings
from sozo.tasks.sat.run_result import SAT_V1, SatRunResult, parse_grade
from sozo.tasks.sat.stories import Story
from sozo.tasks.sat.task import Sat
from sozo.tasks.task import Answer, Row

# People


def test_people_are_averaged_over_raters_then_stories(tmp_path):
    rankings = [("1", "ABC", "r1"), ("1", "ACB", "r2"), ("2", "CBA", "r1")]
    rows = [
        {"story_id": item, "ranking": list(models), "rater": rater}
        for item, models, rater in rankings
    ]
    table = people_table(read_rankings(write(tmp_path / "r.jsonl", *rows)))
    assert (list(table.index), list(table.columns)) == (["A", "B", "C"], ["1", "2"])
    np.testing.assert_allclose(table.values, [[1, 0], [0.25, 0.5], [0.25, 1]])
    # The paper's rule: 1 for the first of eleven, 0.9 for the second, 0 for the last.
    ratings = read_rankings(
        write(tmp_path / "r.jsonl", {"story_id": "1", "ranking": list("ABCDEFGHIJK")})
    )
    assert [rating.score for rating in ratings] == pytest.approx(
        [1 - k / 10 for k in range(11)]
    )


def write(path, *lines):
    path.write_text(
        "".join(
            f"{x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)}\n"
            for x in lines
        ),
        "utf-8",
    )
    return path


def test_rankings_from_a_file(tmp_path):
    file = write(
        tmp_path / "r.jsonl",
        {"story_id": "桃太郎", "ranking": ["B", "A"], "rater": 1},
        "",
        {"story_id": "桃太郎", "ranking": ["A", "B"], "rater": 2},
        {"story_id": "鶴", "ranking": ["A", "B"]},
        {"story_id": "鶴", "ranking": ["A", "B"]},  # nobody's name: two people
    )
    ratings = read_rankings(file)
    assert ratings[:2] == [
        Rating("B", "桃太郎", RANKING, "1", 1.0),
        Rating("A", "桃太郎", RANKING, "1", 0.0),
    ]
    np.testing.assert_allclose(people_table(ratings), [[0.5, 0], [0.5, 1]])


@pytest.mark.parametrize(
    ("ranking", "row"),
    [
        ({"ranking": ["A", "B"]}, "rankings: no story"),
        ({"story_id": "1", "ranking": ["A"]}, "rankings: one model"),
        ({"story_id": "1", "ranking": "A B"}, "rankings: no list"),
        ({"story_id": "1", "ranking": [1, 2]}, "rankings: numbers"),
        ({"story_id": "1", "ranking": ["A", "A"]}, "rankings: model twice"),
        ({"story_id": "1", "ranking": ["A", "C"]}, "rankings: other models"),
        (
            {"story_id": "0", "ranking": ["B", "A"], "rater": "r"},
            "rankings: story twice",
        ),
    ],
)
def test_a_bad_ranking_is_named(ranking, row, tmp_path):
    first = {"story_id": "0", "ranking": ["A", "B"], "rater": "r"}
    with refused(row):
        read_rankings(write(tmp_path / "r.jsonl", first, ranking))


def test_no_rankings(tmp_path):
    with refused("rankings: none"):
        read_rankings(write(tmp_path / "r.jsonl"))


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
    """The models' rewrites as finished runs, graded into the ledger of the folder."""
    runs = {}
    for model, rewrites in rows.items():
        write_run(
            folder / model, Sat(), sat_items([TALE]), rewrites, [Row()] * len(rewrites)
        )
        runs[model] = SatRunResult("sat", Measure("sat"), folder / model, {}, {}, {})
    return grade_answers(
        judge, SAT_V1, runs, JudgeSettings(**settings), folder / "j.jsonl"
    )


def test_every_rewrite_is_judged_once_and_keeps_its_status(tmp_path):
    texts = ["速い話", "", "長い話", "<think>", "怪しい話", "<think>案</think>速い話"]
    rows = {
        "A": [Answer(str(k), "1", text, "A") for k, text in enumerate(texts)],
        "B": [Answer("0", "1", " 速い話\n", "B")],
    }
    judge = replying(
        {"速い話": "4", "長い話": Reply(error="HTTP 500"), "怪しい話": "5点です"}
    )
    graded = grade(judge, rows, tmp_path)
    assert graded.statuses["A"] == {
        "ok": 2,
        "no_rewrite": 2,
        "api_error": 1,
        "unparseable": 1,
    }
    # One ledger line for the same text by two models, and two for the reply that is no grade.
    assert graded.statuses["B"] == {"ok": 1}
    assert graded.scores.values.tolist() == [[0.8], [0.8]]
    assert len(judge.asked) == 4
    lines = read_judgements(tmp_path / "j.jsonl", (SAT_V1,))
    assert sorted(
        (line.prompt, line.reply, line.scores) for line in lines if line.reply
    ) == [
        ("sat-v1", "4", {"creativity": 4}),
        ("sat-v1", "5点です", None),
        ("sat-v1", "5点です", None),
    ]
    assert (
        graded.judging.statuses["ok"] == 3
    )  # of five that there was something to ask about
    # A rerun asks what failed only if it is told to, and another rewrite is the only new question.
    rows["B"].append(Answer("1", "1", "遅い話", "B"))
    judge = replying({"遅い話": "2"})
    again = grade(judge, rows, tmp_path)
    assert (len(judge.asked), again.scores.values[1].tolist()) == (
        1,
        [pytest.approx(0.6)],
    )
    fixed = replying({"長い話": "1", "怪しい話": "5"})
    last = grade(fixed, rows, tmp_path, retry_unjudged=True)
    assert last.statuses["A"] == {"ok": 4, "no_rewrite": 2}
    assert last.scores.values[0].tolist() == [pytest.approx((4 + 1 + 5 + 4) / 4 / 5)]


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


def published():
    """Table 23: one number per model is the mean of one story."""
    rows = load("sat_eleven_models")
    return {
        name: score_table({r["model"]: {"": r[name]} for r in rows})
        for name in ("simcse", "human", "gpt_4o")
    }


def test_table_23_is_ranked_as_the_paper_says():
    by_name = rank_models(published())
    assert len(by_name) == 11
    (first, places), *_, (last, last_places) = by_name.items()
    assert (first, last) == ("Claude 3.5 Sonnet", "Llama-3-8B")
    assert [placed.place for placed in places.values()] == [1, 1, 1]
    assert [placed.place for placed in last_places.values()] == [11, 11, 11]
    # Qwen2-72B and Qwen2-7B share a place with people, 0.501 each, and the next one is left out.
    assert (
        by_name["Qwen2-72B"]["human"].place == by_name["Qwen2-7B"]["human"].place == 6
    )
    assert by_name["Claude 3 Haiku"]["human"].place == 8


def test_a_model_without_scores_has_no_place():
    tables = {
        "e": score_table({"A": {"1": 0.1}, "B": {}}),
        "h": score_table({"B": {"1": 1.0}, "C": {"1": 0.0}}),
    }
    ranked = {
        model: {n: p.place for n, p in row.items()}
        for model, row in rank_models(tables).items()
    }
    assert ranked == {
        "A": {"e": 1, "h": None},
        "B": {"e": None, "h": 1},
        "C": {"e": None, "h": 2},
    }
    assert rank_models({}) == {}


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
    found = agreement(tables, "simcse", "human")
    (printed,) = [
        row["pearson"]
        for row in load("sat_embedding_human_correlation")
        if "simcse-ja-bert" in row["embedding_model"]
    ]
    assert printed == 0.889
    assert found.pearson == pytest.approx(0.8882, abs=5e-5)
    low, high = bounds(*(tables[name][""].tolist() for name in ("simcse", "human")))
    assert low < printed - 0.0005 < printed + 0.0005 < high
    assert abs((found.pearson or 0) - printed) < 0.001
    assert (found.models, found.p) == (
        11,
        pytest.approx(0.0136, abs=1e-4),
    )  # "All p-values were below 0.05"
    assert found.ci95 == pytest.approx(
        (0.345, 0.986), abs=1e-3
    )  # Fisher alone: 0.618 to 0.971, which tails outrun
    # Not printed: how well the judge agrees with people. The encoder agrees no worse, for far less money.
    judge = agreement(tables, "gpt_4o", "human")
    assert judge.pearson == pytest.approx(0.877, abs=1e-3)


def random_tables(seed=0, models=6, stories=30):
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=(models, 1))
    names = {
        "index": [f"m{k}" for k in range(models)],
        "columns": [f"s{k}" for k in range(stories)],
    }
    return {
        name: pd.DataFrame(skill + rng.normal(size=(models, stories)), **names)
        for name in ("encoder", "human")
    }


def test_only_stories_that_all_models_have_in_both_count():
    ours = score_table(
        {
            "A": {"1": 0.9, "2": 0.1},
            "B": {"1": 0.5},
            "C": {"1": 0.1, "2": 0.9},
            "Z": {"1": 5.0},
        }
    )
    theirs = score_table(
        {"C": {"1": 0.1, "3": 9}, "B": {"1": 0.5, "2": 0.0}, "A": {"1": 0.9, "2": 0.0}}
    )
    found = agreement({"e": ours, "h": theirs}, "e", "h")
    assert (found.models, found.stories, found.pearson) == (3, 1, pytest.approx(1))
    assert found.ci95 is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            {"A": {"1": 0.1}, "B": {"1": 0.2}},
            {"A": {"1": 0.1}, "B": {"1": 0.2}},
        ),  # two points are always on a line
        (
            {m: {"1": 0.3} for m in "ABC"},
            {"A": {"1": 0.0}, "B": {"1": 0.5}, "C": {"1": 1.0}},
        ),  # all the same
        (
            {m: {"1": 0.3} for m in "ABC"},
            {m: {"2": 0.3} for m in "ABC"},
        ),  # no story in common
        ({}, {}),
    ],
)
def test_no_correlation_is_none_and_not_a_number(ours, theirs):
    tables = {"e": score_table(ours), "h": score_table(theirs)}
    found = agreement(tables, "e", "h")
    assert (found.pearson, found.p, found.ci95) == (None, None, None)
    json.dumps(
        appendix_c.AppendixC(tables, rank_models(tables), (found,)).to_json(),
        allow_nan=False,
    )


# The curve


def test_the_curve_is_the_mean_over_subsets(monkeypatch):
    monkeypatch.setattr(appendix_c, "DRAWS", 20_000)
    tables = random_tables(stories=6)
    ours, theirs = aligned(tables["encoder"], tables["human"])
    points = agreement_curve(ours, theirs)
    assert [point.stories for point in points] == [1, 2, 3, 4, 5, 6]
    for point in points:
        every = [
            np.corrcoef(ours[:, list(s)].mean(axis=1), theirs[:, list(s)].mean(axis=1))[
                0, 1
            ]
            for s in combinations(range(6), point.stories)
        ]
        assert point.mean == pytest.approx(np.mean(every), abs=0.01)
        assert (
            min(every) - 1e-9
            <= (point.low or 0)
            <= (point.mean or 0)
            <= (point.high or 0)
            <= max(every) + 1e-9
        )
    last = points[-1]
    assert (
        last.mean
        == last.low
        == last.high
        == pytest.approx(agreement(tables, "encoder", "human").pearson)
    )
    assert (last.subsets, last.undefined) == (1, 0)


def test_the_curve_is_seeded(monkeypatch):
    tables = random_tables()
    pair = aligned(tables["encoder"], tables["human"])
    monkeypatch.setattr(appendix_c, "DRAWS", 200)
    whole = agreement_curve(*pair)
    assert agreement_curve(*pair) == whole
    widths = [(p.high or 0) - (p.low or 0) for p in whole]
    assert widths[0] > widths[9] > widths[28] > widths[29] == 0


def test_subsets_without_a_correlation_are_counted(
    monkeypatch,
):
    monkeypatch.setattr(appendix_c, "DRAWS", 100)
    ours = np.array([[0.5, 0.1], [0.5, 0.2], [0.5, 0.3]])
    (one, both) = agreement_curve(ours, ours)
    assert (one.subsets + one.undefined, one.mean) == (100, pytest.approx(1))
    assert 20 < one.undefined < 80
    assert both.mean == pytest.approx(1)
    (point,) = agreement_curve(ours[:, :1], ours[:, :1])
    assert (point.mean, point.low, point.high, point.undefined) == (None, None, None, 1)
