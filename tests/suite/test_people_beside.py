"""People beside models and random lists: one rule and one scorer for all of them, and no rank."""

import json

import numpy as np
import pandas as pd
import pytest

from sentences import refused
from sheets import WORDS, command, lists, save, table
from sozo.scoring.measure import Measure
from sozo.suite.people.beside import beside
from sozo.suite.people.lists import people_words
from sozo.suite.people.scores import score_written
from sozo.tasks import Dat
from sozo.tasks.dat.scorer import DatSettings

# A list that only people's rule takes: commas, a noun of people's checker, a word that is none.
LENIENT = "、".join(["自由", "走る", *WORDS[:7]])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A finished run of forty lists, half of which only people's rule takes."""
    numbered = "\n".join(f"{k}. {word}" for k, word in enumerate(WORDS, 1))
    texts = [LENIENT, numbered] * 20
    lines = [json.dumps({"id": str(k), "text": text}) for k, text in enumerate(texts)]
    file = save(tmp_path / "answers.jsonl", "\n".join(lines))
    folder = tmp_path / "runs/theirs"
    flags = ("--noun-checker", "jumandic", "--output", folder)
    code, _, err = command(monkeypatch, capsys, "score", "dat", file, *flags)
    assert code == 0, err
    return folder


def test_models_are_scored_by_the_rule_of_people(run, tmp_path, monkeypatch, capsys):
    file = save(tmp_path / "p.csv", table(lists(LENIENT, "、".join(WORDS), "犬")))
    flags = ("people", file, "--beside", run.parent, "--output", tmp_path / "out")
    code, said, err = command(monkeypatch, capsys, *flags)
    assert (code, err) == (0, "")
    people, random, theirs = said[said.index("| Who") :].splitlines()[2:5]
    # The same two lists, over and over: the same mean, as many different words as two of them have.
    mean = people.split("|")[2].split()[0].rstrip(",")
    assert theirs.split("|")[2].split()[0] == mean
    assert "66.7%, 2 of 3" in people
    assert "100.0%, 40 of 40" in theirs
    assert "999 of 1,000" in random


def test_numbers_of_a_side_are_those_of_its_lists_alone(run):
    task = Dat(DatSettings()).for_people()
    words = [people_words(LENIENT), WORDS]
    written = pd.DataFrame({"participant": ["1", "2"], "trial": "", "words": words})
    people = score_written(written.assign(text=""), task.scorer)
    plane = beside(task, people, str(run), Measure("dat"))
    own, random, theirs = plane.table.rows
    assert own.cells[0].value == pytest.approx(people["score"].mean())
    assert theirs.cells[0].value == pytest.approx(people["score"].mean())
    # 自由 and the first six words, and the first seven: of two lists drawn of forty 19 in 39 are of one kind.
    assert theirs.cells[2].value == pytest.approx(8 - 19 / 39)
    assert own.cells[2].value == pytest.approx(8)
    assert [name for _, name in plane.keys] == ["People", "Random nouns", theirs.name]
    assert np.isfinite(random.cells[0].estimate.low)


def test_a_folder_without_a_run_of_dat_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with refused("people: nobody to stand beside"):
        beside(Dat(), None, str(tmp_path / "empty"), Measure("dat"))
