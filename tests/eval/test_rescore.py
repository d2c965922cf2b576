"""A table scored again is the table that scoring from scratch gives; the old one is not touched."""

import re
import shutil

import pytest
from typer.testing import CliRunner

from fakes import FakeNouns, axis_encoder, read_answer_table
from run_files import bytes_of, config_of, metrics_of
from sampling_worker import NOUNS, dat_by, sample
from sentences import refused
from sozo.eval.cli import make_app
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import read_answers, run_task, score_answers, score_parts
from sozo.models.settings import GeneratorSettings
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.task import Dat

STRICT = Dat(DatSettings(noun_checker="jumandic", reject_proper_nouns=True))


def other_scorer():
    """Knows other nouns than the worker's scorer, and other vectors."""
    return DatScorer(FakeNouns(NOUNS[1:]), axis_encoder(NOUNS[::-1], name="other"))


def score_again(folder, part_rows):
    task = dat_by(other_scorer())
    score_parts(
        task,
        read_answers(task, folder / "old", None),
        folder / "new",
        part_rows=part_rows,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    task = Dat(DatSettings(noun_checker="jumandic"))
    run_task(
        task,
        GeneratorSettings("random"),
        SamplingOptions(num_answers=50, batch_size=20),
        folder,
    )
    return folder


@pytest.fixture
def run(made, tmp_path):
    """A finished run of 50 random answers in parts of 20."""
    return shutil.copytree(made, tmp_path / "run")


def test_scoring_again_equals_scoring_from_scratch(tmp_path):
    sample(tmp_path / "old", 50, 8)
    sample(tmp_path / "scratch", 50, 8, task=dat_by(other_scorer()))
    before = bytes_of(tmp_path / "old")
    score_again(tmp_path, 8)
    assert bytes_of(tmp_path / "new") == bytes_of(tmp_path / "scratch")
    assert bytes_of(tmp_path / "new") != before == bytes_of(tmp_path / "old")


def test_what_a_kill_left_is_completed(tmp_path):
    sample(tmp_path / "old", 20, 4)
    score_again(tmp_path, 4)
    whole = bytes_of(tmp_path / "new")
    for name in ("part-00001.parquet", "part-00004.parquet"):
        (tmp_path / "new" / name).unlink()
    score_again(tmp_path, 4)
    assert bytes_of(tmp_path / "new") == whole


def test_the_command(run, tmp_path):
    words = [
        "score",
        "dat",
        str(run),
        "--output",
        str(tmp_path / "new"),
        "--language",
        "en",
        "--olson",
    ]
    done = CliRunner().invoke(make_app(), words)
    assert done.exit_code == 0, done.output
    assert re.search(
        r"Usable 0\.0% \[0\.0, 7\.1\], 0 of 50", " ".join(done.stdout.split())
    )
    rows, old = list(read_answer_table(tmp_path / "new")), list(read_answer_table(run))
    assert {r.reason for r in rows} == {"not_english"}
    for new, before in zip(rows, old, strict=True):
        for name in ("id", "source", "seed", "text", "temperature", "finish_reason"):
            assert getattr(new, name) == getattr(before, name)
    config = config_of(tmp_path / "new")
    assert (config["settings"]["task"], config["settings"]["olson"]) == ("dat", True)
    assert metrics_of(tmp_path / "new")["source"] == "random"


def test_finished_is_left_alone_and_another_table_is_refused(run, tmp_path):
    first = score_answers(STRICT, run, tmp_path / "new")
    again = score_answers(STRICT, run, tmp_path / "new")
    assert (first.finished_before, again.finished_before) == (False, True)
    assert first.metrics == again.metrics
    (run / "answers" / "part-00002.parquet").unlink()
    with refused("score: fewer answers"):
        score_answers(STRICT, run, tmp_path / "new")


def test_what_cannot_be_scored_again_is_one_line(run, tmp_path):
    with refused("score: the table itself"):
        score_answers(STRICT, run, run)
    with refused("score: no such file"):
        score_answers(STRICT, tmp_path / "none", tmp_path / "new")
    (run / "metrics.json").unlink()
    (run / "answers" / "part-00002.parquet").unlink()
    with refused("score: not finished"):
        score_answers(STRICT, run, tmp_path / "new")
    assert not (tmp_path / "new").exists()
