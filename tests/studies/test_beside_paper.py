"""A study's first rows beside the paper's: the tolerance by hand, and the gate on made-up tables."""

from dataclasses import replace

import numpy as np
import pytest

from sentences import refused
from sozo.data.published import METHODS, load
from sozo.studies.study.beside_paper import (
    beside_table,
    figures,
    gate,
    half_widths,
)
from sozo.studies.study.page import patterns
from sozo.studies.study.table11 import FIGURES, Table11, Table11Row
from sozo.tasks.dat.summary import DatSummary

ANSWERS = 131_072
PAPER = {"usable": 105_401, "score": 0.524, "std": 0.018, "all_different_words": 8026}
# What honest studies of Swallow-8B might draw: each figure a little off the paper's.
RANDOM = {"score": 0.5552, "all_different_words": 22_128}
BASE = {"usable": 105_300, "score": 0.5241, "all_different_words": 8_050}


def papers_table(model):
    """The paper's own rows, as if they were a study's."""
    rows = []
    for line in load("dat_training"):
        if line["model"] in (None, model):
            told = {name: line[name] for name in FIGURES}
            summary = DatSummary(line["method"], ANSWERS, ci95=None, reasons={}, **told)
            counts = {"refuse": told["usable"], "keep": told["usable"] + 1_500}
            rows.append(Table11Row(summary, counts, paper=told))
    return Table11(tuple(rows), 1, model)


def read(random, base):
    """Rows of made-up figures beside the paper's."""
    rows = papers_table("Swallow-8B").rows
    drawn = (RANDOM | random, BASE | base)
    return [
        replace(row, summary=replace(row.summary, **told))
        for row, told in zip(rows[:2], drawn, strict=True)
    ]


def test_the_tolerance_by_hand():
    base = half_widths(PAPER, ANSWERS)
    # p = 105,401 / 131,072 = 0.80414; 1.96 x sqrt(131,072 x 0.80414 x 0.19586) = 1.96 x 143.68.
    assert base["usable"] == pytest.approx(281.6, abs=0.1)
    assert base["score"] == pytest.approx(1.96 * 0.018 / 324.65, rel=1e-3)
    # A word is said or not, so that the variance of their number is at most their number.
    assert base["all_different_words"] == pytest.approx(1.96 * 8026**0.5)


def test_an_honest_study_goes_on():
    rows = read({}, {})
    *_, line = gate(rows)
    assert line == (
        "base: usable lists by repeated_words: 105,401 with refuse and 106,901 with keep."
    )
    # 2 x sqrt(281.6² + 282.0²): the figures of two draws.
    usable, mean, *_ = figures(rows[1])
    assert usable.here - usable.paper == -101
    assert usable.room == pytest.approx(2 * np.hypot(281.6, 282.2), rel=1e-3)
    assert mean.room == pytest.approx(0.0005 + 2 * 2**0.5 * 1.96 * 0.018 / 324.6, 1e-3)


def test_a_row_that_misses_the_paper_is_told_and_stops_the_study():
    shown = []
    with refused("study: base misses the paper"):
        shown.extend(gate(read({}, {"usable": 101_500})))
    (missed,) = [line for line in shown if line.startswith("|") and "yes" in line]
    cells = [cell.strip() for cell in missed.strip("|").split("|")]
    assert cells == [
        *("base", "usable", "101,500", "105,401 ± 282", "-3,901", "818", "yes")
    ]
    with refused("study: random misses the paper"):
        list(gate(read({"score": 0.41, "std": 0.03}, {})[:1]))


def test_fewer_answers_widen_the_tolerance_and_compare_no_different_words():
    summary = DatSummary("base", 1024, 800, 0.52, 0.018, None, 5000, {})
    base = Table11Row(summary, {}, paper=PAPER)
    found = {f.name: f for f in figures(base)}
    assert found.keys() == {"usable", "score", "std"}
    assert found["usable"].here == 800 / 1024 * ANSWERS
    assert found["usable"].room > 6_000
    nothing = DatSummary("base", 1024, 0, None, None, None, 0, {})
    (usable,) = figures(replace(base, summary=nothing))
    assert usable.missed  # a base of which no list can be read stops the study
    trained = replace(base, summary=replace(summary, source="SFT"))
    assert [f.room for f in figures(trained)] == [None] * 3
    assert figures(replace(base, paper=None)) == []


@pytest.mark.parametrize("model", ["Swallow-8B", "Qwen2.5-7B", "llm-jp-3-7.2b"])
def test_the_papers_own_rows_show_all_its_patterns_and_miss_nothing(model):
    table = papers_table(model)
    assert [row.summary.source for row in table.rows] == list(METHODS)
    seen = patterns(table)
    assert len(seen) == 4
    assert all(text.startswith("yes") for text in seen.values()), seen
    assert len(beside_table(table.rows).rows) == 24
    found = [figure for row in table.rows for figure in figures(row)]
    assert not any(f.here != f.paper or f.missed for f in found)
