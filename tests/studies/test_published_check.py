"""What the papers derived from their own tables: every verdict pinned, and the committed rows."""

import csv

import pytest

from published_check import pbig, sipen
from published_check.derived import Verdict
from published_check.p_values import p_value
from published_check.published import derive_published
from published_check.recomputed import FILE, HEADINGS, rows
from sozo.data.published import load, load_text
from sozo.scoring.statistics import holm
from sozo.studies.correlation import pearson


@pytest.fixture(scope="module")
def published():
    return derive_published()


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
    compared = [
        row
        for row in published.derived
        if row.kind == "correlation" and row.difference is not None
    ]
    assert all(row.attainable for row in compared)
    assert max(abs(row.difference) for row in compared) < 0.00885
    assert sum(row.determined for row in compared) == 5


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


def test_the_committed_rows_are_the_numbers(published):
    made, kept = rows(published), list(csv.reader(FILE.open(encoding="utf-8")))
    assert kept.pop(0) == list(HEADINGS)
    for ours, theirs in zip(made, kept, strict=True):
        assert ours[:4] + ours[-2:] == theirs[:4] + theirs[-2:]
        # The search for the ends of a range may stop a digit earlier on another machine.
        figures = [[float(n or 0) for n in row[4:-2]] for row in (ours, theirs)]
        assert figures[0] == pytest.approx(figures[1], abs=2e-4), ours


def test_the_readme_says_what_the_tables_hold():
    page = (FILE.parents[2] / "data/published/README.md").read_text("utf-8")
    said = [*sipen.facts(), *sipen.significance(), *sipen.unborne(), *pbig.facts()]
    assert [fact for fact in said if f"- {fact}\n" not in page] == []


def test_the_doubts_are_facts():
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
