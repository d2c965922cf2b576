"""Several training seeds in the report and in `compare`: one row, its interval over the seeds, the seeds below it."""

import math
import re

import pytest

from finished_runs import jcq_run
from pages import read_packed
from sozo.eval.evaluated import Evaluated, find_evaluated
from sozo.eval.findings import findings
from sozo.eval.report.evaluation_page import write_evaluation
from sozo.eval.seeds import fold
from sozo.tasks.jcq.questions import trial_questions

QUESTIONS = trial_questions()


def jcq(folder, names):
    """JCQ by models: name -> how many of the first questions get 5 for originality, all else being 3."""
    for name, better in names.items():
        jcq_run(
            folder / name,
            name,
            str,
            lambda q, n=better: (3, 3, 3 + 2 * (QUESTIONS.index(q) < n), 3),
        )
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return jcq(
        tmp_path_factory.mktemp("seeds"),
        {"base": 0, "SFT": 7, "SFT@1": 14, "SFT@2": 21},
    )


def differences_of(folder, base=None):
    """Finding by model and measure."""
    rows = findings(find_evaluated([str(folder)]), base).rows
    return {(row.model, row.measure.name): row for row in rows if row.base}


def test_one_run_of_the_base_by_hand(runs):
    # Of 35 questions 7, 14 and 21 gain 2: 0.4, 0.8 and 1.2, of which t is 0.8 / (0.4 / sqrt(3)) with two degrees.
    row = differences_of(runs, "base")["SFT", "jcq/originality"]
    change = row.estimate
    assert (row.base, change.n, row.seeds, row.counted, row.below) == (
        "base",
        3,
        3,
        "seeds",
        ("from one run",),
    )
    assert (change.value, change.high) == pytest.approx(
        (0.8, 0.8 + 4.3027 * 0.4 / math.sqrt(3)), abs=1e-4
    )
    assert change.p == pytest.approx(1 - math.sqrt(12 / 14))
    assert change.sign == 0


def test_the_two_numbers_of_a_difference_are_those_that_were_subtracted(tmp_path):
    numbers = {
        "A@0": 0,
        "A@1": 7,
        "A@2": 14,
        "B@0": 7,
        "B@1": 21,
        "B@2": 21,
        "B@3": 35,
        "C@7": 7,
        "C@8": 14,
        "C@9": 28,
    }
    rows = differences_of(jcq(tmp_path, numbers), "A")
    for name, how, value, base_value in (
        ("B", "paired", 3 + 2 * 49 / 105, 3 + 2 * 21 / 105),  # B@3 has no partner
        ("C", "not paired", 3 + 2 * 49 / 105, 3 + 2 * 21 / 105),
    ):
        row = rows[name, "jcq/originality"]
        assert (row.below, row.value, row.base_value) == (
            (how,),
            pytest.approx(value),
            pytest.approx(base_value),
        )
        assert row.estimate.value == pytest.approx(value - base_value)


def test_the_reader_lists_a_method_once_and_each_seed(runs, tmp_path):
    write_evaluation(tmp_path / "r.html", find_evaluated([str(runs)]), base="base")
    page = (tmp_path / "r.html").read_text("utf-8")
    boxes = re.findall(
        r'type="checkbox" value="\d".*?<span>([^<]+)</span>', page.replace("<wbr>", "")
    )
    assert read_packed(page)["models"] == boxes == ["base", "SFT", "SFT@1", "SFT@2"]


def test_what_is_no_number_behind_a_name_is_no_seed():
    names = ["A@large", "A@small", "@1", "@2"]
    assert [
        method.name for method in fold([Evaluated(name) for name in names])
    ] == names


def test_one_seed_is_no_method(tmp_path):
    models = find_evaluated([str(jcq(tmp_path, {"base": 0, "SFT@1": 7}))])
    assert [method.name for method in fold(models)] == ["base", "SFT@1"]
