"""Appendix C: the judge's prompt, places, correlations and curve by hand, and the paper's numbers computed again."""

import json
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finished_runs import SCORES, given_sat
from sentences import refused
from sozo.data.prompts import prompt
from sozo.data.published import load
from sozo.studies.correlate import people
from sozo.studies.correlate.people import compare, curve, places_of
from sozo.studies.correlate.run import correlate_raters
from sozo.studies.ratings import UNIT
from sozo.tasks.sat.run_result import SAT_V1, parse_grade
from sozo.tasks.sat.stories import Story

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
    by_rater = {rater: own.set_index("system") for rater, own in rows.groupby("rater")}
    for own in by_rater.values():
        places = own.place
        assert (len(places), places["Claude 3.5 Sonnet"]) == (11, 1)
        assert places["Llama-3-8B"] == 11
    human = by_rater["human"].place
    # Qwen2-72B and Qwen2-7B share a place with people, 0.501 each, and the next one is left out.
    assert human["Qwen2-72B"] == human["Qwen2-7B"] == 6
    assert human["Claude 3 Haiku"] == 8


def test_a_model_without_scores_has_no_place():
    tables = {"e": table({"A": {"1": 0.1}}), "h": table({"B": {"1": 1}, "C": {"1": 0}})}
    ranked = places_of(tables)[["rater", "system", "place"]].to_numpy().tolist()
    assert ranked == [["e", "A", 1], ["h", "B", 1], ["h", "C", 2]]


# Correlation


def test_the_papers_correlation_with_people_from_its_own_table():
    tables = published()
    kinds = pd.Series("", tables["human"].index)
    (cell,) = compare(tables["human"], tables["simcse"], kinds)
    assert cell["over systems"]["r"] == pytest.approx(
        0.8882, abs=5e-5
    )  # printed: 0.889
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


def test_appendix_c_of_runs_and_people_by_hand(tmp_path):
    """Two encoders are two raters; people's scores of rank k of four are 1 - (k - 1) / 3."""
    distances = np.array([[9, 5, 7, 4], [6, 8, 2, 5], [3, 4, 6, 1], [1, 3, 3, 2]]) / 10
    human = np.array([[3, 2, 3, 2], [2, 3, 1, 3], [1, 1, 2, 0], [0, 0, 0, 1]]) / 3
    tales, lines = "桃鶴亀犬", []
    for k, model in enumerate("abcd"):
        scores = dict(zip(tales, distances[k].tolist(), strict=True))
        given_sat(tmp_path / "runs" / model, model, scores)
        scorer = SCORES | {"embedding_model": "other"}
        given_sat(tmp_path / "other" / model, model, scores, scorer=scorer)
        for tale, score in zip(tales, human[k].tolist(), strict=True):
            row = {"model": model, "item": tale, "rater": "r", "score": score}
            lines.append(json.dumps(row) + "\n")
    (tmp_path / "r.jsonl").write_text("".join(lines), "utf-8")
    places = [str(tmp_path / name) for name in ("runs", "other", "r.jsonl")]
    run = correlate_raters(places, tmp_path / "out")
    found = json.loads((run.path / "correlations.json").read_text("utf-8"))
    (cell,) = found["people and ja-ginza"]
    assert found["people and other"] == [cell]
    over = np.corrcoef(distances.mean(axis=1), human.mean(axis=1))[0, 1]
    assert cell["over systems"]["r"] == pytest.approx(over)
    assert cell["over systems"]["reason"] == "4 questions: an interval needs at least 5"
    assert cell["r"] == pytest.approx(
        np.corrcoef(distances.ravel(), human.ravel())[0, 1]
    )
    # Figure 1: one story at a time, the mean over the four that can be drawn; all four, the correlation itself.
    each = [np.corrcoef(distances[:, k], human[:, k])[0, 1] for k in range(4)]
    first, *_, last = found["curves"]["ja-ginza"]
    assert first["mean"] == pytest.approx(np.mean(each), abs=0.02)
    ends = (pytest.approx(min(each)), pytest.approx(max(each)))
    assert (first["low"], first["high"]) == ends
    assert (last["questions"], last["mean"]) == (4, pytest.approx(over))
    svg = ElementTree.parse(run.path / "curve.svg").getroot()
    assert "Pearson correlation with people" in "".join(svg.itertext())


@pytest.mark.parametrize(
    ("changed", "task", "row"),
    [
        (
            {"stories": [Story("桃", "", "", "", "別の話")]},
            None,
            "correlate: story with another text",
        ),
        ({}, "dat", "correlate: no run of the task"),
    ],
)
def test_what_cannot_be_compared_is_refused(changed, task, row, tmp_path):
    given_sat(tmp_path / "a", "a", {"桃": 0.5})
    given_sat(tmp_path / "b", "b", {"桃": 0.5}, **changed)
    with refused(row):
        correlate_raters(
            [str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "o", task
        )
