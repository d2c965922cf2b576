"""A study's first rows beside the paper's: the tolerance by hand, and the gate on made-up tables with causes planted."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sentences import refused
from sozo.data.published import METHODS, load
from sozo.studies.study.beside_paper import (
    agreeing,
    beside_table,
    by_repeated_words,
    figures,
    gate,
    half_widths,
    papers_rows,
)
from sozo.studies.study.result import patterns
from sozo.studies.study.table11 import PublishedFigures, Table11, Table11Row
from sozo.tasks.dat.summary import DatSummary

ANSWERS = 131_072
GLUCOSE = "pkshatech/GLuCoSE-base-ja-v2"
# What an honest study of Swallow-8B might draw: each figure a little off the paper's.
HONEST = {
    "usable": 105_300,
    "score": (0.5241, 0.0180),
    "words": 8_050,
    "reasons": {"not_japanese": 12_272, "not_noun": 12_000, "repeated_word": 1_500},
}
RANDOM = {"usable": ANSWERS, "score": (0.5552, 0.0200), "words": 22_128}
# Cause -> how the tables come out; what the gate must name first of all.
PLANTED = {
    "repeated_words: keep": (
        {},
        {"usable": 103_000, "reasons": {"repeated_word": 2_401, "format": 25_671}},
    ),
    "the encoder's prompt": ({"score": (0.41, 0.03)}, {"score": (0.38, 0.03)}),
    "another Juman++": (
        {},
        {"usable": 101_500, "reasons": {"not_noun": 16_000, "format": 13_572}},
    ),
    "truncation": (
        {},
        {"usable": 98_000, "score": (0.529, 0.0185), "words": 9_400},
    ),
    "another checkpoint": (
        {},
        {
            "usable": 112_000,
            "score": (0.531, 0.016),
            "words": 7_100,
            "reasons": {"format": 19_072},
        },
    ),
}


def papers_table(model):
    """The paper's own rows, as if they were a study's."""
    rows = []
    for line in load("dat_training"):
        if line["model"] in (None, model):
            told = {name: line[name] for name in PublishedFigures.__dataclass_fields__}
            summary = DatSummary(
                line["method"], ANSWERS, told["usable"], told["score"], told["std"],
                None, told["all_different_words"], {},
            )  # fmt: skip
            rows.append(Table11Row(summary, (), PublishedFigures(**told)))
    return Table11(tuple(rows), 1, model)


def read(random, base):
    """Rows of made-up figures beside the paper's."""
    rows = {}
    for row in papers_table("Swallow-8B").rows[:2]:
        name = row.summary.source
        told = RANDOM | random if name == "random" else HONEST | base
        mean, std = told["score"]
        summary = DatSummary(
            name, ANSWERS, told["usable"], mean, std, None, told["words"],
            told.get("reasons", {}),
        )  # fmt: skip
        rows[name] = replace(row, summary=summary)
    return rows


def told_by(rows, *, go_on=True):
    return list(gate(rows, GLUCOSE, "runs/base", go_on=go_on))


def test_the_tolerance_by_hand():
    base = half_widths(PublishedFigures(105_401, 0.524, 0.018, 8026))
    # p = 105,401 / 131,072 = 0.80414; 1.96 x sqrt(131,072 x 0.80414 x 0.19586) = 1.96 x 143.68.
    assert base["usable"] == pytest.approx(281.6, abs=0.1)
    assert base["score"] == pytest.approx(1.96 * 0.018 / 324.65, rel=1e-3)
    # A word is said or not, so that the variance of their number is at most their number.
    assert base["all_different_words"] == pytest.approx(1.96 * 8026**0.5)
    lines = list(papers_rows("Swallow-8B"))
    assert lines[1] == (
        "base: usable 105,401 ± 282 of 131,072, score 0.524 ± 0.0006, std 0.018 ± 0.0006, 8,026 ± 176 different words"
    )
    assert lines[0].startswith("random: usable 131,072 ± 0 of 131,072, score 0.555 ± ")
    assert "±" not in lines[2]
    assert not list(papers_rows(None))


def test_the_doubtful_cell_is_marked_where_it_is_printed():
    (line,) = [row for row in papers_rows("llm-jp-3-7.2b") if row.startswith("GRPO")]
    assert "(doubtful, perhaps 114,668" in line
    assert "doubtful" not in "".join(papers_rows("Qwen2.5-7B"))


def test_an_honest_study_goes_on():
    rows = read({}, {})
    (line,) = told_by(rows, go_on=False)
    assert line == (
        "base: usable lists by repeated_words: 105,300 with refuse and 106,800 with keep; the paper's 105,401 agree "
        "with refuse."
    )
    # 2 x sqrt(281.6² + 282.0²): the figures of two draws.
    usable, mean, *_ = figures(rows["base"])
    assert usable.difference == -101
    assert usable.room == pytest.approx(2 * np.hypot(281.6, 282.2), rel=1e-3)
    assert mean.room == pytest.approx(0.0005 + 2 * 2**0.5 * 1.96 * 0.018 / 324.6, 1e-3)
    assert not any(f.missed for row in rows.values() for f in figures(row))


@pytest.mark.parametrize("cause", PLANTED)
def test_the_gate_names_the_cause_that_was_planted_first(cause):
    rows = read(*PLANTED[cause])
    said = told_by(rows)
    explained = [line for line in said if line.startswith("would explain it: ")]
    assert explained[0].startswith(f"would explain it: {cause}"), said
    # What costs less to check stands before what costs more.
    order = [name for name in PLANTED for line in explained if name in line]
    assert order == sorted(order, key=list(PLANTED).index)
    assert [line for line in said if line.startswith("missed: ")]
    with refused("study: base misses the paper"):
        told_by(rows, go_on=False)


def test_the_gate_after_random_needs_no_base():
    rows = read(*PLANTED["the encoder's prompt"])
    with refused("study: random misses the paper"):
        told_by({"random": rows["random"]}, go_on=False)
    assert told_by({"random": read({}, {})["random"]}, go_on=False) == []


def test_a_missed_figure_says_by_how_much():
    (missed,) = [
        line for line in told_by(read(*PLANTED["another Juman++"])) if "missed" in line
    ]
    assert missed == (
        "missed: base, usable: here 101,500, the paper's 105,401 ± 282, difference -3,901, may differ by 818"
    )


def test_fewer_answers_widen_the_tolerance_and_compare_no_different_words():
    summary = DatSummary("base", 1024, 800, 0.52, 0.018, None, 5000, {})
    paper = PublishedFigures(105_401, 0.524, 0.018, 8026)
    found = {f.name: f for f in figures(Table11Row(summary, (), paper))}
    assert found.keys() == {"usable", "score", "std"}
    assert found["usable"].here == 800 / 1024 * ANSWERS
    assert found["usable"].room > 6_000
    nothing = DatSummary("base", 1024, 0, None, None, None, 0, {})
    (usable,) = figures(Table11Row(nothing, (), paper))
    assert usable.missed  # a base of which no list can be read stops the study
    trained = replace(summary, source="SFT")
    assert [f.room for f in figures(Table11Row(trained, (), paper))] == [None] * 3
    assert figures(Table11Row(summary, (), None)) == []


def test_both_counts_of_lists_that_say_a_word_twice():
    kept = DatSummary("base", ANSWERS, 106_800, 0.52, 0.018, None, 8000, {})
    row = Table11Row(kept, (), PublishedFigures(105_401, 0.5, 0.01, 8026), 1_400)
    assert by_repeated_words(row) == {"refuse": 105_400, "keep": 106_800}
    assert agreeing(row) == ["refuse"]


@pytest.mark.parametrize("model", ["Swallow-8B", "Qwen2.5-7B", "llm-jp-3-7.2b"])
def test_the_papers_own_rows_show_all_its_patterns_and_miss_nothing(model):
    table = papers_table(model)
    assert [row.summary.source for row in table.rows] == list(METHODS)
    seen = patterns(table)
    assert len(seen) == 4
    assert all(text.startswith("yes") for text in seen.values()), seen
    shown = beside_table(table.rows)
    assert len(shown.rows) == 24
    assert not any(f.difference or f.missed for r in table.rows for f in figures(r))
    assert re.search(r"the paper's [\d,]+ agree with refuse and keep\.", shown.notes[3])
