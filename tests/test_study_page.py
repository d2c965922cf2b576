"""The report: one page that loads nothing, shows everything, and never trusts what a model wrote."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sozo.data.evaluations import write_evaluations
from sozo.data.schema import Response
from sozo.data.study_folder import StudyRow
from sozo.eval.report.charts import Curve, curve_chart, score_chart, unique_words_chart
from sozo.tasks.dat.summary import DatSummary
from sozo.tasks.dat.table11 import Published, Table11, Table11Row
from study.curves import evaluation_charts
from study.page import write_report

EVIL = "<script>alert('x')</script>"
ROWS = [
    DatSummary("random nouns", 131_072, 116_800, 0.8811, 0.0164, (0.8810, 0.8812), 21_875, {"no_vector": 14_272}),
    DatSummary(f"before {EVIL}", 4096, 0, None, None, None, 0, {"format": 4096}),
    DatSummary("after", 4096, 4001, 0.86204, 0.02, (0.8614, 0.8626), 2875, {"not_noun": 95}),
]
SAMPLES = {
    "before": [Response(f"b{i}", "tiny", 1, f"はい\n{EVIL}\ud800", None, None, "format") for i in range(10)],
    "after": [Response(f"a{i}", "tiny", 1, EVIL, (EVIL, "犬"), 0.8123) for i in range(10)],
}
CURVES = [
    Curve("Mean DAT score", [1, 2, 3], [0.5, None, 0.7], 0.8811),
    Curve(f"cost in $ {EVIL} & $x_", [1, 2], [1.0, float("nan")]),
]


TABLE = Table11(
    (
        Table11Row(DatSummary("base", 4096, 3000, 0.87, 0.02, None, 900, {}), 850.4, ((1, 10.0), (2500, 850.4)), None),
        Table11Row(
            DatSummary(f"SFT{EVIL}", 4096, 2500, 0.88, 0.02, None, 950, {}),
            950.0,
            ((1, 10.0), (2500, 950.0)),
            Published(100_991, 0.538, 0.022, 17_614),
        ),
        Table11Row(DatSummary("GRPO", 4096, 0, None, None, None, 0, {}), None, (), None),
    ),
    2500,
    f"Swallow {EVIL}",
)


def report(path: Path, **changes: Any) -> str:
    arguments: dict[str, Any] = {
        "title": f"Report & {EVIL}",
        "rows": ROWS,
        "scores": {"random": np.linspace(0.8, 0.9, 99), f"before{EVIL}": [], "after": np.full(5, 0.86, np.float32)},
        "samples": SAMPLES,
        "curves": CURVES,
        "facts": {"Model": f"tiny {EVIL}", "Seed": "42"},
        **changes,
    }
    write_report(path, **arguments)
    return path.read_text("utf-8")


class Page(HTMLParser):
    """Tags, attributes and text of a page, with a check that every tag is closed in its turn."""

    VOID = ("meta", "use", "path", "rect", "wbr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_what_a_model_wrote_is_text_and_nothing_else(tmp_path: Path) -> None:
    page = report(tmp_path / "r.html")
    parsed = Page(page)
    assert parsed.tags.count("script") == page.count("<script") == 1  # the one that sorts tables
    text = "".join(parsed.words)
    # Title and heading, a fact, two tables, a legend, a curve; ten responses before, ten after with a word each.
    assert text.count(EVIL) == 2 + 1 + 2 + 1 + 1 + 10 + 20
    assert "\\ud800" in text


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    parsed = Page(report(tmp_path / "r.html"))
    for name, value in parsed.attributes:
        if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
            assert value.startswith(("#", "data:text/plain;charset=utf-8;base64,")), (name, value)
    assert not {"link", "img", "iframe", "object"} & set(parsed.tags)
    assert not re.search(r"@import|url\((?!#)", (tmp_path / "r.html").read_text("utf-8"))


def test_everything_is_on_the_page(tmp_path: Path) -> None:
    parsed = Page(report(tmp_path / "r.html"))
    text = re.sub(r"\s+", " ", " ".join(parsed.words))
    for expected in (
        "89.11% 116,800 of 131,072",
        "0.00% 0 of 4,096",
        "97.68% 4,001 of 4,096",
        "[0.8810, 0.8812]",
        "21,875",
        "0.8620",
        "100.00%",
        "Training step",
        "DAT score",
        "random (n = 99)",
        "Seed 42",
        "0.8123",
    ):
        assert expected in text, expected
    for row in [*SAMPLES["before"], *SAMPLES["after"]]:
        assert row.id in parsed.words
    assert parsed.tags.count("svg") == 3
    assert parsed.words.count("random nouns") == 3  # two tables, one legend


def test_sections_without_content_are_left_out(tmp_path: Path) -> None:
    parsed = Page(report(tmp_path / "r.html", rows=[], scores={}, samples={}, curves=[], facts={}))
    assert not {"table", "svg", "article", "dl"} & set(parsed.tags)


def test_charts_take_their_colours_from_the_page_and_keep_ids_apart() -> None:
    charts = [curve_chart(curve, i) for i, curve in enumerate(CURVES)] + [score_chart({"a": [0.5], "b": [0.5, 0.7]})]
    ids = [found for chart in charts for found in set(re.findall(r' id="([^"]+)"', chart))]
    assert len(ids) == len(set(ids))
    for chart in charts:
        assert "<text" in chart
        assert not re.search(r"#0[1-4]0[0-9a-f]{3}", chart)
        assert "var(--muted)" in chart
    assert "stroke-dasharray" in charts[0]
    assert "stroke: var(--baseline)" in charts[0]
    assert "var(--baseline)" not in charts[1]
    assert charts[0] == curve_chart(CURVES[0], 0)


def test_what_trainings_measured_as_they_went(tmp_path: Path) -> None:
    write_evaluations(tmp_path / "sft", {2: {"dat": 0.7, EVIL: 1.0}, 0: {"dat": 0.6}})
    write_evaluations(tmp_path / "grpo", {0: {"dat": 0.6}, 4: {"dat": 0.8}})
    models = {"base": "tiny", "SFT": str(tmp_path / "sft"), "GRPO": str(tmp_path / "grpo"), "random": None}
    charts = evaluation_charts({name: StudyRow(model, tmp_path) for name, model in models.items()})
    assert [(chart.measure, chart.rows) for chart in charts] == [("dat", ("SFT", "GRPO")), (EVIL, ("SFT", "GRPO"))]
    assert "var(--series-01)" in charts[0].svg
    parsed = Page(report(tmp_path / "r.html", evaluated=charts, curves=[]))
    assert parsed.tags.count("svg") == 3
    assert "While training" in parsed.words
    assert parsed.tags.count("script") == 1


def test_a_curve_needs_a_value_per_step() -> None:
    with pytest.raises(ValueError, match="2 steps but 1 values"):
        curve_chart(Curve("c", [1, 2], [0.5]), 0)


def test_a_study_stands_beside_the_paper(tmp_path: Path) -> None:
    page = report(tmp_path / "r.html", table=TABLE)
    parsed = Page(page)
    text = re.sub(r"\s+", " ", " ".join(parsed.words))
    for expected in (
        "Unique words in 2,500 valid",
        "850",
        "paper 0.538",
        "paper 100,991 (77.05%)",
        "paper 17,614",
        f"those of Swallow {EVIL};",
        "GRPO: valid responses up",
        "NO (73.24% to 0.00%)",
        "equal sample size",
        "Valid responses",
    ):
        assert expected in text, expected
    assert parsed.tags.count("svg") == 4


def test_the_chart_of_unique_words() -> None:
    chart = unique_words_chart({"a & b": [(1, 10.0), (2000, 900.0)], "none": []}, 1500)
    assert "a &amp; b, none" in chart
    assert "2,000" in chart
    assert "stroke: var(--baseline)" in chart
