"""People's sheets, and the command that scores them."""

import csv
import io
import sys
from pathlib import Path

import pytest

from fakes import AXES, FakeNouns, axis_encoder
from sampling_worker import dat_by
from sozo.eval.cli import run_cli
from sozo.suite.people.command import PeopleOptions, score_people
from sozo.tasks.dat.scorer import DatScorer

WORDS = ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]


LISTED = "\n".join(f"{k}. {word}" for k, word in enumerate(WORDS, 1))


HEADINGS = ["participant", *(f"word{k}" for k in range(1, 11))]


def table(rows, delimiter=",", end="\r\n"):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    return file.getvalue()


def save(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def written(path, delimiter=","):
    return list(
        csv.DictReader(
            io.StringIO(path.read_bytes().decode("utf-8-sig"), newline=""),
            delimiter=delimiter,
        )
    )


def lists(*texts):
    """A sheet of people with a list each."""
    rows = ([f"p{k}", text] for k, text in enumerate(texts))
    return [["participant", "response"], *rows]


def scored(task, folder, sheet, out="out", correlate=(), only=(), drop=(), **options):
    """`sozo people` on a sheet, or its rows: the rows of scores.csv, and the page as a text."""
    given = isinstance(sheet, Path)
    file = sheet if given else save(folder / "p.csv", table(sheet))
    output, more = (
        folder / out,
        {"correlate": list(correlate), "only": only, "drop": drop},
    )
    score_people(task, file, output, PeopleOptions(**options), **more)
    text = (output / "people.md").read_text("utf-8")
    return written(output / "scores.csv"), text


def command(monkeypatch, capsys, *words):
    """The real command in this process, which loads the encoder once: its exit code and what it says in English."""
    of_people = words[0] in ("people", "words") and "--lang" not in words
    lang = ["--lang", "en"] if of_people else []
    monkeypatch.setattr(sys, "argv", ["sozo", *map(str, words), *lang])
    with pytest.raises(SystemExit) as done:
        run_cli()
    out, err = capsys.readouterr()
    return done.value.code, out, err


@pytest.fixture
def fake():
    """A task by whose encoder any two words of AXES are exactly 1 apart."""
    scorer = DatScorer(FakeNouns(AXES), axis_encoder())
    return dat_by(scorer, repeated_words="representative")
