"""Krippendorff's alpha by hand, and `sozo agreement` of ratings, and of judges of the same answers."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from command_line import sozo
from finished_runs import JUDGE, given_jcq
from sentences import refused
from sozo.studies.agreement.run import agree_raters, agreement
from sozo.studies.rater_agreement import (
    LEVELS,
    krippendorff_alpha,
)
from sozo.studies.ratings import read_ratings
from sozo.studies.rubric import load_rubric

NONE = np.nan
# Krippendorff (2011): four raters, twelve units.
WORKED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
    [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
]
COLUMNS = ("domain", "item", "criterion", "rater", "group", "score")


def test_alpha_by_hand():
    alphas = {level: krippendorff_alpha(WORKED, level) for level in LEVELS}
    assert [round(result.alpha, 4) for result in alphas.values()] == [
        0.7434,
        0.8154,
        0.8491,
        0.7974,
    ]
    ordinal = alphas["ordinal"]
    # One unit has one score.
    assert (ordinal.units, ordinal.scores, ordinal.raters) == (11, 40, 4)
    assert ordinal.low < ordinal.alpha < ordinal.high
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]]).alpha == 1
    # Nominal, two raters who never agree on two values: D_o = 1, D_e = 4 * 4 * 2 / (8 * 7).
    assert krippendorff_alpha(
        [[1, 2, 1, 2], [2, 1, 2, 1]], "nominal"
    ).alpha == pytest.approx(1 - 7 / 4)


NO_ERROR = "next to no disagreement, or the same in all: no interval"
THREES, TWELVE = np.tile([1.0, 2.0, 3.0], 20), [*range(11), NONE]
RARE = np.where(np.arange(100) < 71, 1.0, 2.0)


@pytest.mark.parametrize(
    ("scores", "least", "alpha", "reason"),
    [
        ([[1, NONE], [NONE, 2]], 1, False, "no unit has two scores or more"),
        (np.empty((0, 0)), 1, False, "no unit has two scores or more"),
        (
            [TWELVE, TWELVE],
            12,
            False,
            "11 units have two scores or more: alpha needs 12",
        ),
        ([[2, 2], [2, 2]], 1, False, "all 4 scores are equal"),
        ([THREES[:9], THREES[:9]], 1, True, "9 units: an interval needs 10"),
        (
            [RARE, RARE],
            1,
            True,
            "one score makes up 71% of all: an interval needs 70% at most",
        ),
        ([range(60), range(60)], 1, False, "60 different scores: round them"),
        ([THREES, THREES], 1, True, NO_ERROR),
        ([THREES, [2, *THREES[1:]]], 1, True, NO_ERROR),
        ([[1, 2] * 6, [2, 1] * 6], 1, True, NO_ERROR),  # the same without any
    ],
)
def test_what_means_nothing_has_a_reason(scores, least, alpha, reason):
    result = krippendorff_alpha(scores, least=least)
    assert (result.alpha is not None, result.low, result.reason) == (
        alpha,
        None,
        reason,
    )


def test_ten_numbers_by_plain_formulas():
    """Two people of 16 answers: what the page prints, from sums written out."""
    x = [1, 2, 2, 3, 5, 4, 4, 1, 2, 5, 3, 3, 2, 1, 4, 5]
    y = [2, 2, 3, 3, 4, 4, 5, 1, 1, 5, 3, 4, 2, 2, 4, 4]
    found = agreement(pd.DataFrame({"x": x, "y": y}), 10)
    alpha, pairs, icc = found["alphas"]["interval"], found["pairs"], found["icc"]
    every, n = [*x, *y], 16
    observed = sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / n
    chance = sum((a - b) ** 2 for a in every for b in every) / (32 * 31)
    assert alpha["alpha"] == pytest.approx(1 - observed / chance, abs=1e-12)
    assert (alpha["units"], alpha["scores"]) == (16, 32)
    assert alpha["low"] < alpha["alpha"] < alpha["high"]
    mean = sum(every) / 32
    rows = 2 * sum(((a + b) / 2 - mean) ** 2 for a, b in zip(x, y, strict=True)) / 15
    columns = n * sum((sum(side) / n - mean) ** 2 for side in (x, y))
    total = sum((value - mean) ** 2 for value in every)
    error = (total - 15 * rows - columns) / 15
    expected = (rows - error) / (rows + error + 2 * (columns - error) / n)
    assert icc["value"] == pytest.approx(expected, abs=1e-12)
    gaps = [b - a for a, b in zip(x, y, strict=True)]
    assert pairs["difference"] == pytest.approx(sum(gaps) / n, abs=1e-12)
    assert pairs["exact"] == gaps.count(0) / n

    def ranks(side):
        return [sum(v < u for v in side) + sum(v == u for v in side) / 2 for u in side]

    assert pairs["spearman"] == pytest.approx(
        np.corrcoef(ranks(x), ranks(y))[0, 1], abs=1e-12
    )


def write_csv(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return path


def pbig_rows(n=12):
    """Two technical raters and a business one of `n` ideas each in two domains."""
    rows = []
    for domain in ("NLP", "CS"):
        for k in range(n):
            item = f"{domain}-{k}"
            for rater in ("A", "B"):
                score = 2 + k % 3 if rater == "A" else 2 + (k + (k == 4)) % 3
                rows.append((domain, item, "具体性", rater, "technical", score))
            rows.append((domain, item, "specificity", "C", "business", 3))
            rows.append((domain, item, "Need Validity (B2C)", "C", "business", k % 4))
            rows.append((domain, item, "need_validity_b2c", "D", "business", 0))
    return rows


def agreed(folder, *places, out="out", **how):
    run = agree_raters([str(folder / place) for place in places], folder / out, **how)
    values = json.loads((run.path / "agreement.json").read_text("utf-8"))
    return run, values


def cells_of(values, what):
    return {
        (cell["criterion"], cell["domain"]): cell
        for cell in values["cells"]
        if cell["what"] == what
    }


def test_a_file_of_ratings(tmp_path):
    write_csv(tmp_path / "r.csv", pbig_rows())
    _, values = agreed(tmp_path, "r.csv", rubric="pbig")
    cells = cells_of(values, "people")
    assert [*cells] == [
        (criterion, domain)
        for criterion in ("specificity", "need_validity_b2c")
        for domain in ("NLP", "CS", "all")
    ]
    assert (cells["specificity", "all"]["alphas"]["ordinal"]["units"]) == 24
    need = cells["need_validity_b2c", "CS"]["alphas"]["ordinal"]
    assert (need["units"], need["raters"]) == (12, 2)
    with refused("agreement: another level in this folder"):
        agreed(tmp_path, "r.csv", rubric="pbig", level="nominal")


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_ratings_without_a_rubric_and_of_models_answers(tmp_path):
    names = ("model", "item", "rater", "score", "criterion")
    each = [
        (m, f"q{k}", r, (k + (m == r)) / 2, "面白さ")
        for m in "xy"
        for k in range(6)
        for r in "xyz"
    ]
    rows = [dict(zip(names, row, strict=True)) for row in each]
    write_jsonl(tmp_path / "r.jsonl", rows)
    run, values = agreed(tmp_path, "r.jsonl", level="interval")
    (cell,) = cells_of(values, "people").values()
    assert cell["alphas"]["interval"]["units"] == 12  # a model's answer is the unit
    assert cell["pairs"]["pairs"] == 3
    assert len([c for c in values["cells"] if c["what"] == "each two"]) == 3
    # x and y each like their own: half a point apart from the others, on these answers first.
    assert {one["range"] for one in values["apart"]} == {0.5}
    assert "- x q0 (面白さ: x 0.5, y 0, z 0)" in run.page


ROW = {
    "item": "i",
    "criterion": "specificity",
    "rater": "A",
    "score": 3,
    "domain": "NLP",
}


@pytest.mark.parametrize(
    ("lines", "row"),
    [
        ([ROW, {**ROW, "rater": "B", "score": 5}], "ratings: above the rubric's scale"),
        ([{**ROW, "score": 2.5}], "ratings: between the rubric's scores"),
        ([{**ROW, "score": 10**400}], "ratings: huge score"),
        (
            [{**ROW, "criterion": "inovativeness"}],
            "ratings: no criterion of the rubric",
        ),
        ([ROW, {**ROW, "criterion": "具体性"}], "ratings: twice by another name"),
    ],
)
def test_a_broken_file_is_refused_and_never_a_score(lines, row, tmp_path):
    path = write_jsonl(tmp_path / "r.jsonl", lines)
    with refused(row):
        read_ratings([path], load_rubric("pbig"))


GRADES = {f"{k}": [(1 + k % 5, 1 + k % 3, 2 + k % 4, 3)] for k in range(1, 8)}


def judged(folder, name, shift=0, **judge):
    """A judge's grades of the seven answers of m, of which the first three are moved."""
    moved = {
        key: [tuple(min(5, g + shift * (int(key) < 4)) for g in own[0])]
        for key, own in GRADES.items()
    }
    given_jcq(folder / name, "m", moved, judge=JUDGE | judge)


def test_a_judge_stands_beside_its_own_noise_other_judges_and_people(tmp_path):
    judged(tmp_path, "v1")
    judged(tmp_path, "again", extra_body={"seed": 1})
    judged(tmp_path, "guarded", 1, prompt="jcq-v1-guarded-2")
    judged(tmp_path, "other", model="k")
    rows = [
        {"model": "m", "item": key, "criterion": "柔軟性", "rater": r, "score": g[0][1]}
        for key, g in GRADES.items()
        for r in "AB"
    ]
    write_jsonl(tmp_path / "people.jsonl", rows)
    places = ("people.jsonl", "v1", "again", "guarded", "other")
    names = [f"{name}={tmp_path / name}" for name in places[1:]]
    run = agree_raters([str(tmp_path / places[0]), *names], tmp_path / "out")
    values = json.loads((run.path / "agreement.json").read_text("utf-8"))
    cells = {
        (cell["what"], *cell["between"]): cell
        for cell in values["cells"]
        if cell["criterion"] == "flexibility"
    }
    assert cells["the same judge again", "v1", "again"]["pairs"]["apart"] == 0
    two = cells["each two", "j (jcq-v1)", "guarded"]
    assert two["pairs"]["difference"] == pytest.approx(3 / 7)
    assert two["pairs"]["exact"] == pytest.approx(4 / 7)
    assert cells["judges", "j (jcq-v1)", "guarded", "other"]["pairs"]["pairs"] == 3
    people = cells["people | judge", "people", "other"]
    assert (people["alphas"]["ordinal"]["alpha"], people["icc"]["n"]) == (1, 7)
    assert cells["each two", "A", "guarded"]["alphas"]["ordinal"]["units"] == 7
    assert "## The same judge again: v1" in run.page


def test_two_judges_of_one_system_in_a_folder_are_two_raters(tmp_path):
    judged(tmp_path / "runs", "a")
    judged(tmp_path / "runs", "b", 1, model="k")
    _, values = agreed(tmp_path, "runs")
    assert {(c["what"], *c["between"]) for c in values["cells"]} == {
        ("judges", "j", "k")
    }


def test_judgings_that_share_nothing(tmp_path):
    given_jcq(tmp_path / "a", "m", {"1": [(1, 2, 3, 4)]})
    given_jcq(tmp_path / "b", "n", {"1": [(1, 2, 3, 4)]})
    with refused("agreement: no answer judged twice"):
        agreed(tmp_path, "a", "b")
    with refused("agreement: one judging"):
        agreed(tmp_path, "a")


def test_the_command_says_which_question_it_answers(tmp_path):
    write_csv(tmp_path / "r.csv", pbig_rows())
    judged(tmp_path, "a")
    for place, heading in (
        (("r.csv", "--rubric", "pbig"), "## People"),
        (("a", "again=a"), "## The same judge again: j"),
    ):
        done = sozo(tmp_path, "agreement", *place, "--output", place[1])
        assert (done.returncode, heading in done.stdout) == (0, True), done.stderr
