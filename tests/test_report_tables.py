"""Cells and tables of the report: differences that nobody misreads, colour that is earned, no tables of dashes."""

import pytest

from sozo.data.schema import Reason
from sozo.eval.compare import Change
from sozo.eval.report.cells import change_cell, with_change
from sozo.eval.report.labels import both
from sozo.eval.report.page_table import PageTable
from sozo.eval.report.plane import Spot, plane_chart
from sozo.eval.report.said import japanese, statuses
from sozo.eval.report.tables import on_one_scale, without_empty
from sozo.scoring.final_text import STATES
from sozo.scoring.judges.protocol import Status
from sozo.scoring.measure import DASH, Cell, Measure
from sozo.scoring.statistics import compare_independent, mean_interval
from sozo.scoring.statistics.seeds import over_seeds
from sozo.tasks.sat.compliance import Extra

SHARE, SCORE, LESS = Measure("a/valid", share=True), Measure("a", 2), Measure("a/copied", 2, better=-1)


def change(difference, *, effect, p_holm=0.001):
    ends = (difference - 0.01, difference + 0.01)
    return Change("after", "before", "a", difference, *ends, effect=effect, p_holm=p_holm, n=9, of=9)


def test_a_difference_of_shares_is_percentage_points():
    cell = change_cell(change(0.05, effect=0.5), SHARE)
    assert (cell.value, cell.small[0]) == ("+5.00 pp", "[+4.00, +6.00 pp]")
    assert with_change(Cell("25.00%"), change(-0.05, effect=-0.5), SHARE).change == "−5.00 pp [−6.00, −4.00 pp]"
    assert change_cell(change(0.05, effect=0.5), SCORE).value == "+0.05"


@pytest.mark.parametrize(
    ("effect", "p_holm", "measure", "mark"),
    [
        (0.9, 0.001, SCORE, "up good deep"),
        (0.3, 0.001, SCORE, "up good"),
        (0.1, 0.001, SCORE, "up"),  # certain, and negligible: an arrow, no colour
        (0.9, 0.06, SCORE, ""),  # large, and not certain
        (0.3, 0.001, LESS, "up bad"),
        (0.3, 0.001, Measure("a", 2, better=0), "up"),
    ],
)
def test_colour_is_for_effect_and_significance_together(effect, p_holm, measure, mark):
    assert change_cell(change(0.02, effect=effect, p_holm=p_holm), measure).mark == mark


def test_in_a_heat_map_intervals_are_for_who_points_at_the_cell():
    cell = with_change(Cell("3.00", heat=3.0, hover="95%: 2.00 – 4.00"), change(0.5, effect=1.0), SCORE)
    assert (cell.change, cell.hover) == ("+0.50", "95%: 2.00 – 4.00; +0.50 [+0.49, +0.51]")


def test_what_stands_beside_numbers_is_said_in_japanese_too():
    reasons = [mean_interval([1, 2]).reason, mean_interval([2.0, 2.0]).reason, mean_interval([]).reason]
    reasons += [compare_independent([1], [2, 3]).reason, over_seeds({0: 1.0}).reason]
    assert not [reason for reason in reasons if japanese(reason) == reason]
    assert japanese("not on one scale: judge.model is a and b") == "尺度が異なる：judge.model は a と b"
    assert both("<1 / 2>: 1 refused").endswith('<span lang="ja">&lt;1 / 2&gt;：1 審判が拒否</span>')
    known = {*map(str, Reason), *map(str, Status), *map(str, Extra), *STATES} - {"whole", "ok"}
    assert known <= set(statuses())


def test_points_of_the_plane_say_what_they_are():
    spot = Spot("a<b", (1234.0, 0.9), [(1000.0, 0.8), (1468.0, 1.0)], 1, (0.85, 0.95))
    chart = plane_chart([spot], {}, "x", "y", "s")
    assert "<title>a&lt;b: 1,234, 0.9 (0.85 – 0.95)</title>" in chart
    assert "<title>a&lt;b: 1,000, 0.8</title>" in chart


def test_heat_maps_share_a_scale():
    narrow = PageTable("x", ("model", "a"), (("m", (Cell("2", heat=2.0),)), ("n", (Cell("3", heat=3.0),))))
    wide = PageTable("y", ("model", "a"), (("m", (Cell("1", heat=1.0),)), ("n", (Cell("5", heat=5.0),))))
    plain = PageTable("z", ("model", "a"), (("m", (Cell("1"),)),))
    tables = on_one_scale([narrow, wide, plain])
    assert [table.scale for table in tables] == [(1.0, 5.0), (1.0, 5.0), None]
    assert tables[0].shade(Cell("2", heat=2.0)) == tables[1].shade(Cell("2", heat=2.0)) == 0.25


def test_empty_columns_and_tables_are_a_line_that_says_why():
    dash = Cell(DASH, why="0 / 35: 35 truncated")
    table = PageTable("x", ("model", "a", "b", "c"), (("m", (dash, Cell("1"), dash)), ("n", (dash, Cell(DASH), dash))))
    kept = without_empty(table)
    assert kept.columns == ("model", "b")
    assert kept.rows == (("m", (Cell("1"),)), ("n", (Cell(DASH),)))
    assert kept.empty == (("0 / 35: 35 truncated", ("a", "c")),)
    assert without_empty(PageTable("x", ("model", "a"), (("m", (dash,)),))).rows == ()
