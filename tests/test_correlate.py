"""What the papers derived from their own tables: every verdict pinned, and the command as a user runs it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from data.published import load, load_text
from eval.correlate.derived import Derived, Verdict
from eval.correlate.published import derive_published
from eval.correlate.significance import significance
from eval.correlate.tables import same_models
from eval.correlate.text import to_json, to_markdown
from eval.statistics import holm, pearson
from eval.statistics.correlation import p_value
from eval.statistics.rounding import Printed


@pytest.fixture(scope="module")
def published():
    return derive_published()


def compared(published):
    return [row for row in published.derived if row.kind == "correlation" and row.difference is not None]


def test_the_verdicts(published):
    none = dict.fromkeys(map(str, Verdict), 0)
    assert published.counts() == {
        "mean": {**none, "agrees": 60},
        "correlation": {**none, "agrees": 38, "not printed": 3, "cannot be recomputed": 129},
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
    assert max(abs(row.difference) for row in compared(published)) == pytest.approx(0.0088, abs=5e-5)
    assert all(row.attainable for row in published.derived if row.attainable is not None)
    assert sum(row.attainable is not None for row in published.derived) == 99


def test_numbers_are_recomputed_from_the_right_columns(published):
    by_name = {(row.table, row.cell): row for row in published.derived}
    dat = [0.527, 0.530, 0.514, 0.494, 0.505]
    fluency, improvement = [4.10, 4.29, 4.16, 3.74, 3.91], [4.01, 3.80, 4.00, 3.64, 3.45]
    for cell, column, printed in (("All, fluency", fluency, 0.916), ("Improvement, mean", improvement, 0.633)):
        found = by_name["ACL 9", cell]
        assert found.recomputed == pytest.approx(np.corrcoef(column, dat)[0, 1], abs=1e-12)
        assert (found.printed.value, found.n, found.why) == (printed, 5, "5 models: the interval is wide")
        assert found.low < found.recomputed < found.high
    p = by_name["ACL 4.3.4", "DAT and SAT, p-value"]
    assert (p.printed.value, p.recomputed) == (0.021, pytest.approx(0.0212, abs=5e-5))
    assert p.low < p.recomputed < p.high
    # (4.10 + 4.28 + 2.73 + 3.47) / 4 = 3.645, printed 3.64.
    mean = by_name["ACL 3", "GPT-4o, mean"]
    assert mean.printed.value == 3.64
    assert by_name["ACL 12", "llm-jp-3-7.2b GRPO, mean"].recomputed == pytest.approx(23.2 / 7)
    assert by_name["ACL 23", "GPT-4o and people"].recomputed == pytest.approx(0.877, abs=5e-4)
    assert by_name["NLP 2025", "DAT and SAT"].recomputed == pytest.approx(0.869, abs=5e-4)
    cannot = [row for row in published.derived if row.verdict is Verdict.CANNOT]
    assert all("not printed" in row.source or "are printed" in row.source for row in cannot)
    # The inner cells of the three tables with JCQ do not contradict each other.
    whys = [row.why for row in cannot if row.why]
    assert len(whys) == 84
    assert set(whys) == {
        "some column of scores has the printed correlations of this cell in all of ACL 9, ACL 10, NLP 2025 9"
    }


def test_verdicts_by_hand():
    def verdict(printed, recomputed, low, high):
        return Derived("", "", "correlation", "", Printed(printed, 0.0005), recomputed, low, high).verdict

    assert verdict(0.91, 0.92, 0.9, 0.93) is Verdict.AGREES  # 0.01 exactly
    assert verdict(0.90, 0.92, 0.9, 0.93) is Verdict.WITHIN_ROUNDING
    assert verdict(0.8996, 0.92, 0.9, 0.93) is Verdict.WITHIN_ROUNDING  # rounds to 0.9001
    assert verdict(0.88, 0.92, 0.9, 0.93) is Verdict.DIFFERS
    assert Derived("", "", "mean", "", None, 0.5, 0.4, 0.6).verdict is Verdict.NOT_PRINTED
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
        return all(f"{round(float(figure) * 5 * stories) / (5 * stories):.3f}" == figure for figure in figures)

    assert [stories for stories in range(90, 121) if possible(stories)] == [113, 119]
    assert sum(row["human"] for row in load("sat_eleven_models")) == pytest.approx(5.5, abs=0.0055)


def test_the_page_says_what_the_numbers_say(published):
    page = to_markdown(published)
    assert "Rounding determines 5 of 38 compared correlations; 5 of these are within 0.01" in page
    assert "Furthest from the printed value: -0.0088 (ACL 9: All, mean)." in page
    assert "126 of 126 marks agree" in page
    assert "- ACL 8, 40 values: neither the people's ratings" in page
    (line,) = [line for line in page.splitlines() if "DAT and SAT (from ACL 6, ACL 7)" in line]
    assert [cell.strip() for cell in line.split("|")[3:-1]] == [
        *("0.933", "0.9317", "-0.0013", "0.9193 to 0.9428", "agrees", "0.28 to 1.00"),
    ]
    assert "-0.0000" not in page
    values = to_json(published)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert len(values["derived"]) == len(published.derived) == 231


def run_correlate(*arguments):
    command = [sys.executable, "-m", "eval", "correlate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def test_the_command(tmp_path):
    out = tmp_path / "out"
    first = run_correlate("--published", "--output", out)
    assert (first.returncode, first.stderr) == (0, "")
    page = (out / "correlate.md").read_text("utf-8")
    assert page in first.stdout
    metrics = json.loads((out / "metrics.json").read_text("utf-8"))
    assert metrics == json.loads((out / "correlate.json").read_text("utf-8"))["counts"]
    assert metrics["correlation"]["agrees"] == 38
    assert json.loads((out / "config.json").read_text("utf-8"))["settings"]["task"] == "correlate"
    again = run_correlate("--published", "--output", out)
    assert again.returncode == 0
    assert "finished before" in again.stdout
    assert page in again.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        "config.json",
        "correlate.json",
        "correlate.md",
        "metrics.json",
    ]


@pytest.mark.parametrize("case", ["no --published", "a file", "another run"])
def test_what_a_user_gets_wrong_is_one_line(tmp_path, case):
    arguments = ["--output", tmp_path] if case == "no --published" else ["--published", "--output", tmp_path / "x"]
    if case == "a file":
        (tmp_path / "x").write_text("")
    elif case == "another run":
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "config.json").write_text('{"format": 1, "settings": {"task": "dat"}, "loaded": {}}')
    done = run_correlate(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    expected = {"no --published": "or --published", "a file": "is a file", "another run": 'task = "dat"'}
    assert done.stderr.startswith("error: ")
    assert expected[case] in done.stderr


def test_the_doubts_are_facts(published):
    # data/published/README.md says these.
    for name, marked, left in (("jcq_dat_correlation", 6, {}), ("jcq_sat_correlation", 10, {"Unusual Uses": 0.034})):
        rows = load(name)
        corrected = holm([p_value(row["pearson"], 5) for row in rows])
        assert sum(row["p_below_0.05"] == "yes" for row in rows) == marked
        found = {row["task"]: round(p, 3) for row, p in zip(rows, corrected, strict=True) if p < 0.05}
        assert found == left
    early = pearson(*([row["score"] for row in load(name)] for name in ("nlp2025_dat", "nlp2025_sat")))
    assert (round(early.r, 3), round(early.p, 3)) == (0.869, 0.056)
    halves = [(row.high - row.low) / 2 for row in compared(published) if row.table == "ACL 9"]
    assert (min(halves), max(halves)) == (pytest.approx(0.0155, abs=5e-4), pytest.approx(0.0495, abs=5e-4))
