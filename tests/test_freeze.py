"""No number of any report has changed (`freeze.py`, which says when this goes)."""

import pytest

import freeze
from freeze import computed, differences, equal, frozen, write

KEY = ("dat", "csv", "after", "before", "dat-differences", "DAT", "value", "")


def row(**changed):
    """`KEY` with other columns."""
    return tuple({**dict(zip(freeze.HEADINGS, KEY, strict=False)), **changed}.values())


@pytest.mark.studies
def test_no_number_has_changed():
    found = [f"{kind} {report}: {text}" for kind, report, _, text in differences(frozen(), computed())]
    assert found[:20] == [], f"{len(found)} rows differ: python tests/freeze.py"


def test_numbers_are_equal_to_nine_digits_and_printed_ones_digit_for_digit():
    assert equal("0.123456789012", "0.123456789013", KEY)
    assert not equal("0.12345678", "0.12345679", KEY)
    assert not equal("0.0", "1e-9", KEY)
    assert not equal("+1.42 +0.77 +2.07", "+1.42 +0.77 +2.08", KEY)
    assert not equal("no number", "0.5", KEY)
    assert equal("0.1", "0.1000001", row(measure="dat/pairing"))
    assert not equal("0.1", "0.100002", row(measure="dat/pairing"))


def test_each_row_that_is_not_as_it_was_is_told_by_what_became_of_it(tmp_path, capsys):
    same, other, third = row(), row(what="low"), row(what="high")
    old = {same: "0.5", other: "0.25", third: "0.75", row(model="gone"): "0.1"}
    new = {same: "0.6", row(measure="renamed", what="low"): "0.25", third: "0.75", row(where="page"): "0.9"}
    path = tmp_path / "rows.csv.gz"
    write(old, path)
    first = path.read_bytes()
    write(dict(reversed(frozen(path).items())), path)
    assert (frozen(path), path.read_bytes()) == (old, first)
    found = list(differences(old, new))
    assert sorted(kind for kind, *_ in found) == ["changed", "gone", "moved", "new", "new"]
    assert list(differences(old, old)) == []
    freeze.print_differences(found, 5)
    out = capsys.readouterr().out
    assert "0.5 -> 0.6" in out
    assert "now in csv, after, before, dat-differences, renamed, low" in out
    assert out.endswith("5 of 5 rows differ\n")
