"""Intervals of a model's differences hold together: the table of benchmarks/arrows.py is of its conditions."""

import csv
import importlib
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks/arrows.py"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPT.parent))  # as python does that runs it
    yield importlib.import_module("arrows")
    sys.path.remove(str(SCRIPT.parent))
    for name in ("arrows", "arrow_worlds"):
        del sys.modules[name]


def test_no_condition_of_the_table_has_arrows_in_more_than_six_of_a_hundred_equal_worlds(
    script,
):
    with script.TABLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["difference"] == "any"]
    wanted = [(one.name, one.truth) for one in (*script.equal(), *script.true())]
    assert sorted((row["condition"], row["truth"]) for row in rows) == sorted(wanted)
    broken = [
        row["condition"]
        for row in rows
        if not row["truth"] and float(row["now"]) > 0.06
    ]
    assert broken == []
