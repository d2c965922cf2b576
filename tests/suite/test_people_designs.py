"""Designs of studies with lists: each number is that of R, or of SciPy, on published data."""

from math import atanh, tanh

import pandas as pd
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind

from fakes import AXES
from sheets import save, table, written
from sozo.data.errors import UserError
from sozo.scoring.measure import Measure
from sozo.scoring.statistics.reliability import icc
from sozo.suite.people.command import PeopleOptions, score_people
from sozo.suite.people.designs import compared, wide_scores

# Student's sleep data as R has it: hours gained by ten patients with each of two drugs.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
HOURS = Measure("hours", 7)


def comparisons(results, groups, measure):
    return compared(results, groups, measure, pd.DataFrame()).differences


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
    nobody = pd.Series("", results.index)
    design = compared(results, nobody, HOURS, pd.DataFrame())
    (row,), (retest,) = design.differences, design.retests
    # t.test(extra ~ group, paired = TRUE): t = -4.0621, df = 9, p-value = 0.002833.
    near(row["Difference"].estimate, 1.58, 0.7001142, 2.4598858, 0.00283289)
    assert (row["Comparison"], row["p"].text, row["n"]) == (
        *("second − first", "0.003"),
        10,
    )
    assert (row["t"].text, row["df"].text) == ("4.06", "9.0")
    assert retest["Retest"] == "first, second"
    near(retest["r"].estimate, 0.7951702)  # cor(sleep1, sleep2)
    assert row["d"].estimate.value == pytest.approx(4.062128 / 10**0.5, abs=1e-6)
    near(
        retest["ICC(2,1)"].estimate,
        *(lambda e: (e.value, e.low, e.high))(icc([*zip(FIRST, SECOND, strict=True)])),
    )


def test_two_groups_are_r_s_welch_test():
    results = long(one=[*FIRST, *SECOND])
    (row,) = comparisons(results, pd.Series(["a"] * 10 + ["b"] * 10), HOURS)
    # t.test(extra ~ group): t = -1.8608, df = 17.776, p-value = 0.07939.
    near(row["Difference"].estimate, 1.58, -0.2054832, 3.3654832, 0.07939414)
    assert (row["Comparison"], row["n"]) == ("b − a", "10, 10")
    assert (row["t"].text, row["df"].text) == ("1.86", "17.8")


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
    assert f"{3 * smallest:.3f}" in {row["p (Holm)"].text for row in rows}


def test_who_lacks_a_score_is_left_out_and_one_time_has_no_table():
    results = long(pre=[1.5, 2.5, None, 3.1], post=[2.5, None, 3.1, 4.2])
    nobody = pd.Series("", results.index)
    design = compared(results, nobody, HOURS, pd.DataFrame())
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
    assert comparisons(one, pd.Series("", one.index), HOURS) == []
    assert comparisons(one, pd.Series("walk", one.index), HOURS) == []


def test_a_study_s_table_paragraph_and_wide_file(fake, tmp_path):
    ten = "、".join(AXES[:10])
    rows = [["ID", "条件", "前", "後"]]
    rows += [[f"s{k}", "walk" if k < 4 else "sit", ten, ten] for k in range(8)]
    rows[1][3] = "犬"
    file = save(tmp_path / "p.csv", table(rows))
    score_people(fake, file, tmp_path / "out", PeopleOptions(group="条件"))
    wide = written(tmp_path / "out/wide.csv")
    assert list(wide[1].values()) == ["s1", "walk", "1.000000", "1.000000"]
    assert list(wide[0].values()) == ["s0", "walk", "1.000000", ""]
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
    fake,
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


def study(folder, *, group="条件", age=None, ids=None):
    """Eight persons in two conditions, before and after, with ages: the file, and four lists of different scores."""
    lists = ["、".join(AXES[k : k + 10]) for k in (0, 1)]
    rows = [["ID", group, "年齢", "前", "後"]]
    for k in range(8):
        name = ids[k] if ids else f"s{k}"
        years = age if age is not None and k == 1 else f"{20 + k}歳"
        rows.append([name, "walk" if k < 4 else "sit", years, *lists])
    return save(folder / "p.csv", table(rows))


def summary(fake, file, folder, *correlate, lang="en", **options):
    score_people(
        fake, file, folder, PeopleOptions(**options), correlate=list(correlate)
    )
    return (folder / ("people.md" if lang == "en" else "people_ja.md")).read_text()


def test_four_cells_have_means_sds_and_numbers():
    results = long(pre=FIRST, post=SECOND)
    groups = pd.Series(["a"] * 4 + ["b"] * 6 + ["a"] * 4 + ["b"] * 6)
    means = compared(results, groups, HOURS, pd.DataFrame()).means
    cells = [("a", "pre", FIRST[:4]), ("a", "post", SECOND[:4])]
    cells += [("b", "pre", FIRST[4:]), ("b", "post", SECOND[4:])]
    change = [b - a for a, b in zip(FIRST, SECOND, strict=True)]
    cells += [("a", "post − pre", change[:4]), ("b", "post − pre", change[4:])]
    for row, (group, time, scores) in zip(means, cells, strict=True):
        assert (row["Group"], row["Time"], row["n"]) == (group, time, len(scores))
        mean, sd = pd.Series(scores).mean(), pd.Series(scores).std()
        assert row["Mean"].value == pytest.approx(mean)
        assert row["Sd"].value == pytest.approx(sd)


def test_correlations_are_r_s_and_corrected_for_their_number():
    results = long(only=FIRST)
    other = [-value for value in SECOND[:9]] + [None]
    index = [f"p{k}" for k in range(10)]
    values = pd.DataFrame({"second": SECOND, "minus": other}, index)
    nobody = pd.Series("", results.index)
    first, minus = compared(results, nobody, HOURS, values).correlations
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


def test_ages_are_numbers_and_what_is_none_is_told_by_row(fake, tmp_path):
    text = summary(fake, study(tmp_path, age="-99"), tmp_path / "out", "年齢")
    assert "With 年齢 there is none (all values are equal), n = 7." in text
    wide = written(tmp_path / "out/wide.csv")
    assert [row["年齢"] for row in wide[:3]] == ["20.000000", "", "22.000000"]
    with pytest.raises(UserError, match="row 3: 若い is no number, and 年齢 is to be"):
        summary(fake, study(tmp_path, age="若い"), tmp_path / "no", "年齢")
    for many in ("1,200点", "１２００"):
        summary(fake, study(tmp_path, age=many), tmp_path / many, "年齢")
        assert written(tmp_path / many / "wide.csv")[1]["年齢"] == "1200"
    with pytest.raises(UserError, match="row 3: inf is no number"):
        summary(fake, study(tmp_path, age="inf"), tmp_path / "no", "年齢")
    with pytest.raises(UserError, match="no column, or more than one, is called 背"):
        summary(fake, study(tmp_path), tmp_path / "no", "背")


def test_the_paragraph_is_sentences_in_both_languages(fake, tmp_path):
    file = study(tmp_path)
    text = summary(fake, file, tmp_path / "out", "年齢", group="条件")
    paragraph = text.split("~~~text\n")[1]
    for said in (
        "walk / 前: 1.0000 (sd 0.0000, n = 4).",
        "sit / 後 − 前: 0.0000 (sd 0.0000, n = 4).",
        "The difference of mean changes (後 − 前: sit − walk) was +0.0000, and was not",
        "Of 前, 後 there is none (all values are equal), n = 8.",
        "Cronbach's alpha of the lists has no value",
    ):
        assert said in paragraph
    japanese = (tmp_path / "out/people_ja.md").read_text("utf-8")
    paragraph = japanese.split("~~~text\n")[1]
    for said in ("walk / 前：1.0000（標準偏差 0.0000、n = 4）。", "求められない（"):
        assert said in paragraph
    assert "all values are equal" not in japanese


def test_the_figure_is_there_for_print(fake, tmp_path):
    summary(fake, study(tmp_path), tmp_path / "out", "年齢", group="条件")
    svg = (tmp_path / "out/figure.svg").read_text("utf-8")
    for text in ("walk", "sit", "前", "後", "年齢"):
        assert f">{text}<" in svg  # text stays text
    assert (tmp_path / "out/figure.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "out/people.html").read_text("utf-8")
    assert page.count("<svg") == 1


def test_what_the_sheet_may_mean_is_told(fake, tmp_path):
    ids = ["S03", "S3", "5", "5番", "a", "b", "c", "d"]
    text = summary(fake, study(tmp_path, ids=ids), tmp_path / "out")
    assert "To compare the groups of the column 条件: --group 条件" in text
    assert "different persons: S03 (row 2), S3 (row 3), 5 (row 4), 5番 (row 5)." in text
    ten = "、".join(AXES[:10])
    rows = [["ID", "日付", "回答"]]
    rows += [[f"s{k // 2}", f"2025/05/{k + 1:02d}", ten] for k in range(6)]
    file = save(tmp_path / "q.csv", table(rows))
    text = summary(fake, file, tmp_path / "dates", trial="日付")
    assert "more than 2 of the 6 lists that 日付 tells apart" in text
    rows = [["ID", "何回目", "回答"], *([f"s{k // 2}", "", ten] for k in range(4))]
    file = save(tmp_path / "r.csv", table(rows))
    with pytest.raises(UserError, match=r"row 3: .*fill in the column 何回目"):
        summary(fake, file, tmp_path / "no")


def test_two_rows_of_one_person_are_told_by_their_numbers(fake, tmp_path):
    text = study(tmp_path).read_text("utf-8").splitlines()
    file = save(tmp_path / "twice.csv", "\r\n".join([*text, text[3]]))
    says = r"row 10: has the ID of row 4, and lists of the same questions; leave one"
    with pytest.raises(UserError, match=says):
        summary(fake, file, tmp_path / "no")


def test_one_comparison_is_not_corrected():
    results = long(first=FIRST, second=SECOND)
    nobody = pd.Series("", results.index)
    (row,) = compared(results, nobody, HOURS, pd.DataFrame()).differences
    assert "p (Holm)" not in row


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
    text = summary(fake, folder, tmp_path / "out", "開放性")
    assert text.startswith("6 participants, one list each")
    assert "A list and no number in 開放性: S1." in text
    assert "A number in 開放性 and no list: S9." in text
    assert "No list" not in text
    wide = written(tmp_path / "out/wide.csv")
    assert [row["開放性"] for row in wide] == [
        "",
        *(f"{k}.000000" for k in range(2, 7)),
    ]
