"""The answer table: what is written is read back, and what is not a table is refused by name."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakes import Answer, read_answer_table, write_answer_table
from sentences import refused
from sozo.data.schema import Reason, arrow_schema, part_paths, write_columns

WORDS = tuple("犬猫水山川本車空海石")
# 0.75 and 0.5 are exact in float32.
VALID = Answer("a-0", "tiny", 42, "1. 犬…", WORDS, 0.75, None, 1.0, "stop")
INVALID = Answer("a-1", "random", None, "", None, None, Reason.FORMAT, 0.5, "length")
UNSCORED = Answer("a-2", "file", None, "\x00\r\n\u2028😀", None)


def test_round_trip(tmp_path):
    broken = Answer("a", "tiny", 1, "犬\ud800", ("犬\ud800", "猫"))
    write_answer_table(
        tmp_path / "part-00000.parquet", [VALID, INVALID, UNSCORED, broken]
    )
    write_answer_table(tmp_path / "part-00001.parquet", [])
    write_columns(
        tmp_path / "part-00002.parquet",
        {"id": ["a"], "source": ["x"], "text": ["1. 犬"]},
    )
    written_out = Answer("a", "tiny", 1, "犬\\ud800", ("犬\\ud800", "猫"))
    expected = [
        VALID,
        INVALID,
        UNSCORED,
        written_out,
        Answer("a", "x", None, "1. 犬"),
    ]
    assert list(read_answer_table(tmp_path)) == expected
    assert (
        pq.read_table(tmp_path / "part-00000.parquet")["reason"].to_pylist()[1]
        == "format"
    )


def test_unknown_column_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"part-0\.parquet: no such column .*: model, sampler"
    ):
        write_columns(
            tmp_path / "part-0.parquet", {"id": ["a"], "sampler": [1], "model": [1]}
        )
    assert list(tmp_path.iterdir()) == []


def test_parts_come_in_order_from_a_file_a_folder_or_a_run(tmp_path):
    folder = tmp_path / "run" / "answers"
    for number in (10, 2, 0):  # written out of order
        write_answer_table(
            folder / f"part-{number:05d}.parquet",
            [Answer(str(number), "x", None, "")],
        )
    (folder / ".part-00003.parquet.77.tmp").write_bytes(b"half")  # of a killed writer
    for path in (folder, tmp_path / "run"):
        assert [r.id for r in read_answer_table(path)] == ["0", "2", "10"]
    with refused("schema: the table is in a folder below"):
        part_paths(tmp_path)
    assert part_paths(folder / "part-00002.parquet") == [folder / "part-00002.parquet"]


def test_a_failing_write_leaves_the_old_part_and_no_other_file(tmp_path, monkeypatch):
    part = tmp_path / "part-0.parquet"
    write_answer_table(part, [VALID])

    def full_disk(descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with refused("record: a file that cannot be written"):
        write_answer_table(part, [INVALID])
    assert [p.name for p in tmp_path.iterdir()] == ["part-0.parquet"]
    assert list(read_answer_table(tmp_path)) == [VALID]


def test_what_is_no_table_of_this_version_is_refused_by_its_name(tmp_path):
    def check(folder):
        with refused(f"schema: {folder} is no table of this version"):
            list(read_answer_table(tmp_path / folder))

    check("none")
    for folder in ("newer", "other", "torn"):
        (tmp_path / folder).mkdir()
    newer = arrow_schema().with_metadata({b"sozo_schema_version": b"3"})
    pq.write_table(
        pa.Table.from_pylist([], schema=newer), tmp_path / "newer" / "part-0.parquet"
    )
    check("newer")
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "other" / "part-0.parquet")
    check("other")
    part = tmp_path / "torn" / "part-00007.parquet"
    write_answer_table(part, [VALID] * 100)
    part.write_bytes(part.read_bytes()[:-50])
    check("torn")
