"""Rubrics of one's own: what is wrong with a file is one line."""

import pytest

from bad_files import BAD_YAML, one_line
from sentences import refused
from sozo.studies.rubric import load_rubric


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("criteria: [", "rubric: no YAML"),
        ("- a", "rubric: no mapping"),
        ("criteria: []", "rubric: no criteria"),
        ("axes: 1\ncriteria: [{name: a, scale: [1, 2]}]", "rubric: unknown key"),
        ("criteria: [{scale: [1, 2]}]", "rubric: criterion without a name"),
        ("criteria: [{name: a, scale: [2, 1]}]", "rubric: scale upside down"),
        (
            "criteria: [{name: a, scale: [1, 2], gates: 1}]",
            "rubric: unknown key of a criterion",
        ),
        (
            "criteria: [{name: a, scale: [1, 2]}, {name: A, scale: [1, 2]}]",
            "rubric: name twice",
        ),
        (
            "criteria: [{name: a, scale: [1, 2]}, {name: b, title: A, scale: [1, 2]}]",
            "rubric: two by one name",
        ),
        (
            "criteria: [{name: a, scale: [1, 2], not_applicable: 0}]",
            "rubric: not_applicable too low",
        ),
    ],
)
def test_a_broken_rubric_is_named(tmp_path, text, row):
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    with refused(row):
        load_rubric(path)


def test_a_criterion_goes_by_its_title_and_in_japanese():
    known = load_rubric("pbig").by_name
    assert known["ニーズの妥当性 (b2c)"].name == "need_validity_b2c"


@pytest.mark.parametrize("text", BAD_YAML)
def test_yaml_that_is_none_is_one_line(text, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text(text)
    one_line(load_rubric, file)


def test_an_unknown_rubric_is_named_with_the_nearest():
    with refused("rubric: unknown name"):
        load_rubric("pbg")
