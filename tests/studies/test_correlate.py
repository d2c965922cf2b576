"""What the papers derived from their own tables: every verdict pinned, and the committed page that says so."""

import re

import numpy as np
import pytest

from published_check.derived import Derived, Verdict
from published_check.p_values import p_value
from published_check.page import PAGE, to_markdown
from published_check.published import derive_published
from published_check.rounding import Printed
from published_check.significance import significance
from published_check.tables import same_models
from sozo.data.published import load, load_text
from sozo.scoring.statistics import holm
from sozo.studies.correlation import pearson


@pytest.fixture(scope="module")
def published():
    return derive_published()


def compared(published):
    return [
        row
        for row in published.derived
        if row.kind == "correlation" and row.difference is not None
    ]


def test_the_verdicts(published):
    none = dict.fromkeys(map(str, Verdict), 0)
    assert published.counts() == {
        "mean": {**none, "agrees": 60},
        "correlation": {
            **none,
            "agrees": 38,
            "not printed": 3,
            "cannot be recomputed": 129,
        },
        "p": {**none, "agrees": 1},
        "significance": {**none, "agrees": 126},
    }


def test_every_correlation_that_rounding_determines_is_within_a_hundredth(published):
    determined = [row for row in compared(published) if row.determined]
    assert [(row.table, row.cell) for row in determined] == [
        ("ACL 10", "All, fluency"),
        ("ACL 10", "All, flexibility"),
        ("ACL 10", "Unusual Uses, mean"),
        ("ACL 10", "Common Problem, mean"),
        ("ACL 24", "pkshatech/simcse-ja-bert-base-clcmlp and people"),
    ]
    # And so are all others.
    assert max(abs(row.difference) for row in compared(published)) == pytest.approx(
        0.0088, abs=5e-5
    )
    assert all(
        row.attainable for row in published.derived if row.attainable is not None
    )
    assert sum(row.attainable is not None for row in published.derived) == 99


def test_numbers_are_recomputed_from_the_right_columns(published):
    by_name = {(row.table, row.cell): row for row in published.derived}
    dat = [0.527, 0.530, 0.514, 0.494, 0.505]
    fluency, improvement = (
        [4.10, 4.29, 4.16, 3.74, 3.91],
        [4.01, 3.80, 4.00, 3.64, 3.45],
    )
    for cell, column, printed in (
        ("All, fluency", fluency, 0.916),
        ("Improvement, mean", improvement, 0.633),
    ):
        found = by_name["ACL 9", cell]
        assert found.recomputed == pytest.approx(
            np.corrcoef(column, dat)[0, 1], abs=1e-12
        )
        assert (found.printed.value, found.n, found.why) == (
            printed,
            5,
            "5 models: the interval is wide",
        )
        assert found.low < found.recomputed < found.high
    p = by_name["ACL 4.3.4", "DAT and SAT, p-value"]
    assert (p.printed.value, p.recomputed) == (0.021, pytest.approx(0.0212, abs=5e-5))
    assert p.low < p.recomputed < p.high
    # (4.10 + 4.28 + 2.73 + 3.47) / 4 = 3.645, printed 3.64.
    mean = by_name["ACL 3", "GPT-4o, mean"]
    assert mean.printed.value == 3.64
    assert by_name["ACL 12", "llm-jp-3-7.2b GRPO, mean"].recomputed == pytest.approx(
        23.2 / 7
    )
    assert by_name["ACL 23", "GPT-4o and people"].recomputed == pytest.approx(
        0.877, abs=5e-4
    )
    assert by_name["NLP 2025", "DAT and SAT"].recomputed == pytest.approx(
        0.869, abs=5e-4
    )
    cannot = [row for row in published.derived if row.verdict is Verdict.CANNOT]
    assert all(
        "not printed" in row.source or "are printed" in row.source for row in cannot
    )
    # The inner cells of the three tables with JCQ do not contradict each other.
    whys = [row.why for row in cannot if row.why]
    assert len(whys) == 84
    assert set(whys) == {
        "some column of scores has the printed correlations of this cell in all of ACL 9, ACL 10, NLP 2025 9"
    }


def test_verdicts_by_hand():
    def verdict(printed, recomputed, low, high):
        return Derived(
            "", "", "correlation", "", Printed(printed, 0.0005), recomputed, low, high
        ).verdict

    assert verdict(0.91, 0.92, 0.9, 0.93) is Verdict.AGREES  # 0.01 exactly
    assert verdict(0.90, 0.92, 0.9, 0.93) is Verdict.WITHIN_ROUNDING
    assert (
        verdict(0.8996, 0.92, 0.9, 0.93) is Verdict.WITHIN_ROUNDING
    )  # rounds to 0.9001
    assert verdict(0.88, 0.92, 0.9, 0.93) is Verdict.DIFFERS
    assert (
        Derived("", "", "mean", "", None, 0.5, 0.4, 0.6).verdict is Verdict.NOT_PRINTED
    )
    assert Derived("", "", "mean", "", Printed(0.5, 0.05)).verdict is Verdict.CANNOT
    # 0.8783 is the threshold of five models.
    assert significance("", "", "0.870", 5, False).verdict is Verdict.AGREES
    assert significance("", "", "0.870", 5, True).verdict is Verdict.DIFFERS
    assert significance("", "", "0.878", 5, True).verdict is Verdict.WITHIN_ROUNDING
    assert significance("", "", "-0.990", 5, True).verdict is Verdict.AGREES
    with pytest.raises(ValueError, match="list other models"):
        same_models("dat", "sat_eleven_models")


def test_gpt_4os_scores_of_eleven_models_are_means_of_113_whole_numbers():
    # A mean of n whole numbers, over 5, is k / 5n: most n cannot print all eleven figures.
    figures = [row["gpt_4o"] for row in load_text("sat_eleven_models")]

    def possible(stories):
        return all(
            f"{round(float(figure) * 5 * stories) / (5 * stories):.3f}" == figure
            for figure in figures
        )

    assert [stories for stories in range(90, 121) if possible(stories)] == [113, 119]
    assert sum(row["human"] for row in load("sat_eleven_models")) == pytest.approx(
        5.5, abs=0.0055
    )


def test_the_committed_page_says_what_the_numbers_say(published):
    page = PAGE.read_text("utf-8")
    assert (
        "Rounding determines 5 of 38 compared correlations; 5 of these are within 0.01"
        in page
    )
    assert "Furthest from the printed value: -0.0088 (ACL 9: All, mean)." in page
    assert "126 of 126 marks agree" in page
    assert "- ACL 8, 40 values: neither the people's ratings" in page
    assert "-0.0000" not in page
    made, number = to_markdown(published), r"[+-]?\d+\.\d+"
    assert re.sub(number, "#", made) == re.sub(number, "#", page)
    # The search for the ends of a range may stop a digit earlier on another machine.
    assert [float(n) for n in re.findall(number, made)] == pytest.approx(
        [float(n) for n in re.findall(number, page)], abs=2e-4
    )
    assert len(published.derived) == 231


def test_the_doubts_are_facts(published):
    # data/published/README.md says these.
    for name, marked, left in (
        ("jcq_dat_correlation", 6, {}),
        ("jcq_sat_correlation", 10, {"Unusual Uses": 0.034}),
    ):
        rows = load(name)
        corrected = holm([p_value(row["pearson"], 5) for row in rows])
        assert sum(row["p_below_0.05"] == "yes" for row in rows) == marked
        found = {
            row["task"]: round(p, 3)
            for row, p in zip(rows, corrected, strict=True)
            if p < 0.05
        }
        assert found == left
    early = pearson(
        *(
            [row["score"] for row in load(name)]
            for name in ("nlp2025_dat", "nlp2025_sat")
        )
    )
    assert (round(early.r, 3), round(p_value(early.r, 5), 3)) == (0.869, 0.056)
    halves = [
        (row.high - row.low) / 2 for row in compared(published) if row.table == "ACL 9"
    ]
    assert (min(halves), max(halves)) == (
        pytest.approx(0.0155, abs=5e-4),
        pytest.approx(0.0495, abs=5e-4),
    )
