"""Designs of studies with lists: each number is that of R 4.2 (aov, anova.mlm, t.test, cor.test, pt and pf by ncp)."""

import pandas as pd
import pytest

from fakes import AXES
from sentences import refused
from sheets import save, scored, table, written
from sozo.scoring.measure import Measure
from sozo.suite.people.designs import analysed, assumptions, compared

# Student's sleep data as R has it: hours gained by ten patients with each of two drugs.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
THIRD = [1.0, 0.5, 2.0, 1.5, 0.3, 3.0, 6.0, 1.0, 5.0, 4.0]
HOURS = Measure("hours", 7)


def long(**times):
    return pd.DataFrame(
        [
            {"participant": f"p{k}", "trial": time, "score": score}
            for time, scores in times.items()
            for k, score in enumerate(scores)
        ]
    )


def design_of(results, groups="", values=None, order=()):
    """What is compared of these scores, in these groups, with these columns."""
    sample = analysed(results, pd.Series(groups, results.index), order=order)
    return compared(sample, HOURS, pd.DataFrame() if values is None else values)


def near(row, **expected):
    """Whether a row's cells have these values, with the ends of their intervals, to a millionth."""
    for heading, numbers in expected.items():
        found = row[heading].estimate
        known = (found.value, found.low, found.high)[: len(numbers)]
        assert known == pytest.approx(numbers, abs=1e-5), heading


def test_two_times():
    design = design_of(long(first=FIRST, second=SECOND))
    (row,), (retest,) = design["times"], design["retests"]
    near(row, Difference=[1.58, 0.7001142, 2.4598858], t=[4.062128], p=[0.00283289])
    near(row, d=[1.2845576, 0.4146278, 2.1180165])
    assert (row["Comparison"], row["df"], row["n"]) == ("second − first", "9", "10")
    near(retest, r=[0.7951702, 0.3315255, 0.9494465], p=[0.005965])
    assert retest["df"] == 8
    assert not [kind for kind in ("anova", "groups", "changes") if design[kind]]


def test_two_groups():
    results = long(one=[*FIRST, *SECOND])
    (row,) = design_of(results, ["a"] * 10 + ["b"] * 10)["groups"]
    near(row, Difference=[1.58, -0.2054832, 3.3654832], t=[1.860813], p=[0.07939414])
    near(row, d=[0.8321811, -0.0954504, 1.7388169])
    assert (row["Comparison"], row["df"], row["n"]) == ("b − a", "17.78", "10, 10")
    # --order turns it around.
    (row,) = design_of(results, ["a"] * 10 + ["b"] * 10, order=["b"])["groups"]
    assert row["Comparison"] == "a − b"
    near(row, Difference=[-1.58])
    with refused("people: an order of nobody"):
        design_of(results, ["a"] * 10 + ["b"] * 10, order=["c"])


def test_groups_by_times():
    """Unequal groups, one of whom came once, and three times: sums of squares of type III, Greenhouse and Geisser's df."""
    results = long(pre=FIRST, post=SECOND, later=THIRD[:9])
    design = design_of(results, (list("aaaabbbbbb") * 3)[:29])
    found = {row["Source"]: row for row in design["anova"]}
    both = found["interaction of group and time"]
    near(both, F=[0.1048366], p=[0.828281], **{"ηp²": [0.0147557, 0.0, 0.1778136]})
    near(found["main effect of group"], F=[3.7868683], p=[0.0927138])
    time = found["main effect of time"]
    near(time, F=[7.7907747], p=[0.014605], **{"ηp²": [0.526732, 0.0819286, 0.693382]})
    assert both["df"] == time["df"] == "1.37, 9.6"
    (baseline,), changes = design["baseline"], design["changes"]
    near(baseline, Difference=[2.135, -0.2172179, 4.4872179], t=[2.1859909])
    assert [row["Change"] for row in changes] == ["post − pre", "later − pre"]
    assert [row["n"] for row in design["times"]] == ["4", "4", "5", "5"]


def test_more_than_two_groups_have_one_f_test_and_pairs():
    design = design_of(long(one=[*FIRST, *SECOND, *THIRD]), ["a", "b", "c"] * 10)
    (row,) = design["anova"]
    near(row, F=[0.0505227], p=[0.950822], **{"ηp²": [0.0037285, 0.0, 0.0]})
    assert [pair["Comparison"] for pair in design["groups"]] == [
        *("b − a", "c − a", "c − b")
    ]


def test_what_has_no_number_says_why():
    results = long(pre=[1.5, 2.5, None, 3.1], post=[2.5, None, 3.1, 4.2])
    design = design_of(results)
    (row,), (retest,) = design["times"], design["retests"]
    assert row["Difference"].below == ("fewer than 3 persons",)
    assert retest["r"].value == "fewer than 4 persons with both"


def test_correlations_are_of_each_group_too_and_corrected():
    index = [f"p{k}" for k in range(10)]
    values = pd.DataFrame({"second": SECOND}, index)
    whole, a, b = design_of(long(only=FIRST), list("aaaaabbbbb"), values=values)[
        "correlations"
    ]
    near(whole, r=[0.7951702, 0.3315255, 0.9494465], p=[3 * 0.005965])
    assert [row["Group"] for row in (whole, a, b)] == ["all participants", "a", "b"]
    assert (whole["df"], a["df"]) == (8, 3)


def test_assumptions():
    results = long(pre=FIRST, post=SECOND)
    groups = pd.Series(list("aaaabbbbbb") * 2)
    known = assumptions(analysed(results, groups))
    ((w, p),), ((f, levene),) = known["normal"], known["equal"]
    assert (w, p) == pytest.approx((0.835337, 0.038792), abs=1e-5)
    assert (f, levene) == pytest.approx((1.11206, 0.32244), abs=1e-5)
    assert known["outliers"] == ["p4", "p8"]


def test_a_study_s_wide_file(fake, tmp_path):
    ten = "、".join(AXES[:10])
    rows = [["ID", "IPAddress", "条件", "性別", "年齢", "前", "後"]]
    rows += [
        [f"s{k}", "::1", "walk" if k < 4 else "sit", "女", "54", ten, ten]
        for k in range(8)
    ]
    rows[1][0], rows[2][6], rows[3][4] = "ｓ０", "犬", ""
    _, text = scored(fake, tmp_path, rows, group="条件", correlate=["年齢"])
    assert "wide.csv hold them: IPAddress." in text
    assert "Of 8 participants, 7 (7 女, mean age 54.0 years, SD = 0.0, age" in text
    wide = written(tmp_path / "out/wide.csv")
    names = ["participant", "sozo_score_前", "sozo_score_後", "年齢", "group"]
    assert [*wide[0]] == [*names, "IPAddress", "性別"]
    assert [*wide[0].values()][:5] == ["s0", "1.000000", "1.000000", "54", "walk"]
    assert len(wide) == 8
    (first, *_), _ = scored(fake, tmp_path, rows, "no", drop=["ipaddress"])
    assert "IPAddress" not in {*first, *written(tmp_path / "no/wide.csv")[0]}
    twice = [["ID", "条件", "wave", "answer"]]
    twice += [["s1", group, wave, ten] for group, wave in ("a1", "b2")]
    with refused("people: one person in two groups"):
        scored(fake, tmp_path, twice, "two", group="条件")


def study(*, age=None):
    """Eight persons in two conditions, before and after, with ages."""
    lists = ["、".join(AXES[k : k + 10]) for k in (0, 1)]
    rows = [["ID", "条件", "年齢", "前", "後"]]
    for k in range(8):
        years = age if age is not None and k == 1 else f"{20 + k}歳"
        rows.append([f"s{k}", "walk" if k < 4 else "sit", years, *lists])
    return rows


def test_ages_are_numbers_and_what_is_none_is_told_by_row(fake, tmp_path):
    _, text = scored(fake, tmp_path, study(age="-99"), correlate=["年齢"])
    assert "mean scores with 年齢 was not computed (all values are equal)." in text
    assert "To compare the groups of the column 条件: --group 条件" in text
    assert "(mean age 23.9 years, SD = 2.4, age unknown of 1)" in text
    wide = written(tmp_path / "out/wide.csv")
    assert [row["年齢"] for row in wide[:3]] == ["20", "", "22"]
    scored(fake, tmp_path, study(age="１２００点"), "many", correlate=["年齢"])
    assert written(tmp_path / "many/wide.csv")[1]["年齢"] == "1200"
    for row, age, column in (
        ("an age that is no number", "若い", "年齢"),
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


def test_two_rows_of_one_person_and_times_of_nobody_are_refused(fake, tmp_path):
    rows = study()
    with refused("people: two rows of one person"):
        scored(fake, tmp_path, [*rows, rows[3]])
    ten = "、".join(AXES[:10])
    rows = [["ID", "何回目", "回答"], *([f"s{k // 2}", "", ten] for k in range(4))]
    with refused("people: times that nobody filled in"):
        scored(fake, tmp_path, rows, "no")


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
    assert text.startswith("All 6 participants")
    assert "A list and no number in 開放性: S1." in text
    assert "A number in 開放性 and no list: S9." in text
    assert "No list" not in text
    wide = written(tmp_path / "out/wide.csv")
    assert [row["開放性"] for row in wide] == ["", *(f"{k}" for k in range(2, 7))]
