"""`sozo encoders`: its measures on hand-worked numbers, and the command on packaged encoders."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from english_lists import FAR
from sozo.data.jumandic import categories
from sozo.eval.cli import make_app
from sozo.studies.encoders.measures import (
    auc_of_sharing,
    common_direction_share,
    labels_of,
    random_pairs,
)


def test_pairs_are_of_two_different_words_and_uniform():
    left, right = random_pairs(3, 6000, seed=0)
    assert (left != right).all()
    counts = np.bincount(3 * left + right, minlength=9)
    assert counts[[0, 4, 8]].sum() == 0
    assert abs(counts[[1, 2, 3, 5, 6, 7]] - 1000).max() < 150


def test_auc_of_sharing_on_words_that_are_sorted_by_hand():
    # Two kinds, two axes, and a word without a kind that must not count.
    unit = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]], np.float32)
    labels = labels_of(["a", "a", "b", "b", ""], list)
    assert labels.tolist() == [1, 1, 2, 2, 0]
    assert auc_of_sharing(unit, labels, 500, seed=0) == 1
    assert auc_of_sharing(unit[[0, 2, 1, 3, 4]], labels, 500, seed=0) == pytest.approx(
        0.25, abs=0.05
    )


def test_words_without_labels_have_no_auc_of_sharing_one():
    assert (
        auc_of_sharing(np.eye(10, dtype=np.float32), labels_of(FAR, categories), 100, 0)
        is None
    )


def test_a_common_direction_is_told_from_distance_between_words():
    # On a line all is common direction: lists of words +1 and -1, the mean being on the side of +1.
    line = np.array([[1], [1], [1], [-1]], np.float32)
    assert common_direction_share(
        line, np.array([[0, 1], [0, 3], [1, 2]])
    ) == pytest.approx(1)
    # u = (cos a, +-sin a), each with both signs: the mean is along the first axis. Of cos(u, v) = x x' + y y', lists of
    # (0, 1), (0, 2), (3, 1) have x x' = 0.64, 0.48, 0.48 and y y' = -0.36, 0.48, 0.48: together 0.28, 0.96, 0.96.
    unit = np.array([[0.8, 0.6], [0.8, -0.6], [0.6, 0.8], [0.6, -0.8]], np.float32)
    lists = np.array([[0, 1], [0, 2], [3, 1]])
    part, whole = -np.array([0.64, 0.48, 0.48]), -np.array([0.28, 0.96, 0.96])
    expected = np.cov(part, whole)[0, 1] / whole.var(ddof=1)
    assert expected == pytest.approx(-0.16 / 0.68)
    assert common_direction_share(unit, lists) == pytest.approx(expected, rel=1e-4)


def test_the_command(tmp_path):
    words = [
        "encoders",
        "ja-ginza",
        "categories",
        "--output",
        str(tmp_path / "out"),
        "--num-lists",
        "500",
    ]
    done = CliRunner().invoke(make_app(), words)
    assert done.exit_code == 0, done.output
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))
    ginza, people = metrics["encoders"]
    assert (ginza["name"], people["name"]) == ("ja-ginza", "categories")
    assert people["nouns"] == 22_125
    assert ginza["nouns"] < metrics["of"] == 22_128
    assert metrics["nouns"] < ginza["nouns"]  # those that both know
    assert 0.5 < ginza["same_category"] < 0.6 < people["same_category"]
    assert 0.7 < ginza["same_domain"] < 0.8
    assert ginza["r"]["ja-ginza"] == pytest.approx(1)
    assert ginza["r"]["categories"] == pytest.approx(people["r"]["ja-ginza"], rel=1e-12)
    page = (tmp_path / "out" / "encoders.md").read_text("utf-8")
    assert "| ja-ginza " in page
    assert page in done.output
    with pytest.MonkeyPatch.context() as patched:  # nothing is measured again
        patched.setattr("sozo.studies.encoders.run.make_encoder", None)
        assert page in CliRunner().invoke(make_app(), words).output
