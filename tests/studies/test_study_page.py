"""A study's page: claims by hand-worked intervals over seeds, rows and arms, four lines; never trusting what a model wrote."""

import re
from dataclasses import replace

import pytest

from fakes import Answer, write_answer_table
from sentences import refused
from sozo.eval.curve import CURVE
from sozo.eval.findings import Finding, Findings
from sozo.eval.report.charts import ridge_chart, steps_chart
from sozo.scoring.measure import DIFFERENCE, Estimate, Measure
from sozo.studies.study import page
from sozo.studies.study.claims import (
    FAILED,
    HELD,
    OPEN,
    Claim,
    judge,
    note_claims,
    when_noted,
)
from sozo.studies.study.config import load_study
from sozo.studies.study.page import StudyResult, tables_result, write_result
from sozo.studies.study.table11 import Table11, Table11Row, table11
from sozo.tasks.dat.summary import DatSummary
from study_pages import Page
from tiny_study import study_file
from written_tables import write

# Differences 1, 2, 3: mean 2, and half of the interval is 4.303 / sqrt(3) = 2.484.
VALUES = {
    "A": {0: 2.0, 1: 4.0, 2: 6.0},
    "B": {0: 1.0, 1: 2.0, 2: 3.0},
    "far": {0: 8.0, 1: 10.0, 2: 13.0},
    "one": {0: 1.0},
    "none": {0: None, 1: 1.0},
}


def judged(*claims):
    own = [
        Claim(**{"name": "c", "arm": "A", "measure": "score", **one}) for one in claims
    ]
    return judge(own, {"score": VALUES})


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"against": "B", "above": -0.5}, HELD),
        ({"against": "B", "above": 0.0}, OPEN),
        ({"against": "B", "above": 4.5}, FAILED),
        ({"against": "B", "at_least": 4.49}, FAILED),
        ({"against": "B", "at_least": 4.48}, OPEN),
        ({"at_least": -1.0}, HELD),  # 4 -+ 4.968
        ({"above": 9.5}, FAILED),
        ({"arm": "one", "above": 0.0}, OPEN),
        ({"against": "none", "above": 0.0}, OPEN),
        # An equivalence: the whole interval lies inside.
        ({"against": "B", "within": 4.49}, HELD),
        ({"against": "B", "within": 4.48}, OPEN),
        ({"against": "far", "within": 1.0}, FAILED),  # -6.33 -+ 1.43
        ({"arm": "far", "against": "A", "within": 4.0}, FAILED),
    ],
)
def test_a_claim_is_judged_by_its_interval(claim, verdict):
    (only,) = judged(claim)
    assert only.verdict == verdict


def test_claims_share_one_error():
    """The p of each and of its opposite is Holm's, by the closed form of Student's distribution with two degrees."""
    # With two degrees of freedom P(T > t) = (1 - t / sqrt(t^2 + 2)) / 2, and t = (2 - bound) sqrt(3).
    by_hand = [
        (1 - t / (t * t + 2) ** 0.5) / 2 for t in ((10 - k) * 3**0.5 for k in range(4))
    ]
    together = judged(*({"against": "B", "above": -8.0 + k} for k in range(4)))
    assert [verdict.p for verdict in together] == pytest.approx(
        [max(by_hand[i] * (4 - i) for i in range(k + 1)) for k in range(4)]
    )
    # A claim that nobody could test counts as one of them, too.
    held, untested = judged(
        {"against": "B", "above": -8.0}, {"arm": "one", "above": 0.0}
    )
    assert held.p == pytest.approx(2 * by_hand[0])
    assert (untested.verdict, untested.p) == (OPEN, None)
    # What fails alone is open beside three others.
    short = {"against": "B", "at_least": 4.6}
    t = 2.6 * 3**0.5
    opposite = (1 - t / (t * t + 2) ** 0.5) / 2
    (alone,) = judged(short)
    assert (alone.verdict, alone.p_opposite) == (FAILED, pytest.approx(opposite))
    beside, *_ = judged(short, *[{"against": "B", "above": -8.0}] * 3)
    assert (beside.verdict, beside.p_opposite) == (OPEN, pytest.approx(4 * opposite))


CLAIM = {"name": "c", "arm": "A", "measure": "score", "above": 0}


@pytest.mark.parametrize(
    ("wrong", "row"),
    [
        ({"arm": "AA"}, "claims: no such arm"),
        ({"measure": "median"}, "claims: no such measure"),
        ({"at_least": 1.0}, "claims: two bounds"),
        ({"above": None, "within": 0.0}, "claims: margin of nothing"),
        ({"above": "0"}, "claims: bound a text"),
        ({"least": 1.0}, "claims: unknown key"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(wrong, row, tmp_path):
    with refused(row):
        load_study(study_file(tmp_path, arms={"A": {}}, claims=[CLAIM | wrong]))
    assert load_study(study_file(tmp_path, arms={"A": {}}, claims=[CLAIM])).claims


@pytest.mark.parametrize(
    ("second_encoder", "changes", "row"),
    [
        ("centred:ja-ginza", {}, "second encoder: scored by"),
        (
            "openai:a[x + y]",
            {"arms": {"base": {"embedding_model": "openai:a+e5"}}},
            "second encoder: in a consensus",
        ),
    ],
)
def test_a_second_encoder_that_the_study_uses_is_refused_when_the_yaml_is_read(
    second_encoder, changes, row, tmp_path
):
    with refused(row):
        load_study(study_file(tmp_path, second_encoder=second_encoder, **changes))


def row(name, usable, mean, words, pairing=0.0):
    summary = DatSummary(
        name, 100, usable, mean, 0.1, None, 50, {}, {"pairing": pairing}
    )
    return Table11Row(summary, {}, different_words=words)


@pytest.fixture
def study(tmp_path):
    claims = [
        CLAIM | {"name": "farther & <i>", "arm": "GRPO", "against": "base"},
        {"name": "more words", "arm": "ours", "measure": "different words"}
        | {"against": "GRPO", "at_least": 100},
        {"name": "usable", "arm": "GRPO", "measure": "usable", "at_least": 0.98},
    ]
    arms = {"base": {"seeds": [0]}, "GRPO": {"train": "grpo"}, "ours": {}}
    exploratory = [{"arm": "GRPO", "measure": "second encoder"}]
    changes = {"seeds": [0, 1, 2], "arms": arms, "claims": claims}
    file = study_file(tmp_path, exploratory=exploratory, **changes)
    return load_study(file, str(tmp_path / "o"))


@pytest.fixture
def result(study):
    rows = [row("base", 90, 0.88, 60.0), row("GRPO", 99, 0.90, 40.0)]
    rows += [row("ours", 99, 0.90, 250.0), row("GRPO@1", 92, 0.91, 44.0)]
    rows += [row("ours@1", 98, 0.92, 250.0), row("GRPO@2", 94, 0.92, 42.0)]
    rows += [row("ours@2", 98, 0.94, 250.0)]
    return StudyResult("Study <x>", Table11(tuple(rows), 90), study=study)


def test_the_table_over_seeds(result):
    values = result.to_json()
    score = values["arms"]["GRPO"]["score"]
    assert result.values["score"]["GRPO"] == {"": 0.90, "@1": 0.91, "@2": 0.92}
    # Half of the interval is 4.303 x 0.01 / sqrt(3).
    assert (score["value"], score["high"]) == pytest.approx(
        (0.91, 0.91 + 4.30265 * 0.01 / 3**0.5)
    )
    *claims, exploratory = values["claims"]
    assert [claim["verdict"] for claim in claims] == [OPEN, HELD, OPEN]
    # Two degrees of freedom, and three claims.
    t = (208 - 100) / (2 / 3**0.5)
    assert claims[1]["p"] == pytest.approx(3 * (1 - t / (t * t + 2) ** 0.5) / 2)
    # Nobody measured a second encoder.
    assert exploratory["interval"]["value"] is None
    text = page.to_markdown(result)
    assert "| Second encoder" not in text
    claim = r"\| more words +\| different words of ours minus GRPO at least 100 +\| \+208 \[\+203, \+213\], n = 3 "
    assert re.search(claim, text)
    assert re.search(r"\| GRPO +\| 100, n = 3.*\| 95.0% \[86.0, 100.0\], n = 3", text)
    assert re.search(r"\| base +\| 100 +\| 90.0%, 90 of 100 +\| 0.8800 ", text)


def test_what_is_claimed_before_the_first_run_is_told_apart(study, tmp_path):
    first, second, _ = study.claims
    note_claims(tmp_path, [first])
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "metrics.json").write_text("{}")
    note_claims(tmp_path, [first, second])
    told = [when_noted(tmp_path, one) for one in (first, second)]
    assert told == ["before the first run", "later"]
    assert when_noted(tmp_path, replace(first, above=-1.0)) == "later"


def test_gains_are_over_the_base_of_the_same_seed(tmp_path):
    scores = {"base": (1, 2, 3), "base@1": (2, 4, 6)}
    scores |= {"GRPO": (3, 4, 5), "GRPO@1": (6, 8, 10)}
    arms = {"base": {}, "GRPO": {"train": "grpo"}}
    study = load_study(study_file(tmp_path, seeds=[0, 1], arms=arms), "o")
    folders = {
        name: write(tmp_path / name, [("犬", float(one)) for one in own])
        for name, own in scores.items()
    }
    table = table11(folders, bases=study.bases())
    gains = {row.summary.source: row.gain and row.gain.value for row in table.rows}
    # Two of the base's standard deviations, which are 1 and 2.
    assert gains == {"base": None, "base@1": None, "GRPO": 2.0, "GRPO@1": 2.0}
    assert StudyResult("", table).over("gain", "GRPO").value == 2.0


def finding(name, base_value, *difference, kind=DIFFERENCE, better=1):
    """Of GRPO beside its base, as `findings` has it."""
    known, task = Measure(name, share=True, better=better), name.partition("/")[0]
    where = ("GRPO", "base", task, known.short, name, known, kind)
    return Finding(*where, Estimate(*difference), base_value=base_value, first=True)


def test_four_lines_answer_by_the_first_claim(result, study, monkeypatch):
    rows = []
    monkeypatch.setattr(page, "find_evaluated", list)
    monkeypatch.setattr(page, "findings", lambda _, base: Findings(base, rows, {}))
    study = replace(study, control_tasks={"general": {}})
    result = replace(result, study=study)
    worked, hotter, lost, following = page.four_lines(result)
    first = result.claims[0]
    assert worked.startswith(f"Did it work? {first.claim.formula}: ")
    assert worked.endswith(f"; {first.verdict}")
    assert hotter.startswith("Only hotter? not known; to compare, draw colder ")
    assert hotter.endswith(f" in {study.file}")
    assert lost.endswith(" not known")
    assert following.startswith("What next? read the answers: sozo report ")
    assert page.four_lines(replace(result, study=None)) == []
    one = replace(result, table=replace(result.table, rows=result.table.rows[:3]))
    rows += [finding("dat/curve", 0.8, 0.1, 0.05, 0.15, kind=CURVE)]
    rows += [finding("general", 0.0, 0.0, -0.1, 0.1)]
    rows += [finding("general/short", 0.0, 0.4, 0.3, 0.5, better=-1)]
    rows += [finding("dat/usable", 0.9, -0.4, -0.5, -0.3)]
    worked, hotter, lost, following = page.four_lines(one)
    assert re.search(r"\+0.0200; GRPO 0.9000; base 0.8800; each is one", worked)
    assert hotter.startswith("Only hotter? above base's curve: ")
    assert "draw" not in hotter
    assert lost.count("so nothing could be lost") == 1
    again = f"sozo study {study.file} --model {study.model} --output {study.output_dir}"
    # What got worse comes before seeds.
    assert following.startswith("What next? dat/usable, general/short got worse: first")
    assert following.endswith(f"{again}-lower")
    del rows[2:]
    following = page.four_lines(one)[-1]
    assert following.endswith(f"seeds: [1, 2, 3] in the file, then {again}")


EVIL = "<script>alert('x')</script>"


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "four_lines", lambda _: [f"A line {EVIL}"])

    def shown(result):
        write_result(tmp_path / "out", result, "result")
        return Page((tmp_path / "out" / "report.html").read_text("utf-8"))

    return shown


def test_what_a_model_wrote_is_text_and_nothing_else(shown, tmp_path):
    folder = tmp_path / "answers"
    answers = [Answer(f"{k}", "m", 0, EVIL, ("犬", EVIL), 0.5) for k in range(3)]
    answers.append(Answer("x", "m", 0, EVIL, None, None, "format"))
    write_answer_table(folder / "answers" / "part-00000.parquet", answers)
    folders = {"base": folder, f"SFT{EVIL}": folder}
    result = tables_result(f"Report & {EVIL}", folders, "Swallow-8B")
    parsed = shown(result)
    parsed.check_that_it_loads_nothing()
    assert parsed.tags.count("script") == 1  # sorts tables
    # Title, heading, the line; the row's name in the table, at its spot and in the spot's key.
    assert "".join(parsed.words).count(EVIL) == 3 + 3
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page.count("<script") == 1
    assert not re.search(r"@import|url\((?!#)", page)
    for expected in (
        "75.0% 3 of 4",
        "Swallow-8B base 105401 0.524",
        "105,401 ± 282",
    ):
        assert expected in parsed.text, expected


def test_the_page_leads_with_the_arms_and_escapes(result, shown):
    parsed = shown(result)
    assert "<x>" not in parsed.text.replace("Study <x>", "")
    assert parsed.tags.index("svg") < parsed.tags.index("table")
    for text in ("Study <x>", "held", "[0.8852, 0.9348]", "2. GRPO", "farther & <i>"):
        assert text in parsed.text, text


def test_charts_keep_ids_apart():
    lines = {"a": {1: 0.5, 2: float("nan"), 3: 0.7}}
    charts = [steps_chart(name, lines, k) for k, name in enumerate(("a", f"$ {EVIL}"))]
    charts.append(ridge_chart({"a": [0.5], "b": [0.5, 0.7]}, "s", "score"))
    ids = [one for chart in charts for one in {*re.findall(r' id="([^"]+)"', chart)}]
    assert len(ids) == len(set(ids))
    assert EVIL not in charts[1]
