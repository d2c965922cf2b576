"""Nothing wrong passes a plan: the table that `wrong_settings.py` writes has every setting, and is what is said today."""

import csv
from collections import Counter

import pytest
import yaml

import wrong_settings as wrong

with wrong.TABLE.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file))


def test_the_table_has_three_values_of_every_setting():
    held = Counter((m, row["setting"]) for row in ROWS for m in row["methods"].split())
    there = {(method, name) for method, name, _ in wrong.settings()}
    assert held == Counter(dict.fromkeys(there, 3))


def test_each_is_refused_or_missing_or_has_a_reason():
    assert {row["outcome"] for row in ROWS} == {"refused", "missing", "not known"}
    assert all(row["said"] for row in ROWS)
    # Of a setting of which nothing is known, the other values are of a wrong kind.
    unknown = Counter(row["setting"] for row in ROWS if row["outcome"] == "not known")
    assert set(unknown.values()) == {1}
    assert set(unknown) == set(wrong.REASON)


@pytest.mark.filterwarnings("ignore")
def test_it_is_what_is_said_today(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # argparse asks the terminal for each flag
    other = []
    for number, row in enumerate(ROWS):
        methods = row["methods"].split()
        method = methods[
            number % len(methods)
        ]  # seconds: not each with all of its methods
        value = yaml.safe_load(row["value"])
        told = wrong.said(method, {row["setting"]: value}, tmp_path)
        here = row["outcome"] == "missing" and told == ("passes", "")  # it is installed
        if told != (row["outcome"], row["said"]) and not here:
            other.append((method, row["setting"], row["value"], told))
    assert not other
