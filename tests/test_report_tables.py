"""Cells and tables of the report: differences that nobody misreads, colour that is earned, no tables of dashes."""

import ast
import re
from collections import Counter
from itertools import chain

import pytest
import yaml

import house
from sozo.data.schema import Reason
from sozo.eval.compare import Change
from sozo.eval.report import source
from sozo.eval.report.cells import change_cell, with_change
from sozo.eval.report.labels import both, english, labels, states, wording
from sozo.eval.report.plane import Spot, plane_chart
from sozo.eval.report.tables import without_empty
from sozo.scoring.final_text import STATES
from sozo.scoring.judges.protocol import Status
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import cost_line, n_of
from sozo.scoring.statistics import compare_independent, mean_interval
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.sat.compliance import Extra

SHARE, SCORE, LESS = Measure("a/valid", share=True), Measure("a", 2), Measure("a/copied", 2, better=-1)


def change(difference, *, effect, half=0.01):
    ends = (difference - half, difference + half)
    names = {"model": "after", "base": "before", "column": "a"}
    return Change(9, 9, difference, *ends, effect=effect, **names)


def test_a_difference_of_shares_is_percentage_points():
    cell = change_cell(change(0.05, effect=0.5), SHARE)
    assert (cell.text, cell.lines[0]) == ("+5.00 pp", "[+4.00, +6.00 pp]")
    below = with_change(Cell(0.25, SHARE), change(-0.05, effect=-0.5), SHARE).change
    assert (below.text, below.interval) == ("−5.00 pp", "[−6.00, −4.00 pp]")
    assert change_cell(change(0.05, effect=0.5), SCORE).text == "+0.05"


@pytest.mark.parametrize(
    ("effect", "half", "measure", "mark"),
    [
        (0.9, 0.01, SCORE, "significant good deep"),
        (0.3, 0.01, SCORE, "significant good"),
        (0.1, 0.01, SCORE, "significant"),  # certain, and negligible: a star, no colour
        (0.9, 0.06, SCORE, ""),  # large, and not certain
        (0.3, 0.01, LESS, "significant bad"),
        (0.3, 0.01, Measure("a", 2, better=0), "significant"),
    ],
)
def test_colour_is_for_effect_and_certainty_together(effect, half, measure, mark):
    assert change_cell(change(0.02, effect=effect, half=half), measure).mark == mark


def test_what_stands_beside_numbers_is_said_in_japanese_too():
    reasons = [mean_interval([1, 2]).reason, mean_interval([2.0, 2.0]).reason, mean_interval([]).reason]
    reasons += [compare_independent([1], [2, 3]).reason, over_seeds({0: 1.0}).reason]
    assert not [reason for reason in reasons if wording(reason)[1] == reason]
    scale = translatable("{name} is {one} and {other}", name="judge.model", one="a", other="refused")
    apart = translatable("not on one scale: {reason}", reason=scale)
    assert wording(apart) == (
        "not on one scale: judge.model is a and refused",
        "尺度が異なる：judge.model は a と refused",
    )
    counts = [translatable("{n:,} {status}", n=1200, status=translatable(status)) for status in ("refused", "<odd>")]
    none = both(translatable("{n:,} of {of:,}: {counts}", n=0, of=2400, counts=counts))
    assert none.endswith('<span lang="ja">2,400件中0件：評価モデルが拒否 1,200、&lt;odd&gt; 1,200</span>')
    known = {*map(str, Reason), *map(str, Status), *map(str, Extra), *STATES} - {"whole", "ok"}
    assert known <= {*states(), *labels()}


def test_each_text_has_a_translation_and_no_label_takes_a_words_place():
    """A word within a text is looked up as the labels are: one that is a label too would be said as its heading."""
    said = [yaml.safe_load(source("labels.yaml")), *yaml.safe_load(source("japanese.yaml")).values()]
    said += {frozenset(task.view.labels()) for task in task_types().values()}  # of several tasks one file
    assert [key for key, times in Counter(chain(*map(set, said))).items() if times > 1] == []
    nodes = [node for text in house.sources().values() for node in ast.walk(ast.parse(text))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "translatable"]
    forms = {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)}
    assert {form for form in forms - labels().keys() if re.search("[A-Za-z]", re.sub("{.*?}|sozo", "", form))} == set()
    within = [keyword.value for node in calls for keyword in node.keywords if keyword.value in calls]
    words = {node.args[0].value for node in within if isinstance(node.args[0], ast.Constant)}
    assert {word: english(word) for word in words if english(word) != word} == {}
    assert {"differences", "answers"} <= forms


def test_what_an_answer_cost_is_said_in_japanese_too():
    assert wording(cost_line(1200, 34, 0.5, 0)) == (
        "1,200 tokens in, 34 out, cost 0.5000",
        "入力1,200トークン、出力34トークン、費用0.5000",
    )
    assert wording(cost_line(0, 0, 0.0, 3))[1] == "トークン数は不明、3件の返答の費用が不明"
    assert wording(n_of(34, 1200)) == ("34 of 1,200", "34/1,200")


def test_points_of_the_plane_say_what_they_are():
    spot = Spot("a<b", (1234.0, 0.9), [(1000.0, 0.8), (1468.0, 1.0)], 1, (0.85, 0.95))
    chart = plane_chart([spot], {}, "x", "y", "s")
    assert "<title>a&lt;b: 1,234, 0.9000 [0.8500, 0.9500]</title>" in chart
    assert "<title>a&lt;b: 1,000, 0.8000</title>" in chart


def test_empty_columns_and_tables_are_a_line_that_says_why():
    none, value = Cell(why="0 of 35: 35 truncated"), Cell(1)
    rows = (TableRow("m", (none, value, none)), TableRow("n", (none, Cell(), none)))
    kept = without_empty(Table("x", ("model", "a", "b", "c"), rows))
    assert kept.columns == ("model", "b")
    assert [row.cells for row in kept.rows] == [(value,), (Cell(),)]
    said = "Not shown, since they have no values: a, c (0 of 35: 35 truncated)"
    assert (kept.empty, wording(kept.empty[0])[1]) == ((said,), "値がないため省略：a、c（0 of 35: 35 truncated）")
    assert without_empty(Table("x", ("model", "a"), (TableRow("m", (none,)),))).rows == ()
