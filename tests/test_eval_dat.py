"""The row of Table 11 on hand-worked numbers, from lists and from tables, in any order and in pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from fakes import write_responses

from data.errors import UserError
from data.schema import Reason, Response
from rewards.nouns import Verdict
from rewards.tasks.dat.scorer import DatScorer
from rewards.tasks.dat.summary import DatSummary, summarise, valid_scores

ROWS = [
    Response("0", "a", 1, "", ("犬", "猫"), 0.5),
    Response("1", "a", 1, "", ("犬", "東京"), 1.0),
    Response("2", "a", 1, "", None, None, "format"),
    Response("3", "a", 1, "", ("走る", "水"), None, "not_noun"),
    Response("4", "a", 1, "", ("苹果", "東京"), 0.75),
]


def summarise_rows(rows: Sequence[Response], **options: Any) -> DatSummary:
    with TemporaryDirectory() as folder:
        write_responses(Path(folder) / "part-00000.parquet", rows)
        return summarise(Path(folder), **options)


class KnowsTokyo:
    name = "fake"

    def check(self, words: Sequence[str]) -> list[Verdict]:
        return [Verdict(True, proper=word == "東京", wikipedia=word == "苹果") for word in words]


def test_hand_worked_row() -> None:
    summary = summarise_rows(ROWS, checker=KnowsTokyo())
    assert (summary.source, summary.num_responses, summary.valid, summary.valid_rate) == ("a", 5, 3, 0.6)
    assert summary.mean == pytest.approx(0.75)
    assert summary.std == pytest.approx(0.25)  # sqrt((0.0625 + 0.0625 + 0) / 2)
    margin = 1.959964 * 0.25 / math.sqrt(3)
    assert summary.ci95 == pytest.approx((0.75 - margin, 0.75 + margin))
    assert summary.unique_words == 4  # those of the invalid responses do not count
    assert (summary.proper_noun_words, summary.wikipedia_words) == (2, 1)
    assert summary.reasons == {str(r): int(r in ("format", "not_noun")) for r in Reason}


def test_table_and_list_agree_whatever_the_parts_and_their_order(tmp_path: Path) -> None:
    for number, rows in enumerate((ROWS[3:], ROWS[:1], ROWS[1:3])):
        write_responses(tmp_path / f"part-{number:05d}.parquet", rows)
    from_table, from_list = summarise(tmp_path, checker=KnowsTokyo()), summarise_rows(ROWS, checker=KnowsTokyo())
    assert from_table.mean == pytest.approx(from_list.mean, abs=1e-15)
    assert from_table.std == pytest.approx(from_list.std, abs=1e-15)
    assert replace(from_table, mean=0, std=0, ci95=None) == replace(from_list, mean=0, std=0, ci95=None)
    assert sorted(valid_scores(tmp_path).tolist()) == [0.5, 0.75, 1.0]


def test_many_close_scores_keep_their_deviation(tmp_path: Path) -> None:
    parts = [[Response("", "a", 1, "", (), 1.5 + (i % 2) * 2**-20) for i in range(100 + part)] for part in range(50)]
    for number, rows in enumerate(parts):
        write_responses(tmp_path / f"part-{number:05d}.parquet", rows)
    summary = summarise(tmp_path)
    assert summary.std == pytest.approx(2**-21, rel=1e-3)


@pytest.mark.parametrize("rows", [[], ROWS[2:4]])
def test_no_valid_response_has_no_mean(rows: list[Response], tmp_path: Path) -> None:
    write_responses(tmp_path / "part-00000.parquet", rows)
    for summary in (summarise_rows(rows), summarise(tmp_path)):
        assert (summary.num_responses, summary.valid, summary.unique_words) == (len(rows), 0, 0)
        assert (summary.mean, summary.std, summary.ci95) == (None, None, None)
        assert summary.valid_rate == (0.0 if rows else None)
    assert valid_scores(tmp_path).shape == (0,)


def test_one_valid_response_has_a_mean_but_no_deviation() -> None:
    summary = summarise_rows(ROWS[:1])
    assert (summary.mean, summary.std, summary.ci95) == (0.5, None, None)


def test_sources_are_named_and_can_be_renamed() -> None:
    rows = [ROWS[0], replace(ROWS[1], source="b")]
    assert summarise_rows(rows).source == "a, b"
    assert summarise_rows(rows, source="both").source == "both"


@pytest.mark.parametrize(("score", "reason"), [(None, None), (0.5, "format")])
def test_a_row_without_a_verdict_is_an_error(score: float | None, reason: str | None, tmp_path: Path) -> None:
    rows = [*ROWS, Response("odd", "a", 1, "", None, score, reason)]
    with pytest.raises(UserError, match="response odd has"):
        summarise_rows(rows)
    write_responses(tmp_path / "part-00000.parquet", rows)
    with pytest.raises(UserError, match="response odd has"):
        summarise(tmp_path)


def test_json_round_trip() -> None:
    for summary in (summarise_rows(ROWS, checker=KnowsTokyo()), summarise_rows(ROWS[2:3])):
        values = summary.to_json()
        assert values["valid_rate"] == summary.valid_rate
        assert DatSummary.from_json(values) == summary


def test_proper_nouns_are_counted_as_the_scorer_counts_them(tmp_path: Path) -> None:
    class Axes:
        name, revision = "axes", "1"

        def encode(self, words: Sequence[str]) -> Any:
            return np.eye(16, dtype=np.float32)[: len(words)]

    words = ["犬", "猫", "東京", "水", "山", "苹果", "川", "本", "車", "空"]
    texts = ["\n".join(f"{k}. {w}" for k, w in enumerate(words[i:] + words[:i], 1)) for i in range(3)] + ["1. 東京"]
    results = DatScorer(KnowsTokyo(), Axes()).score(texts)
    rows = [Response(str(i), "a", 1, texts[i], r.words, r.score, r.reason) for i, r in enumerate(results)]
    write_responses(tmp_path / "part-00000.parquet", rows)
    summary = summarise(tmp_path, checker=KnowsTokyo())
    assert (summary.proper_noun_words, summary.wikipedia_words) == (
        results.proper_nouns.sum(),
        results.wikipedia_words.sum(),
    )
    assert (summary.proper_noun_words, summary.mean) == (3, 1.0)
