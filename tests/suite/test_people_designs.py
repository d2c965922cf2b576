"""Designs of studies with lists: each number is that of R, or of SciPy, on published data."""

from math import atanh, tanh
from statistics import correlation

import pandas as pd
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind

from fakes import AXES
from sentences import refused
from sheets import save, scored, table, written
from sozo.scoring.measure import Measure
from sozo.scoring.statistics.reliability import icc
from sozo.suite.people.designs import compared, wide_scores

# Student's sleep data as R has it: hours gained by ten patients with each of two drugs.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
HOURS = Measure("hours", 7)


def design_of(results, groups="", values=None):
    """What is compared of these scores, in these groups, with these columns."""
    groups = pd.Series(groups, results.index)
    values = pd.DataFrame() if values is None else values
    return compared(results, groups, HOURS, values)


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
    design = design_of(results)
    (row,), (retest,) = design.differences, design.retests
    # t.test(extra ~ group, paired = TRUE): t = -4.0621, df = 9, p-value = 0.002833.
    near(row["Difference"].estimate, 1.58, 0.7001142, 2.4598858, 0.00283289)
    assert (row["Comparison"], row["p"].text, row["n"]) == (
        *("second − first", "0.003"),
        10,
    )
    assert (row["t"].text, row["df"].text) == ("4.06", "9.0")
    assert "p (Holm)" not in row  # of one comparison
    assert retest["Retest"] == "first, second"
    near(retest["r"].estimate, 0.7951702)  # cor(sleep1, sleep2)
    assert row["d"].estimate.value == pytest.approx(4.062128 / 10**0.5, abs=1e-6)
    near(
        retest["ICC(2,1)"].estimate,
        *(lambda e: (e.value, e.low, e.high))(icc([*zip(FIRST, SECOND, strict=True)])),
    )


def test_two_groups_are_r_s_welch_test():
    results = long(one=[*FIRST, *SECOND])
    (row,) = design_of(results, ["a"] * 10 + ["b"] * 10).differences
    # t.test(extra ~ group): t = -1.8608, df = 17.776, p-value = 0.07939.
    near(row["Difference"].estimate, 1.58, -0.2054832, 3.3654832, 0.07939414)
    assert (row["Comparison"], row["n"]) == ("b − a", "10, 10")
    assert (row["t"].text, row["df"].text) == ("1.86", "17.8")


def test_groups_by_times_compare_the_changes_and_correct_for_all_pairs():
    after = [*SECOND[:7], *(score + 4 for score in SECOND[7:])]
    change = [b - a for a, b in zip(FIRST, after, strict=True)]
    results = long(pre=FIRST, post=after)
    rows = design_of(results, list("aaaabbbccc") * 2).differences
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
    assert f"{3 * smallest:.3f}" in {row["p (Holm)"].text for row in rows}


def test_who_lacks_a_score_is_left_out_and_one_time_has_no_table():
    results = long(pre=[1.5, 2.5, None, 3.1], post=[2.5, None, 3.1, 4.2])
    design = design_of(results)
    (row,), (retest,) = design.differences, design.retests
    assert row["n"] == 2
    assert (row["Difference"].interval, row["t"].value, row["p"].value) == (
        *("", None),
        None,
    )
    assert retest["r"].value == "fewer than 4 persons with both"
    values = pd.DataFrame({"age": [20.0]}, index=["p1"])
    wide = wide_scores(results, pd.Series(["a"] * 8), values)
    assert wide.columns.tolist() == [
        *("participant", "group", "sozo_score_pre", "sozo_score_post", "age")
    ]
    assert wide["age"].tolist()[1] == 20
    one = long(only=[1.5, 2.5])
    assert design_of(one).differences == []
    assert design_of(one, "walk").differences == []


def test_a_study_s_wide_file(fake, tmp_path):
    ten = "、".join(AXES[:10])
    rows = [["ID", "条件", "前", "後"]]
    rows += [[f"s{k}", "walk" if k < 4 else "sit", ten, ten] for k in range(8)]
    rows[1][3] = "犬"
    scored(fake, tmp_path, rows, group="条件")
    wide = written(tmp_path / "out/wide.csv")
    assert list(wide[1].values()) == ["s1", "walk", "1.000000", "1.000000"]
    assert list(wide[0].values()) == ["s0", "walk", "1.000000", ""]
    assert len(wide) == 8
    twice = [["ID", "条件", "wave", "answer"]]
    twice += [["s1", group, wave, ten] for group, wave in ("a1", "b2")]
    with refused("people: one person in two groups"):
        scored(fake, tmp_path, twice, "no", group="条件")


def study(*, age=None, ids=None):
    """Eight persons in two conditions, before and after, with ages."""
    lists = ["、".join(AXES[k : k + 10]) for k in (0, 1)]
    rows = [["ID", "条件", "年齢", "前", "後"]]
    for k in range(8):
        name = ids[k] if ids else f"s{k}"
        years = age if age is not None and k == 1 else f"{20 + k}歳"
        rows.append([name, "walk" if k < 4 else "sit", years, *lists])
    return rows


def test_correlations_are_r_s_and_corrected_for_their_number():
    results = long(only=FIRST)
    other = [-value for value in SECOND[:9]] + [None]
    index = [f"p{k}" for k in range(10)]
    values = pd.DataFrame({"second": SECOND, "minus": other}, index)
    first, minus = design_of(results, values=values).correlations
    # cor(sleep1, sleep2), with Fisher's interval and Student's t.
    r, value = first["r"].estimate, 0.7951702
    ends = (tanh(atanh(value) + sign * 1.959964 / 7**0.5) for sign in (-1, 1))
    assert (r.value, r.low, r.high) == pytest.approx((value, *ends), abs=1e-6)
    p = 2 * student.sf(value * (8 / (1 - value**2)) ** 0.5, 8)
    assert first["p"].value == pytest.approx(p, abs=1e-6)
    assert minus["n"] == 9
    assert minus["r"].value < 0
    assert first["p (Holm)"].value == pytest.approx(
        min(2 * first["p"].value, max(first["p"].value * 2, minus["p"].value))
    )


def test_who_lacks_a_time_is_in_no_correlation():
    results = long(first=FIRST, second=SECOND[:6])
    values = pd.DataFrame({"age": range(10)}, [f"p{k}" for k in range(10)])
    (row,) = design_of(results, values=values).correlations
    means = [sum(both) / 2 for both in zip(FIRST, SECOND[:6], strict=False)]
    assert row["n"] == 6
    near(row["r"].estimate, correlation(range(6), means))


def test_ages_are_numbers_and_what_is_none_is_told_by_row(fake, tmp_path):
    _, text = scored(fake, tmp_path, study(age="-99"), correlate=["年齢"])
    assert "With 年齢 there is none (all values are equal), n = 7." in text
    wide = written(tmp_path / "out/wide.csv")
    assert [row["年齢"] for row in wide[:3]] == ["20.000000", "", "22.000000"]
    for many in ("1,200点", "１２００"):
        scored(fake, tmp_path, study(age=many), many, correlate=["年齢"])
        assert written(tmp_path / many / "wide.csv")[1]["年齢"] == "1200"
    for row, age, column in (
        ("an age that is no number", "若い", "年齢"),
        ("an age without end", "inf", "年齢"),
        ("no column of that name", "20", "背"),
    ):
        with refused(f"people: {row}"):
            scored(fake, tmp_path, study(age=age), "no", correlate=[column])


def test_the_figure_is_there_for_print(fake, tmp_path):
    scored(fake, tmp_path, study(), correlate=["年齢"], group="条件")
    svg = (tmp_path / "out/figure.svg").read_text("utf-8")
    for text in ("walk", "sit", "前", "年齢"):
        assert f">{text}<" in svg  # text stays text
    assert (tmp_path / "out/figure.png").read_bytes().startswith(b"\x89PNG")


def test_what_the_sheet_may_mean_is_told(fake, tmp_path):
    ids = ["S03", "S3", "5", "5番", "a", "b", "c", "d"]
    _, text = scored(fake, tmp_path, study(ids=ids))
    assert "To compare the groups of the column 条件: --group 条件" in text
    assert "different persons: S03 (row 2), S3 (row 3), 5 (row 4), 5番 (row 5)." in text
    ten = "、".join(AXES[:10])
    rows = [["ID", "日付", "回答"]]
    rows += [[f"s{k // 2}", f"2025/05/{k + 1:02d}", ten] for k in range(6)]
    _, text = scored(fake, tmp_path, rows, "dates", trial="日付")
    assert "more than 2 of the 6 lists that 日付 tells apart" in text
    rows = [["ID", "何回目", "回答"], *([f"s{k // 2}", "", ten] for k in range(4))]
    with refused("people: times that nobody filled in"):
        scored(fake, tmp_path, rows, "no")


def test_two_rows_of_one_person_are_told_by_their_numbers(fake, tmp_path):
    rows = study()
    with refused("people: two rows of one person"):
        scored(fake, tmp_path, [*rows, rows[3]])


def test_a_questionnaire_in_the_folder_is_joined_and_who_lacks_what_is_told(
    fake,
    tmp_path,
):
    folder = tmp_path / "answers"
    folder.mkdir()
    ten = "、".join(AXES[:10])
    lists = [["participant", "answer"], *([f"S{k}", ten] for k in range(1, 7))]
    save(folder / "lists.csv", table(lists))
    rows = [
        ["参加者", "開放性"],
        *([f"s{k}", str(k)] for k in range(2, 7)),
        ["S9", "1"],
    ]
    save(folder / "scale.csv", table(rows))
    _, text = scored(fake, tmp_path, folder, correlate=["開放性"])
    assert text.startswith("6 participants, one list each")
    assert "A list and no number in 開放性: S1." in text
    assert "A number in 開放性 and no list: S9." in text
    assert "No list" not in text
    wide = written(tmp_path / "out/wide.csv")
    numbers = ["", *(f"{k}.000000" for k in range(2, 7))]
    assert [row["開放性"] for row in wide] == numbers
