"""Cells and tables of the report: differences that nobody misreads, colour that is earned, no tables of dashes."""

import pytest

from sozo.data.schema import Reason
from sozo.eval.compare import Change
from sozo.eval.report.cells import change_cell, with_change
from sozo.eval.report.labels import both, labels, states, wording
from sozo.eval.report.plane import Spot, plane_chart
from sozo.eval.report.tables import without_empty
from sozo.scoring.final_text import STATES
from sozo.scoring.judges.protocol import Status
from sozo.scoring.measure import Measure
from sozo.scoring.statistics import compare_independent, mean_interval
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
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
        (0.9, 0.01, SCORE, "up good deep"),
        (0.3, 0.01, SCORE, "up good"),
        (0.1, 0.01, SCORE, "up"),  # certain, and negligible: an arrow, no colour
        (0.9, 0.06, SCORE, ""),  # large, and not certain
        (0.3, 0.01, LESS, "up bad"),
        (0.3, 0.01, Measure("a", 2, better=0), "up"),
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
    assert none.endswith('<span lang="ja">2,400件中0件：1,200 評価モデルが拒否、1,200 &lt;odd&gt;</span>')
    known = {*map(str, Reason), *map(str, Status), *map(str, Extra), *STATES} - {"whole", "ok"}
    assert known <= {*states(), *labels()}


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
    assert kept.empty == ((("0 of 35: 35 truncated",), ("a", "c")),)
    assert without_empty(Table("x", ("model", "a"), (TableRow("m", (none,)),))).rows == ()
