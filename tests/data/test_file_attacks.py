"""Files that no one meant: pipes, tables of some KB that unpack to gigabytes, flipped bytes, names that are no UTF-8.

Each is one line, at once and in little memory, wherever such a file is opened.
"""

import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bad_files import one_line
from command_line import sozo
from fakes import list_text
from sentences import refused, says
from sozo.data.errors import UserError
from sozo.data.record import read_json
from sozo.data.schema import iter_tables, write_columns
from sozo.data.settings import read_yaml
from sozo.eval.run import read_answers
from sozo.scoring.embeddings.vector_file import VectorFile
from sozo.scoring.embeddings.word_vectors import WordVectors
from sozo.scoring.judges.ledger import Ledger, read_judgements
from sozo.scoring.languages import read_nouns
from sozo.tasks.answer_files import read_answers_file
from sozo.tasks.dat.scorer import DatSettings
from sozo.tasks.dat.task import Dat

L = list_text(["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"])
MOST = 600 << 20  # bytes that the process may grow by


# --- pipes ---

PIPES = {
    "config.json": read_json,
    "a.yaml": read_yaml,
    "nouns.txt": lambda path: read_nouns(str(path)),
    "answers.jsonl": lambda path: list(read_answers_file(path)),
    "part-00000.parquet": lambda path: list(iter_tables(path.parent)),
    "judgements.jsonl": lambda path: read_judgements(path, ()),
    "own.jsonl": lambda path: Ledger(path, ()),
    "glove.txt": lambda path: VectorFile(str(path)),
}


@pytest.mark.parametrize("name", PIPES)
def test_a_pipe_is_no_file(name, tmp_path):
    os.mkfifo(tmp_path / name)
    assert name in one_line(PIPES[name], tmp_path / name)


@pytest.mark.suite
def test_a_pipe_is_no_sheet(tmp_path):
    from sozo.data.sheet import read_sheet

    os.mkfifo(tmp_path / "a.csv")
    assert "a.csv" in one_line(read_sheet, tmp_path / "a.csv")
    assert "no CSV file" in one_line(read_sheet, tmp_path)


# --- tables that unpack to gigabytes ---


READ = """
import json, resource, sys
from pathlib import Path
from sozo.data.errors import UserError
from sozo.tasks.answer_files import read_answers_file
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    said = f"{sum(1 for _ in read_answers_file(Path(sys.argv[1])))} rows"
except UserError as error:
    said = str(error)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([said, grown << 10]))
"""


def many_row_groups(path):
    schema = pa.schema([("text", pa.string())])
    table = pa.table([["a" * (16 << 20)]], schema=schema)
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        for _ in range(64):
            file.write_table(table)


def one_text_said_again(path):
    """A megabyte, four thousand times: the dictionary holds it once."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(4_000, np.int32)), pa.array(["a" * (1 << 20)])
    )
    pq.write_table(pa.table({"text": texts}), path)


@pytest.mark.parametrize("bomb", [many_row_groups, one_text_said_again])
def test_a_table_that_unpacks_to_gigabytes(bomb, tmp_path):
    path = tmp_path / "b.parquet"
    bomb(path)
    assert path.stat().st_size < 8 << 20
    command = [sys.executable, "-c", READ, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said, grew = json.loads(done.stdout)
    assert says("contents: a table that unpacks to gigabytes", said)
    assert grew < MOST


def test_a_table_of_ours_is_bounded_too(tmp_path):
    path = tmp_path / "part-00000.parquet"
    text = "あ" * (1 << 20)
    columns = {"id": ["a"], "text": [text], "source": ["x"]}
    write_columns(path, columns)
    (table,) = iter_tables(path)
    assert table["text"][0].as_py() == text
    schema = pq.read_schema(path)
    row = {"id": "a", "text": "a" * (64 << 20), "source": "x"}
    rows = pa.Table.from_pylist([row] * 5, schema)
    pq.write_table(rows, path, compression="zstd", use_dictionary=False)
    with refused("contents: a table of ours that unpacks to gigabytes"):
        list(iter_tables(path))


def test_a_large_table_that_is_large_on_the_disk_is_read(tmp_path):
    draw = random.Random(0)
    texts = ["".join(draw.choices("犬猫海山川", k=200)) for _ in range(20_000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet")
    assert sum(1 for _ in read_answers_file(tmp_path / "t.parquet")) == 20_000


def test_vectors_that_unpack_to_gigabytes(tmp_path):
    path = tmp_path / "glove.gz"
    with gzip.open(path, "wb", 9) as file:
        for _ in range(512):
            file.write(b"0" * (1 << 20))
    assert path.stat().st_size < 1 << 20
    assert "glove.gz" in one_line(VectorFile, str(path))


# --- flipped bytes ---


def flips(content, path, read):
    """Every reading of a file with one flipped bit is a value or one line."""
    draw = random.Random(1)
    for _ in range(120):
        damaged = bytearray(content)
        place = draw.randrange(len(damaged))
        damaged[place] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            read()
        except UserError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_flipped_bits_of_a_table(tmp_path):
    path = tmp_path / "part-00000.parquet"
    columns = {"id": list("abc"), "text": [L] * 3, "source": ["犬"] * 3}
    write_columns(path, columns)
    task = Dat(DatSettings(noun_checker="jumandic"))
    flips(path.read_bytes(), path, lambda: read_answers(task, path, None))


def test_flipped_bits_of_lines(tmp_path):
    lines = tmp_path / "f.jsonl"
    line = json.dumps({"text": L, "id": "a"}, ensure_ascii=False).encode()
    flips(line, lines, lambda: list(read_answers_file(lines)))


class Axis:
    name, revision = "axis", "1"

    def encode(self, words):
        return np.tile(np.arange(1, 9, dtype=np.float32), (len(words), 1))


def test_flipped_bits_of_a_cache_of_vectors(tmp_path):
    words = [f"語{k}" for k in range(200)]
    vectors = WordVectors(Axis(), tmp_path)
    right = vectors.unit(words)
    path = vectors._disk.path
    draw, content = random.Random(2), path.read_bytes()
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(20):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        for suffix in ("-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        try:
            unit = WordVectors(Axis(), tmp_path).unit(words)
        except UserError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        assert np.abs(np.linalg.norm(unit, axis=1) - 1).max() < 1e-2
        assert unit.shape == right.shape


def test_a_cache_with_a_blob_of_another_size(tmp_path):
    vectors = WordVectors(Axis(), tmp_path)
    vectors.rows(["犬", "海"])
    with sqlite3.connect(vectors._disk.path) as db:
        db.execute("UPDATE vectors SET vector = ? WHERE word = '犬'", (b"abc",))
    assert WordVectors(Axis(), tmp_path).unit(["海", "犬"]).shape == (2, 8)


# --- names that are no UTF-8 ---

ODD = os.fsdecode(b"\xff\xfe.jsonl")


@pytest.mark.parametrize(
    "words",
    [
        ["score", "dat", ODD, "--noun-checker", "jumandic", "--output", ODD + "2"],
        ["run", "--model", ODD, "--tasks", "dat", "--output", "out"],
    ],
)
def test_a_name_that_is_no_utf8_is_a_line_or_a_result(words, tmp_path):
    (tmp_path / ODD).write_text(json.dumps({"text": L}) + "\n", "utf-8")
    done = sozo(tmp_path, *words)
    assert "Traceback" not in done.stderr, done.stderr[-600:]
    if done.returncode:
        assert done.stderr.count("\n") <= 2
