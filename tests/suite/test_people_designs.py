"""Designs of studies with lists: each number is that of R, or of SciPy, on published data."""

import pandas as pd
import pytest
from scipy.stats import ttest_ind

from fakes import AXES
from sozo.data.errors import UserError
from sozo.scoring.measure import Measure
from sozo.scoring.statistics.reliability import icc
from sozo.suite.people.command import PeopleOptions, score_people
from sozo.suite.people.designs import comparisons, wide_scores
from test_people import fake, save, table, written  # noqa: F401

# Student's sleep data as R has it: hours gained by ten patients with each of two drugs.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
HOURS = Measure("hours", 7)


def long(**times):
    return pd.DataFrame(
        [
            {"participant": f"p{k}", "trial": time, "score": score}
            for time, scores in times.items()
            for k, score in enumerate(scores)
        ]
    )


def near(estimate, *expected):
    values = (estimate.value, estimate.low, estimate.high, estimate.p)
    assert values[: len(expected)] == pytest.approx(expected, abs=1e-6)


def test_two_times_are_r_s_paired_t_test_and_correlation():
    results = long(first=FIRST, second=SECOND)
    (row,) = comparisons(results, pd.Series("", results.index), HOURS)
    # t.test(extra ~ group, paired = TRUE): t = -4.0621, df = 9, p-value = 0.002833.
    near(row["Difference"].estimate, 1.58, 0.7001142, 2.4598858, 0.00283289)
    assert (row["Comparison"], row["p"], row["n"]) == ("second − first", "0.003", 10)
    near(row["Retest r"].estimate, 0.7951702)  # cor(sleep1, sleep2)
    assert row["d"].estimate.value == pytest.approx(4.062128 / 10**0.5, abs=1e-6)
    near(
        row["ICC(2,1)"].estimate,
        *(lambda e: (e.value, e.low, e.high))(icc([*zip(FIRST, SECOND, strict=True)])),
    )


def test_two_groups_are_r_s_welch_test():
    results = long(one=[*FIRST, *SECOND])
    (row,) = comparisons(results, pd.Series(["a"] * 10 + ["b"] * 10), HOURS)
    # t.test(extra ~ group): t = -1.8608, df = 17.776, p-value = 0.07939.
    near(row["Difference"].estimate, 1.58, -0.2054832, 3.3654832, 0.07939414)
    assert (row["Comparison"], row["n"]) == ("b − a", "10, 10")
    assert "Retest r" not in row


def test_groups_by_times_compare_the_changes_and_correct_for_all_pairs():
    after = [*SECOND[:7], *(score + 4 for score in SECOND[7:])]
    change = [b - a for a, b in zip(FIRST, after, strict=True)]
    results = long(pre=FIRST, post=after)
    group = pd.Series(list("aaaabbbccc") * 2)
    rows = comparisons(results, group, HOURS)
    assert [row["Comparison"] for row in rows] == [
        f"post − pre: {pair}" for pair in ("b − a", "c − a", "c − b")
    ]
    tests = [
        ttest_ind(change[at], change[other], equal_var=False)
        for at, other in (
            (slice(4, 7), slice(4)),
            (slice(7, 10), slice(4)),
            (slice(7, 10), slice(4, 7)),
        )
    ]
    for row, test in zip(rows, tests, strict=True):
        low, high = test.confidence_interval()
        value = row["Difference"].estimate.value
        near(row["Difference"].estimate, value, low, high, test.pvalue)
    smallest = min(test.pvalue for test in tests)
    assert f"{3 * smallest:.3f}" in {row["p (Holm)"] for row in rows}


def test_who_lacks_a_score_is_left_out_and_one_time_has_no_table():
    results = long(pre=[1.5, 2.5, None, 3.1], post=[2.5, None, 3.1, 4.2])
    (row,) = comparisons(results, pd.Series("", results.index), HOURS)
    assert row["n"] == 2
    assert row["Difference"].interval == ""
    assert row["Retest r"].value == "fewer than 4 persons with both"
    assert wide_scores(results, pd.Series(["a"] * 8)).columns.tolist() == [
        *("participant", "group", "sozo_score_pre", "sozo_score_post")
    ]
    one = long(only=[1.5, 2.5])
    assert comparisons(one, pd.Series("", one.index), HOURS) == []
    assert comparisons(one, pd.Series("walk", one.index), HOURS) == []


def test_a_study_s_table_paragraph_and_wide_file(fake, tmp_path):  # noqa: F811
    ten = "、".join(AXES[:10])
    rows = [["ID", "条件", "前", "後"]]
    rows += [[f"s{k}", "walk" if k < 4 else "sit", ten, ten] for k in range(8)]
    rows[1][3] = "犬"
    file = save(tmp_path / "p.csv", table(rows))
    score_people(fake, file, tmp_path / "out", PeopleOptions(group="条件"))
    wide = written(tmp_path / "out/wide.csv")
    assert list(wide[1].values()) == ["s1", "walk", "1.0000", "1.0000"]
    assert list(wide[0].values()) == ["s0", "walk", "1.0000", ""]
    assert len(wide) == 8
    text = (tmp_path / "out/people.md").read_text("utf-8")
    page = (tmp_path / "out/people.html").read_text("utf-8")
    for place in (text, page):
        assert place.count("後 − 前: sit − walk") >= 2  # in the table, and to paste
        assert "Welch" in place
    assert "Cronbach's alpha" in text[text.index("## Methods") :]
    twice = [
        ["ID", "条件", "wave", "answer"],
        *(["s1", g, w, ten] for g, w in ("a1", "b2")),
    ]
    with pytest.raises(UserError, match="row 2: is of a participant who is in another"):
        score_people(
            fake,
            save(file, table(twice)),
            tmp_path / "no",
            PeopleOptions(group="条件"),
        )


@pytest.mark.parametrize(
    ("headings", "group", "says"),
    [
        (["ID", "前", "後"], "", "対応のある t 検定"),
        (["ID", "条件", "回答"], "条件", "群の間の平均スコアの差"),
        (["ID", "条件", "前", "後"], "条件", "変化量についての Welch"),
    ],
)
def test_the_paragraph_tells_of_the_tests_that_were_made_alone(
    fake,  # noqa: F811
    tmp_path,
    headings,
    group,
    says,
):
    several = ["、".join(AXES[:10]), "、".join(AXES[1:11])]
    lists = several[: len(headings) - 1 - bool(group)]
    rows = [
        [f"s{k}", *(["walk" if k < 4 else "sit"] * bool(group)), *lists]
        for k in range(8)
    ]
    file = save(tmp_path / "p.csv", table([headings, *rows]))
    score_people(fake, file, tmp_path / "out", PeopleOptions(group=group or None))
    text = (tmp_path / "out/people_ja.md").read_text("utf-8")
    kinds = ("対応のある t 検定", "群の間の平均スコアの差", "変化量についての Welch")
    assert {kind for kind in kinds if kind in text} == {says}
