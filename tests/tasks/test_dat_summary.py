"""The row of Table 11 on hand-worked numbers, from lists and from tables, in any order and in pieces."""

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fakes import Answer, write_answer_table
from sentences import refused
from sozo.scoring.parse import reasons_in
from sozo.tasks.dat.summary import DatSummary, summarise
from sozo.tasks.dat.table import read_lists, usable_scores

ROWS = [
    Answer("0", "a", 1, "", ("犬", "猫"), 0.5),
    Answer("1", "a", 1, "", ("犬", "東京"), 1.0),
    Answer("2", "a", 1, "", None, None, "format"),
    Answer("3", "a", 1, "", ("走る", "水"), None, "not_noun"),
    Answer("4", "a", 1, "", ("苹果", "東京"), 0.75),
]


def summarise_rows(rows, **options):
    with TemporaryDirectory() as folder:
        write_answer_table(Path(folder) / "part-00000.parquet", rows)
        return summarise(Path(folder), **options)


def test_hand_worked_row():
    summary = summarise_rows(ROWS)
    assert (
        summary.source,
        summary.num_answers,
        summary.usable,
        summary.usable_share,
    ) == ("a", 5, 3, 0.6)
    assert summary.score == pytest.approx(0.75)
    assert summary.std == pytest.approx(0.25)  # sqrt((0.0625 + 0.0625 + 0) / 2)
    margin = 4.302653 * 0.25 / math.sqrt(3)  # Student's t of 2 degrees of freedom
    assert summary.ci95 == pytest.approx((0.75 - margin, 0.75 + margin))
    assert (
        summary.all_different_words == 4
    )  # those of the unusable answers do not count
    assert summary.reasons == {
        str(r): int(r in ("format", "not_noun")) for r in reasons_in("ja")
    }


def test_parts_and_their_order_do_not_matter(tmp_path):
    for number, rows in enumerate((ROWS[3:], ROWS[:1], ROWS[1:3])):
        write_answer_table(tmp_path / f"part-{number:05d}.parquet", rows)
    in_parts, whole = summarise(tmp_path), summarise_rows(ROWS)
    assert in_parts.score == pytest.approx(whole.score, abs=1e-15)
    assert in_parts.std == pytest.approx(whole.std, abs=1e-15)
    alike = {"score": 0, "std": 0, "ci95": None}
    assert replace(in_parts, **alike) == replace(whole, **alike)
    assert sorted(usable_scores(tmp_path).tolist()) == [0.5, 0.75, 1.0]


def test_many_close_scores_keep_their_deviation(tmp_path):
    parts = [
        [Answer("", "a", 1, "", (), 1.5 + (i % 2) * 2**-20) for i in range(100 + part)]
        for part in range(50)
    ]
    for number, rows in enumerate(parts):
        write_answer_table(tmp_path / f"part-{number:05d}.parquet", rows)
    summary = summarise(tmp_path)
    assert summary.std == pytest.approx(2**-21, rel=1e-3)


@pytest.mark.parametrize("rows", [[], ROWS[2:4]])
def test_no_usable_answer_has_no_mean(rows, tmp_path):
    write_answer_table(tmp_path / "part-00000.parquet", rows)
    summary = summarise(tmp_path)
    counts = summary.num_answers, summary.usable, summary.all_different_words
    assert counts == (len(rows), 0, 0)
    assert (summary.score, summary.std, summary.ci95) == (None, None, None)
    assert summary.usable_share == (0.0 if rows else None)
    assert usable_scores(tmp_path).shape == (0,)


def test_a_row_without_a_verdict_is_an_error():
    rows = [*ROWS, Answer("odd", "a", 1, "", None, None, None)]
    with refused("dat: a row without a verdict"):
        summarise_rows(rows)


def test_json_round_trip():
    measured = replace(
        summarise_rows(ROWS), instruments={"pairing": 0.01, "pairing_se": 0.001}
    )
    for summary in (summarise_rows(ROWS), summarise_rows(ROWS[2:3]), measured):
        metrics = json.loads(json.dumps(summary.metrics(), allow_nan=False))
        assert metrics["measures"]["dat/usable"]["value"] == summary.usable_share
        assert DatSummary.from_metrics(metrics) == summary


def test_lists_are_numbers_of_words(tmp_path):
    words = [chr(ord("あ") + k) for k in range(12)]
    rows = [Answer(str(i), "a", 1, "", tuple(words[i : i + 10]), 0.5) for i in range(3)]
    for part, of in enumerate((rows[:1], [*ROWS[2:4], *rows[1:]])):
        write_answer_table(tmp_path / f"part-{part:05d}.parquet", of)
    known, lists = read_lists(tmp_path)
    assert [[known[k] for k in one] for one in lists] == [[*row.words] for row in rows]
    assert read_lists(tmp_path, num_usable=2)[1].tolist() == lists[:2].tolist()
