"""Nothing that stays may change while the house is rebuilt: what tests/freeze.py makes is what it made before."""

import json

import pytest

import freeze

pytestmark = pytest.mark.studies  # of the whole repository


@pytest.fixture(scope="module")
def frozen():
    return json.loads(freeze.FROZEN.read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("frozen")


def check(section, frozen, folder):
    before, now = frozen["made"][section.__name__], freeze.plain(section(folder))
    tolerance = 1e-9 if frozen["cpu"] == freeze.cpu() else 1e-5
    assert list(freeze.differences(before, now, tolerance)) == []


@pytest.mark.parametrize("section", freeze.FAST, ids=lambda section: section.__name__)
def test_what_is_made_is_what_was_made(section, frozen, folder):
    """In this order: what is read of runs comes after `runs`."""
    check(section, frozen, folder)


@pytest.mark.slow
def test_training_is_what_it_was(frozen, folder):
    check(freeze.training, frozen, folder)


def test_a_difference_is_found_in_every_kind_of_value():
    before = {"a": [1.0, "x", {"b": None}], "weights": "q"}
    assert list(freeze.differences(before, json.loads(json.dumps(before)), 1e-9)) == []
    for other in (
        {"a": [1.0 + 1e-8, "x", {"b": None}], "weights": "q"},
        {"a": [1.0, "y", {"b": None}], "weights": "q"},
        {"a": [1.0, "x", {"b": 0}], "weights": "q"},
        {"a": [1.0, "x", {}], "weights": "q"},
        {"a": [1.0, "x"], "weights": "q"},
        {"a": [1.0, "x", {"b": None}], "weights": "p"},
        {**before, "c": 1},
    ):
        assert len(list(freeze.differences(before, other, 1e-9))) == 1
    assert list(freeze.differences({"weights": "q"}, {"weights": "p"}, 1e-5)) == []  # another processor


def test_what_came_and_what_went_is_told_from_what_changed():
    assert list(freeze.differences({"a": {"b": 1}, "d": 3}, {"a": {"c": 1}, "d": 4}, 1e-9)) == [
        "/a/b: only before",
        "/a/c: only now",
        "/d: 3 before, 4 now",
    ]


def test_the_file_stays_small():
    assert len(freeze.FROZEN.read_bytes()) < 320_000
