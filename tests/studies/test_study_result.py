"""Claims judged by hand-worked intervals over seeds, the table over seeds, and the page that leads with the arms' picture."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from fakes import Answer, write_answer_table
from sentences import refused
from sozo.eval.findings import Findings
from sozo.eval.report.charts import Spot, scatter_chart
from sozo.scoring.second_encoder import GainParts, gain
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.studies.pages import standalone
from sozo.studies.study import page
from sozo.studies.study.claims import (
    FAILED,
    HELD,
    MEASURES,
    OPEN,
    Claim,
    judge,
    note_claims,
    when_noted,
)
from sozo.studies.study.config import load_study
from sozo.studies.study.page import to_markdown, write_page
from sozo.studies.study.result import StudyResult
from sozo.studies.study.steps import study_rows
from sozo.studies.study.table11 import HillNumbers, Table11, Table11Row, with_gains
from sozo.tasks.dat.summary import DatSummary
from study_pages import Page
from tiny_study import study_file

# Differences 1, 2, 3: mean 2, and half of the interval is 4.303 / sqrt(3) = 2.484.
VALUES = {
    "A": {0: 2.0, 1: 4.0, 2: 6.0},
    "B": {0: 1.0, 1: 2.0, 2: 3.0},
    "one": {0: 1.0},
    "none": {0: None, 1: 1.0},
}


def test_intervals_by_hand():
    paired = difference(VALUES["A"], VALUES["B"])
    assert (paired.value, paired.n, paired.base_n) == (2.0, 3, None)
    assert (paired.low, paired.high) == pytest.approx(
        (2 - 2.4841, 2 + 2.4841), abs=1e-4
    )
    assert over_seeds({5: 7.0}).low is None
    # Welch: variances 4 and 1 of three each, standard error sqrt(5 / 3), (5/3)^2 / (16/18 + 1/18) = 2.94 of freedom.
    apart = difference(
        VALUES["A"], {seed + 5: value for seed, value in VALUES["B"].items()}
    )
    assert (apart.value, apart.n, apart.base_n) == (2.0, 3, 3)
    assert apart.high - apart.value == pytest.approx(3.2188 * (5 / 3) ** 0.5, abs=1e-3)
    assert difference(VALUES["A"], {7: 1.0}).high is None
    assert over_seeds({0: 0.5, 1: 0.5}).reason == "2 seeds: an interval needs 3"
    assert over_seeds({0: 0.5, 1: 0.5, 2: 0.5}).reason == "all 3 seeds are equal"
    assert paired.p == pytest.approx(
        1 - 12**0.5 / 14**0.5
    )  # t = 2 sqrt(3); with two degrees p is 1 - t / sqrt(t^2 + 2)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"against": "B", "above": -0.5}, HELD),
        ({"against": "B", "above": 0.0}, OPEN),
        ({"against": "B", "above": 4.5}, FAILED),
        ({"against": "B", "at_least": 4.49}, FAILED),
        ({"against": "B", "at_least": 4.48}, OPEN),
        ({"at_least": -1.0}, HELD),  # 4 -+ 4.968
        ({"against": 10, "above": -0.5}, FAILED),
        ({"arm": "one", "above": 0.0}, OPEN),
        ({"against": "none", "above": 0.0}, OPEN),
        (
            {"against": "B", "within": 4.49},
            HELD,
        ),  # an equivalence: the whole interval lies inside
        ({"against": "B", "within": 4.48}, OPEN),
        ({"against": 10, "within": 1.0}, FAILED),  # -6 -+ 4.968
        ({"against": -5, "within": 4.0}, FAILED),
    ],
)
def test_a_claim_is_judged_by_its_interval(claim, verdict):
    (only,) = judge(
        [Claim(**{"name": "c", "arm": "A", "measure": "score", **claim})],
        {"score": VALUES},
    )
    assert only.verdict == verdict


def test_claims_share_one_error():
    """The p of each is Holm's, by the closed form of Student's distribution with two degrees of freedom."""
    claims = [
        Claim(name=f"c{k}", arm="A", measure="score", against="B", above=-8.0 + k)
        for k in range(4)
    ]
    alone = [judge([claim], {"score": VALUES})[0] for claim in claims]
    together = judge(claims, {"score": VALUES})
    # With two degrees of freedom P(T > t) = (1 - t / sqrt(t^2 + 2)) / 2, and t = (2 - bound) sqrt(3).
    by_hand = [
        (1 - t / (t * t + 2) ** 0.5) / 2 for t in ((10 - k) * 3**0.5 for k in range(4))
    ]
    assert [verdict.p for verdict in alone] == pytest.approx(by_hand)
    assert [verdict.p for verdict in together] == pytest.approx(
        [max(by_hand[i] * (4 - i) for i in range(k + 1)) for k in range(4)]
    )
    # A claim that nobody could test counts as one of them, too.
    (held, untested) = judge(
        [claims[0], Claim(name="c", arm="one", measure="score", above=0.0)],
        {"score": VALUES},
    )
    assert held.p == pytest.approx(2 * by_hand[0])
    assert (untested.verdict, untested.p) == (OPEN, None)


def test_what_holds_alone_is_open_beside_others():
    close = Claim(name="close", arm="A", measure="score", against="B", above=-0.5)
    (alone,) = judge([close], {"score": VALUES})
    first, *_ = judge([close] * 4, {"score": VALUES})
    assert (alone.verdict, first.verdict) == (HELD, OPEN)
    assert first.interval == alone.interval


def test_what_fails_alone_is_open_beside_others():
    """The p of the opposite is Holm's, too, for as many claims: 2.3% alone, and 9.3% beside three that hold."""
    short = Claim(name="short", arm="A", measure="score", against="B", at_least=4.6)
    margin = Claim(name="margin", arm="A", measure="score", against=10, within=1.0)
    others = [
        Claim(name=f"o{k}", arm="A", measure="score", against="B", above=-8.0 - k)
        for k in range(3)
    ]
    t = 2.6 * 3**0.5
    opposite = (1 - t / (t * t + 2) ** 0.5) / 2
    (alone,) = judge([short], {"score": VALUES})
    assert (alone.verdict, alone.p_opposite) == (FAILED, pytest.approx(opposite))
    assert alone.p == pytest.approx(1 - opposite)
    beside, *held = judge([short, *others], {"score": VALUES})
    assert (beside.verdict, beside.p_opposite) == (OPEN, pytest.approx(4 * opposite))
    assert beside.interval == alone.interval
    assert [verdict.verdict for verdict in held] == [HELD] * 3
    # Differences of -8, -6 and -4 from 10: below the margin of 1 by t = 5 sqrt(3) / 2 at most.
    t = 5 * 3**0.5 / 2
    (outside,) = judge([margin], {"score": VALUES})
    assert outside.p_opposite == pytest.approx((1 - t / (t * t + 2) ** 0.5) / 2)


CLAIM = {"name": "c", "arm": "A", "measure": "score", "above": 0}


@pytest.mark.parametrize(
    ("wrong", "row"),
    [
        ({"arm": "AA"}, "claims: no such arm"),
        ({"against": "C"}, "claims: no such arm against"),
        ({"measure": "median"}, "claims: no such measure"),
        (
            {"measure": "second encoder pairing", "against": "base"},
            "claims: difference from base already",
        ),
        ({"measure": None}, "claims: measure no text"),
        ({"at_least": 1.0}, "claims: two bounds"),
        ({"above": None, "within": 0.0}, "claims: margin of nothing"),
        ({"above": "0"}, "claims: bound a text"),
        ({"least": 1.0}, "claims: unknown key"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(wrong, row, tmp_path):
    with refused(row):
        load_study(study_file(tmp_path, arms={"A": {}}, claims=[CLAIM | wrong]))


def test_claims_are_five_at_most_and_others_exploratory(tmp_path):
    def read(**lines):
        return load_study(study_file(tmp_path, arms={"A": {}}, **lines))

    (claim,) = read(claims=[CLAIM]).claims
    assert claim.needs == "score of A above 0.0000"
    assert len(read(claims=[CLAIM] * 5).claims) == 5
    with refused("claims: too many"):
        read(claims=[CLAIM] * 6)
    with refused("claims: no list"):
        read(claims=CLAIM)
    with refused("exploratory: no such arm"):
        read(exploratory=[{"arm": "A", "measure": "score", "against": "C"}])


@pytest.mark.parametrize(
    ("second_encoder", "changes", "row"),
    [
        ("centred:ja-ginza", {}, "second encoder: scored by"),
        (
            "openai:a[x + y]",
            {"arms": {"base": {"embedding_model": "openai:a+e5"}}},
            "second encoder: in a consensus",
        ),
        (
            "e5+categories",
            {
                "arms": {
                    "far": {
                        "model": "frontier",
                        "frontier_encoder": "ja-ginza+categories",
                    }
                }
            },
            "second encoder: drawn by",
        ),
    ],
)
def test_a_second_encoder_that_the_study_uses_is_refused_when_the_yaml_is_read(
    second_encoder, changes, row, tmp_path
):
    with refused(row):
        load_study(study_file(tmp_path, second_encoder=second_encoder, **changes))
    assert load_study(
        study_file(tmp_path, second_encoder="openai:other", **changes)
    ).second_encoder


ARMS = {"base": {"seeds": [0]}, "GRPO": {"train": "grpo"}, "ours": {"train": "grpo"}}
CLAIMS = [
    {
        "name": "farther & <i>",
        "arm": "GRPO",
        "against": "base",
        "measure": "score",
        "above": 0.0,
    },
    {
        "name": "more words",
        "arm": "ours",
        "against": "GRPO",
        "measure": "different words",
        "at_least": 100,
    },
    {"name": "usable", "arm": "GRPO", "measure": "usable", "at_least": 0.98},
]
EXPLORATORY = [
    {"arm": "ours", "against": "GRPO", "measure": "score"},
    {"arm": "GRPO", "measure": "second encoder"},
]


def row(name, usable, mean, words, pairing=0.0):
    summary = DatSummary(
        name, 100, usable, mean, 0.1, None, 50, {}, {"pairing": pairing}
    )
    return Table11Row(
        summary, ((1, 10.0),), None, hill=HillNumbers(words, words, words)
    )


@pytest.fixture
def study(tmp_path):
    file = study_file(
        tmp_path,
        seeds=[0, 1, 2],
        arms=ARMS,
        claims=CLAIMS,
        exploratory=EXPLORATORY,
        num_answers=100,
    )
    return load_study(file, str(tmp_path / "o"))


@pytest.fixture
def result(study):
    rows = [row("base", 90, 0.88, 60.0)]
    rows += [
        row("GRPO", 99, 0.90, 40.0),
        row("GRPO@1", 92, 0.91, 44.0),
        row("GRPO@2", 94, 0.92, 42.0),
    ]
    rows += [row("ours", 99, 0.90, 250.0, 0.01), row("ours@1", 98, 0.92, 250.0, 0.01)]
    rows += [row("ours@2", 98, 0.94, 250.0, 0.01)]
    folders = {name: of.answers for name, of in study_rows(study).items()}
    return StudyResult(
        "Study <x>",
        folders,
        Table11(tuple(rows), 90, None),
        study=study,
    )


def test_the_table_over_seeds(result):
    values = result.to_json()
    grpo = values["arms"]["GRPO"]
    assert (grpo["seeds"], grpo["score"]["by_seed"]) == (
        [0, 1, 2],
        {0: 0.90, 1: 0.91, 2: 0.92},
    )
    # Half of the interval is 4.303 x 0.01 / sqrt(3).
    assert (grpo["score"]["value"], grpo["score"]["high"]) == pytest.approx(
        (0.91, 0.91 + 4.30265 * 0.01 / 3**0.5)
    )
    assert [claim["verdict"] for claim in values["claims"]] == [OPEN, HELD, OPEN]
    t = (208 - 100) / (2 / 3**0.5)
    # Two degrees of freedom, and three claims.
    assert values["claims"][1]["p"] == pytest.approx(
        3 * (1 - t / (t * t + 2) ** 0.5) / 2
    )
    assert values["exploratory"][0]["value"] == pytest.approx(0.01)
    assert "value" not in values["exploratory"][1]  # nobody measured a second encoder
    assert values["equal_size"] == 90
    assert values["arms"]["ours"]["pairing"]["value"] == pytest.approx(0.01)
    assert [values["rows"][k]["score"] for k in range(3)] == [0.88, 0.90, 0.91]
    # Nobody measured the others.
    assert result.measures == ["usable", "score", "different words", "pairing"]
    text = to_markdown(result)
    claim = r"\| more words +\| different words of ours minus GRPO at least 100 +\| \+208 \[\+203, \+213\], 3 seeds, paired"
    assert re.search(claim, text)
    assert "| cannot be said | not written down before |" in text
    assert re.search(
        r"\| GRPO +\| 3 +\| 95.0% \[86.0, 100.0\] +\| 0.9100 \[0.8852, 0.9348\] +\| 42 \[37, 47\]",
        text,
    )
    assert re.search(r"\| base +\| 1 +\| 90.0% +\| 0.8800 +\| 60 ", text)


def test_when_a_claim_was_written(study, tmp_path):
    first, second, third = study.claims
    note_claims(tmp_path, (first,))
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "metrics.json").write_text("{}")
    note_claims(tmp_path, (first, second))
    assert when_noted(tmp_path, first) == "before the first run"
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d UTC, when 1 steps were finished",
        when_noted(tmp_path, second),
    )
    changed = replace(first, above=-1.0)
    assert (
        when_noted(tmp_path, changed)
        == when_noted(tmp_path, third)
        == "not written down before"
    )


def test_gains_are_over_the_base_of_the_same_seed(tmp_path, monkeypatch):
    scores = {
        "base": [1.0, 2.0, 3.0],
        "base@1": [2.0, 4.0, 6.0],
        "GRPO": [3.0, 4.0, 5.0],
        "GRPO@1": [6.0, 8.0, 10.0],
    }
    arms = {"base": {}, "GRPO": {"train": "grpo"}}
    study = load_study(study_file(tmp_path, seeds=[0, 1], arms=arms), "o")
    folders = {name: of.answers for name, of in study_rows(study).items()}
    named = {folder: name for name, folder in folders.items()}
    monkeypatch.setattr(
        "sozo.studies.study.table11.usable_scores",
        lambda path: np.array(scores[named[path]]),
    )
    rows = tuple(row(name, 90, 0.9, 50.0) for name in scores)
    table = with_gains(Table11(rows, 90, None), folders, None, study.bases())
    gains = {
        row.summary.source: row.gains[0] and row.gains[0].value for row in table.rows
    }
    # Two of the base's standard deviations, which are 1 and 2.
    assert gains == {"base": None, "base@1": None, "GRPO": 2.0, "GRPO@1": 2.0}
    shown = StudyResult("gains", folders, table, study=study).to_json()["arms"]["GRPO"]
    assert shown["gain"]["value"] == 2.0


def test_parts_of_the_second_encoders_gain_are_measures():
    total = gain(np.arange(3.0), np.arange(3.0))
    numbers = {
        field.name: replace(total, value=float(k))
        for k, field in enumerate(fields(GainParts)[1:-1])
    }
    parts = GainParts(0.5, **numbers)
    of = replace(row("A", 90, 0.9, 50.0), gains=(None, parts.total), parts=parts)
    for measure, part in (
        ("second encoder", "total"),
        ("second encoder shuffled", "shuffled"),
        ("second encoder pairing", "pairing"),
    ):
        assert MEASURES[measure].value(of) == numbers[part]
    assert MEASURES["known pairs"].value(of) == 0.5


def test_four_lines_answer_by_the_first_claim(result, monkeypatch):
    asked = []
    monkeypatch.setattr(page, "find_evaluated", asked.append)
    monkeypatch.setattr(page, "findings", lambda _, base: Findings(base, [], {}))
    lines = page.four_lines(result)
    assert asked == [[result.study.output_dir]]
    claim = result.claims[0]
    assert lines[0].startswith(f"Did it work? {claim.claim.formula}: ")
    assert lines[0].endswith(f"; {claim.verdict}")
    assert lines[1] == (
        "Only hotter? not known (to compare, draw more temperatures: sampling)"
    )
    assert lines[3].startswith("What next? read the answers: sozo report ")
    assert page.four_lines(replace(result, study=None)) == []


def test_the_page_leads_with_the_arms_and_escapes(result, tmp_path):
    for folder in result.folders.values():
        answer = Answer("0", "m", 0, "text", ("犬", "猫"), 0.9)
        write_answer_table(folder / "answers" / "part-00000.parquet", [answer])
    write_page(tmp_path / "p.html", result)
    page = (tmp_path / "p.html").read_text("utf-8")
    parsed = Page(page)
    parsed.check_that_it_loads_nothing()
    assert "<x>" not in page
    assert "<i>" not in page.replace("<i style", "")
    assert parsed.tags.index("svg") < parsed.tags.index("table")
    for text in ("Study <x>", "held", "[0.8852, 0.9348]", "1. GRPO", "farther & <i>"):
        assert text in parsed.text, text
    claims = (tmp_path / "p-tables" / "claims.csv").read_text("utf-8-sig").splitlines()
    assert len(claims) == 1 + len(CLAIMS)
    assert (tmp_path / "p-tables" / "the-arms.csv").is_file()


def test_the_picture_shows_every_arm_and_every_seed():
    spots = [
        Spot("A & b", (10.0, 0.5), [(9.0, 0.4), (11.0, 0.6)], 1),
        Spot("C", (10.1, 0.5), [(10.1, 0.5)], 20),
    ]
    chart = scatter_chart(spots, "Words", "Mean", "salt")
    assert chart.count("<title>A &amp; b: ") == 3
    assert chart.count("<title>C: ") == 1  # one seed is the arm
    # The numbers that the page's keys give; colours begin again after ten.
    assert [spot.key for spot in spots] == [(1, "2. A & b"), (20, "21. C")]
    assert [chart.count(f">{number}</text>") for number in (2, 21)] == [1, 1]
    assert "var(--series-01)" in chart
    assert "var(--series-00)" in chart
    assert chart == scatter_chart(spots, "Words", "Mean", "salt")
    alone = standalone(chart).decode()
    assert alone.startswith("<svg")
    assert "xmlns=" in alone
    assert "--series-01: #2f6fde" in alone
