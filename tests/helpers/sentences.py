"""What a person reads when she is refused stands in one table, tests/files/sentences.csv; a test names its row.

    with refused("schema: no such column"):
        read(table)

A sentence is the whole one, with {} for what differs from run to run (a path, a number). `SENTENCES=new pytest ...`
writes the rows that are missing, from what was said; put {} where it differs, and read them as a person does.
"""

import csv
import fcntl
import os
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from sozo.data.errors import UserError

TABLE = Path(__file__).parents[1] / "files" / "sentences.csv"


@cache
def sentences():
    """Row -> its sentence."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return dict(csv.reader(file))


def says(row, text):
    """Whether the text, or a line of it, is the sentence of that row."""
    if row not in sentences() and os.environ.get("SENTENCES") == "new":
        _write(row, text)
    sentence = re.escape(sentences()[row]).replace(r"\{\}", ".*")
    return re.search(rf"(?:^|\n){sentence}\s*(?:\n|$)", text, re.DOTALL) is not None


def _write(row, text):
    text = re.sub(r"/\S*pytest-of-\S*?/(?=[^/\s]+/?[\s:,)]|$)", "{}/", text.strip())
    with TABLE.open("a", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        csv.writer(file, lineterminator="\n").writerow([row, text])
    sentences.cache_clear()


@contextmanager
def refused(row, kind=UserError):
    """The block is refused with the sentence of that row."""
    with pytest.raises(kind) as caught:
        yield caught
    assert says(row, str(caught.value)), str(caught.value)
