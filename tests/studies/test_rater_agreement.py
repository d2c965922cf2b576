"""Krippendorff's alpha by hand, and `sozo agreement` of ratings, and of judges of the same answers."""

import csv
import json

import numpy as np
import pytest

from command_line import sozo
from finished_runs import given_jcq
from sentences import refused, says
from sozo.studies.agreement.judges import agree_judges, find_judged, same_answers
from sozo.studies.agreement.raters import jaccard_by_chance, pairs_of
from sozo.studies.agreement.ratings import agree_ratings as agree_by_level
from sozo.studies.rater_agreement import (
    LEVELS,
    coincidences,
    disagreement,
    krippendorff_alpha,
)
from sozo.studies.ratings import read_any_ratings
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


def agree_ratings(path, output, rubric=None, level="ordinal", least=10):
    return agree_by_level(path, output, rubric=rubric, level=level, least=least)


def test_alpha_by_hand():
    alphas = {level: krippendorff_alpha(WORKED, level) for level in LEVELS}
    assert [round(result.alpha, 4) for result in alphas.values()] == [
        0.7434,
        0.8154,
        0.8491,
        0.7974,
    ]
    ordinal = alphas["ordinal"]
    assert (ordinal.units, ordinal.scores, ordinal.raters, ordinal.low) == (
        11,
        40,
        4,
        None,
    )  # one unit has one score
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]]).alpha == 1
    # Nominal, two raters who never agree on two values: D_o = 1, D_e = 4 * 4 * 2 / (8 * 7).
    assert krippendorff_alpha(
        [[1, 2, 1, 2], [2, 1, 2, 1]], "nominal"
    ).alpha == pytest.approx(1 - 7 / 4)


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
        ([THREES[:59], THREES[:59]], 1, True, "59 units: an interval needs 60"),
        (
            [RARE, RARE],
            1,
            True,
            "one score makes up 71% of all: an interval needs 70% at most",
        ),
        ([THREES, THREES], 1, True, "next to no disagreement"),
        ([THREES, [2, *THREES[1:]]], 1, True, "next to no disagreement"),
    ],
)
def test_what_means_nothing_has_a_reason(scores, least, alpha, reason):
    result = krippendorff_alpha(scores, least=least)
    assert (result.alpha is not None, result.low, result.reason) == (
        alpha,
        None,
        reason,
    )


def test_samples_of_units_are_one_matrix_product():
    rng = np.random.default_rng(0)
    scores = rng.integers(1, 5, (3, 20)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = NONE
    scores = scores[:, (~np.isnan(scores)).sum(axis=0) >= 2]
    values, n = np.arange(1.0, 5), scores.shape[1]
    draws = rng.integers(0, n, (50, n))
    numbers = np.stack([np.bincount(draw, minlength=n) for draw in draws]).astype(float)
    sums = (numbers @ coincidences(scores, values).reshape(n, -1)).reshape(50, 4, 4)
    for level in LEVELS:
        alphas = 1 - disagreement(sums, values, level)
        assert alphas == pytest.approx(
            [krippendorff_alpha(scores[:, draw], level).alpha for draw in draws]
        )


def test_two_disagreements_give_an_interval():
    result = krippendorff_alpha([THREES, [2, *THREES[1:5], 1, *THREES[6:]]])
    assert result.low < result.alpha < result.high < 1


def test_pairs_of_raters_by_hand():
    rows = np.array([np.arange(10.0), np.arange(10.0)[::-1], [*range(9), NONE]])
    pairs = pairs_of(rows, "interval", least=10)
    # Only the first two share ten units: the halves above 4.5 have nothing in common; by chance two fives of ten.
    assert (pairs.pairs, pairs.jaccard) == (1, 0.0)
    assert pairs.alpha == pytest.approx(
        1 - 19 * 660 / 6600
    )  # so far apart are pairs of a unit and all pairs
    assert pairs.by_chance == pytest.approx(jaccard_by_chance(5, 5, 10))
    assert jaccard_by_chance(2, 2, 4) == pytest.approx(
        (0 * 1 + (1 / 3) * 4 + 1 * 1) / 6
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
                specificity = 2 + k % 3 if rater == "A" else 2 + (k + (k == 4)) % 3
                rows.append((domain, item, "具体性", rater, "technical", specificity))
                if specificity > 2:
                    rows.append(
                        (
                            domain,
                            item,
                            "Technical Validity",
                            rater,
                            "technical",
                            1 + k % 2,
                        )
                    )
            rows.append((domain, item, "specificity", "C", "business", 3))
            rows += [(domain, item, "need_validity_b2c", "C", "business", k % 4)]
            rows += [(domain, item, "need_validity_b2c", "D", "business", 0)]
    return rows


def test_a_file_of_ratings(tmp_path):
    rows = pbig_rows()
    rows[2] = (
        "NLP",
        "NLP-0",
        "specificity",
        "C",
        "business",
        2,
    )  # and its need is rated
    assert rows[2][:4] == pbig_rows()[2][:4]
    rows.append(("CS", "CS-0", "technical_validity", "C", "business", 2))
    run = agree_ratings(
        write_csv(tmp_path / "r.csv", rows), tmp_path / "out", rubric="pbig"
    )
    values = json.loads((run.folder / "agreement.json").read_text("utf-8"))
    cells = {
        (cell["criterion"], cell["domain"], cell["without"]): cell
        for cell in values["cells"]
    }
    assert (cells["specificity", "all", None]["alphas"]["ordinal"]["units"]) == 24
    need = cells["need_validity_b2c", "CS", None]["alphas"]["ordinal"]
    assert (need["units"], need["raters"]) == (12, 2)
    without = cells["need_validity_b2c", "CS", 0]["alphas"]["ordinal"]
    assert (without["alpha"], without["reason"]) == (
        None,
        "no unit has two scores or more: alpha needs 10",
    )
    # D's needs have no specificity at all, C's first one has one that is too low: named, counted, and kept.
    why = [one["why"] for one in values["out_of_stage"]]
    assert why.count("specificity is not rated, and must be above 2") == 24
    assert why.count("specificity is 2, and must be above 2") == 1
    assert why[-1] == "the group business does not rate it"
    assert len(why) == 26
    habit = next(
        h for h in values["raters"] if h["rater"] == "D" and h["domain"] == "CS"
    )
    assert (habit["mean"], habit["sd"], habit["scores"]) == (0, 0, 12)
    assert agree_ratings(
        tmp_path / "r.csv", tmp_path / "out", rubric="pbig"
    ).finished_before
    with refused("agreement: another level in this folder"):
        agree_ratings(
            tmp_path / "r.csv", tmp_path / "out", rubric="pbig", level="nominal"
        )


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
    run = agree_ratings(
        write_jsonl(tmp_path / "r.jsonl", rows), tmp_path / "out", level="interval"
    )
    (cell,) = json.loads((run.folder / "agreement.json").read_text("utf-8"))["cells"]
    assert cell["alphas"]["interval"]["units"] == 12  # a model's answer is the unit
    assert cell["pairs"]["pairs"] == 3


def test_measurements_are_no_scale(tmp_path):
    rows = [
        {"item": f"i{k}", "criterion": "c", "rater": r, "score": k / 7}
        for k in range(60)
        for r in "ab"
    ]
    with refused("agreement: measurements"):
        agree_ratings(write_jsonl(tmp_path / "r.jsonl", rows), tmp_path / "out")


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
        ([ROW, {**ROW, "rater": "B", "domain": "CS"}], "ratings: two domains"),
        ([{**ROW, "patent": "p"}, {**ROW, "rater": "B"}], "ratings: two patents"),
        ([ROW, {**ROW, "criterion": "具体性"}], "ratings: twice by another name"),
    ],
)
def test_a_broken_file_is_refused_and_never_a_score(lines, row, tmp_path):
    path = write_jsonl(tmp_path / "r.jsonl", lines)
    with refused(row):
        read_any_ratings(path, load_rubric("pbig"))


def test_judgings_that_share_nothing(tmp_path):
    given_jcq(tmp_path / "a", "m", {"1": [(1, 2, 3, 4)]})
    given_jcq(tmp_path / "b", "n", {"1": [(1, 2, 3, 4)]})
    places = [str(tmp_path / name) for name in "ab"]
    with refused("agreement: no answer judged twice"):
        agree_judges(find_judged(places, None), tmp_path / "out")
    with refused("agreement: one judging"):
        agree_judges(find_judged(places[:1], None), tmp_path / "out")


def test_scores_that_are_apart():
    row = same_answers("f", np.array([[1.0, 2, 3, NONE], [1, 3, 5, 2], [1, 2, 3, 4]]))
    assert row.exact == pytest.approx((1 / 3 + 1 + 1 / 4) / 3)
    assert row.within_one == pytest.approx((2 / 3 + 1 + 2 / 4) / 3)
    assert row.difference is None


def test_the_command_says_which_question_it_answers(tmp_path):
    write_csv(tmp_path / "r.csv", pbig_rows())
    given_jcq(tmp_path / "a", "m", {"1": [(1, 2, 3, 4)], "2": [(2, 2, 3, 5)]})
    for place, heading in (
        (("r.csv", "--rubric", "pbig"), "## Krippendorff's alpha"),
        (("a", "again=a"), "a, again"),
    ):
        done = sozo(tmp_path, "agreement", *place, "--output", place[1])
        assert (done.returncode, heading in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("r.csv a", "agreement: ratings beside runs"),
        ("r.csv --judge", "agreement: judge of ratings"),
        ("a --rubric pbig", "agreement: rubric of runs"),
        ("r.csv --level cardinal", "agreement: no such level"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words, row, tmp_path):
    write_csv(tmp_path / "r.csv", pbig_rows(1))
    given_jcq(tmp_path / "a", "m", {"1": [(1, 2, 3, 4)]})
    done = sozo(
        tmp_path, "agreement", *words.split(), "--output", "out", OPENAI_API_KEY="none"
    )
    assert done.returncode == 2
    assert says(row, done.stderr)
