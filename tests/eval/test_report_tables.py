"""Cells and tables of the report: differences that nobody misreads, marks that are earned, no tables of dashes."""

import ast
import re
from collections import Counter
from itertools import chain

import pytest
import yaml

import house
from sozo.data.schema import Reason
from sozo.eval.findings import DIFFERENCE, Finding
from sozo.eval.report import source
from sozo.eval.report.labels import both, english, labels, states, wording
from sozo.eval.report.tables import without_empty
from sozo.scoring.final_text import STATES
from sozo.scoring.judges.protocol import Status
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell, Table, TableRow
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.sat.compliance import Extra

SHARE, SCORE, WORDS = (
    Measure("a/usable", share=True),
    Measure("a", 2),
    Measure("a/words", 0, ratio=True),
)


def finding(value, measure=SCORE, *, half=0.01, kind=DIFFERENCE, **more):
    known = Estimate(value, value - half, value + half, 9, level=0.975, p=0.002)
    return Finding(
        "after",
        "before",
        "a",
        measure.short,
        measure.name,
        measure,
        kind,
        known,
        **more,
    )


def test_a_difference_says_its_level_p_effect_and_whether_it_is_evidence():
    row = finding(0.05, of=12, effect=0.5, target="yes", below=("paired",))
    says = (
        "[+0.04, +0.06]",
        "9 of 12",
        "interval of 97.5%",
        "p = 0.004",
        "d = +0.50",
        "target",
        "paired",
    )
    assert row.cell.lines == says
    none = Finding(
        "a",
        "b",
        "t",
        "a",
        "a",
        SCORE,
        DIFFERENCE,
        Estimate(reason="scored by j, b by k"),
        target="yes",
    )
    assert (none.cell.text, none.cell.below[0]) == ("–", "scored by j, b by k")


def test_what_stands_beside_numbers_is_said_in_japanese_too():
    scale = translatable(
        "{name} is {one} and {other}", name="judge.model", one="a", other="refused"
    )
    assert wording(scale) == (
        "judge.model is a and refused",
        "judge.model は a と refused",
    )
    counts = [
        translatable("{n:,} {status}", n=1200, status=translatable(status))
        for status in ("refused", "<odd>")
    ]
    none = both(translatable("{n:,} of {of:,}: {counts}", n=0, of=2400, counts=counts))
    assert none.endswith(
        '<span lang="ja">2,400件中0件：評価モデルが拒否 1,200、&lt;odd&gt; 1,200</span>'
    )
    known = {*map(str, Reason), *map(str, Status), *map(str, Extra), *STATES} - {
        "complete",
        "ok",
    }
    assert known <= {*states(), *labels()}


def test_each_text_has_a_translation_and_no_label_takes_a_words_place():
    """A word within a text is looked up as the labels are: one that is a label too would be said as its heading."""
    said = [
        yaml.safe_load(source("labels.yaml")),
        *yaml.safe_load(source("japanese.yaml")).values(),
    ]
    said += {
        frozenset(task.view.labels()) for task in task_types().values()
    }  # of several tasks one file
    assert [
        key for key, times in Counter(chain(*map(set, said))).items() if times > 1
    ] == []
    nodes = [
        node for text in house.sources().values() for node in ast.walk(ast.parse(text))
    ]
    calls = [
        node
        for node in nodes
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "translatable"
    ]
    forms = {
        node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)
    }
    assert {
        form
        for form in forms - labels().keys()
        if re.search("[A-Za-z]", re.sub("{.*?}|sozo", "", form))
    } == set()
    within = [
        keyword.value
        for node in calls
        for keyword in node.keywords
        if keyword.value in calls
    ]
    words = {
        node.args[0].value for node in within if isinstance(node.args[0], ast.Constant)
    }
    assert {word: english(word) for word in words if english(word) != word} == {}
    assert {"differences", "answers"} <= forms


def test_empty_columns_and_tables_are_a_line_that_says_why():
    none, value = Cell(why="0 of 35: 35 truncated"), Cell(1)
    rows = (TableRow("m", (none, value, none)), TableRow("n", (none, Cell(), none)))
    kept = without_empty(Table("x", ("model", "a", "b", "c"), rows))
    assert kept.columns == ("model", "b")
    assert [row.cells for row in kept.rows] == [(value,), (Cell(),)]
    said = "Not shown, since they have no values: a, c (0 of 35: 35 truncated)"
    assert (kept.empty, wording(kept.empty[0])[1]) == (
        (said,),
        "値がないため省略：a、c（0 of 35: 35 truncated）",
    )
    assert (
        without_empty(Table("x", ("model", "a"), (TableRow("m", (none,)),))).rows == ()
    )


LABELS = [
    house.ROOT / "eval/report" / name for name in ("labels.yaml", "japanese.yaml")
]
LABELS += sorted(house.ROOT.glob("tasks/*/labels.yaml"))


@pytest.mark.parametrize(
    "path", LABELS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_no_label_stands_twice(path):
    nodes = [yaml.compose(path.read_text("utf-8"))]
    for node in nodes:  # YAML would take the last of two, and say nothing
        keys = [key.value for key, _ in node.value]
        assert sorted(keys) == sorted(set(keys))
        nodes += [
            value for _, value in node.value if isinstance(value, yaml.MappingNode)
        ]
