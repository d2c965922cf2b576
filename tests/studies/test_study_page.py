"""The page of a study: it loads nothing, shows everything, and never trusts what a model wrote."""

import re
from dataclasses import replace

import pytest

from fakes import Answer, write_answer_table
from sozo.data.evaluations import write_evaluations
from sozo.data.study_folder import StudyRow
from sozo.eval.report.charts import ridge_chart, steps_chart
from sozo.studies.study.charts import different_words_chart
from sozo.studies.study.page import write_page
from sozo.studies.study.result import StudyResult, evaluations
from sozo.studies.study.table11 import table11
from study_pages import Page

EVIL = "<script>alert('x')</script>"
SAMPLES = 3


def usable(number, *words):
    return Answer(f"v{number}", "m", 0, f"{EVIL}\ud800", words, 0.5 + number / 10)


def unusable(number):
    return Answer(f"x{number}", "m", 0, f"はい\n{EVIL}", None, None, "format")


@pytest.fixture
def result(tmp_path):
    rows = {
        "base": [
            usable(0, "犬", "猫"),
            usable(1, "水", EVIL),
            unusable(0),
            unusable(1),
        ],
        f"SFT{EVIL}": [unusable(k) for k in range(4)],
        "GRPO": [
            usable(2, "犬", "猫"),
            usable(3, "犬", "猫"),
            usable(4, "犬", "猫"),
            unusable(2),
        ],
    }
    folders = {name: tmp_path / f"row{number}" for number, name in enumerate(rows)}
    for name, answers in rows.items():
        write_answer_table(folders[name] / "answers" / "part-00000.parquet", answers)
    facts = {"Model": f"tiny {EVIL}", "Seed": "42"}
    table = table11(folders, "Swallow-8B")
    return StudyResult(f"Report & {EVIL}", folders, table, facts)


@pytest.fixture
def shown(tmp_path):
    def write(result):
        write_page(tmp_path / "r.html", result)
        return Page((tmp_path / "r.html").read_text("utf-8"))

    return write


def test_what_a_model_wrote_is_text_and_nothing_else(result, shown, tmp_path):
    page = shown(result)
    assert (
        page.tags.count("script")
        == (tmp_path / "r.html").read_text("utf-8").count("<script")
        == 1
    )  # sorts tables
    text = "".join(page.words)
    # Title, heading and a fact; the row's name in two tables, two legends and above its answers.
    # Then a text for each answer that is shown, and the word.
    assert text.count(EVIL) == 3 + 5 + 3 * SAMPLES + 1
    assert "\\ud800" in text
    page.check_that_it_loads_nothing()
    assert not re.search(
        r"@import|url\((?!#)", (tmp_path / "r.html").read_text("utf-8")
    )


def test_rows_and_reasons_are_on_the_page_beside_the_paper(result, shown):
    page = shown(result)
    for expected in (
        "75.0% 3 of 4",
        "0.8000 [0.5516, 1.0484]",
        "Swallow-8B base 105401 0.524",
        "105,401 ± 282",
        "4 100.0%",
        "GRPO (n = 3)",
        "Seed 42",
    ):
        assert expected in page.text, expected
    assert set(result.folders) <= set(page.words)
    assert page.tags.count("svg") == 2
    for absent in ("While training", "Claims", "What the mean is made of"):
        assert absent not in page.text


def test_instruments_stand_beside_the_base(result, shown):
    rows = list(result.table.rows)
    for number, value in ((0, 0.01), (2, 0.03)):
        instruments = {"pairing": value, "pairing_se": 0.001}
        rows[number] = replace(
            rows[number], summary=replace(rows[number].summary, instruments=instruments)
        )
    result = replace(result, table=replace(result.table, rows=tuple(rows)))
    page = shown(result)
    assert "0.0300 [0.0280, 0.0320] +0.0200 [+0.0172, +0.0228]" in page.text
    difference, error = result.to_json()["rows"][2]["from_base"]["pairing"]
    assert (difference, error) == pytest.approx((0.02, 0.002**0.5 / 1000**0.5))
    assert result.to_json()["rows"][0]["from_base"] == {}


def test_what_trainings_measured_as_they_went(result, shown, tmp_path):
    write_evaluations(tmp_path / "sft", {2: {"dat": 0.7, EVIL: 1.0}, 0: {"dat": 0.6}})
    write_evaluations(tmp_path / "grpo", {0: {"dat": 0.6}, 4: {"dat": 0.8}})
    models = {
        "base": "tiny",
        "SFT": str(tmp_path / "sft"),
        "GRPO": str(tmp_path / "grpo"),
        "random": None,
    }
    measured = evaluations(
        {name: StudyRow(model, tmp_path) for name, model in models.items()}
    )
    # Every chart has all rows, so that a row has the same colour in each.
    assert measured["dat"] == {"SFT": {0: 0.6, 2: 0.7}, "GRPO": {0: 0.6, 4: 0.8}}
    assert measured[EVIL] == {"SFT": {2: 1.0}, "GRPO": {}}
    page = shown(replace(result, evaluations=measured))
    assert page.tags.count("svg") == 2 + 2


def test_charts_keep_ids_apart():
    lines = {"a": {1: 0.5, 2: float("nan"), 3: 0.7}}
    charts = [
        steps_chart(name, lines, number)
        for number, name in enumerate(("score", f"cost in $ {EVIL} & $x_"))
    ]
    charts.append(ridge_chart({"a": [0.5], "b": [0.5, 0.7]}, "s", "score"))
    ids = [
        name for chart in charts for name in set(re.findall(r' id="([^"]+)"', chart))
    ]
    assert len(ids) == len(set(ids))
    assert EVIL not in charts[1]
    assert charts[0] == steps_chart("score", lines, 0)


def test_the_chart_of_different_words():
    chart = different_words_chart(
        {"a & b": [(1, 10.0), (2000, 900.0)], "none": []}, 1500
    )
    assert "a &amp; b, none" in chart
    assert "2,000" in chart
    assert "stroke: var(--baseline)" in chart
