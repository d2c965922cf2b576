"""The notebook does, cell by cell, what its text says."""

import json
import os
import re
import sys

import pytest

import warm
from documents import ROOT

CELLS = json.loads((ROOT / "examples" / "first_hour.ipynb").read_text("utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]
TRAINS = next(k for k, source in enumerate(CODE) if '"train", "grpo"' in source)


def run(cells, folder):
    """What the cells print, run in order in one namespace and a folder of their own, as a reader runs them."""
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "offline",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", "\n\n".join(cells)]
    done = warm.run(command, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def parts(text, name):
    """Mean, word choice, position and pairing of a table's row."""
    (row,) = re.findall(
        rf"^{name} +(\S+) = (\S+) ± \S+ +(\S+) +(\S+) ±", text, re.MULTILINE
    )
    return [float(value) for value in row]


def check_scores_and_parts(text):
    assert re.search(r"far apart +0\.8", text)
    assert re.search(r"animals +0\.6", text)
    assert re.search(r"with a verb +unusable: not_noun", text)
    tables = {
        name: parts(text, name)
        for name in ("random", "500 far nouns", "a template", "frontier")
    }
    for mean, *summands in tables.values():
        assert mean == pytest.approx(sum(summands), abs=2e-4)
    assert (
        tables["500 far nouns"][1] - tables["random"][1] > 0.01
    )  # its words, and nothing else
    assert (
        tables["a template"][2]
        > 0.003
        > max(abs(tables[name][2]) for name in ("random", "frontier"))
    )
    assert (
        tables["frontier"][3]
        > 0.01
        > max(abs(tables[name][3]) for name in ("random", "a template"))
    )


def test_a_list_is_scored_and_a_mean_taken_apart(tmp_path):
    check_scores_and_parts(run(CODE[:TRAINS], tmp_path))


@pytest.mark.slow
def test_the_whole_notebook(tmp_path):
    text = run(CODE, tmp_path)
    check_scores_and_parts(text)
    assert "The trained model is in" in text
    means = {
        name: float(re.search(rf"^{name} +mean (\S+) \[", text, re.MULTILINE)[1])
        for name in ("before", "after")
    }
    assert means["after"] > means["before"]
    assert re.search(r"score by ja-ginza \S+ \(\+", text)
    assert parts(text, "after")[1] > parts(text, "before")[1]
