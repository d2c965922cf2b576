"""Rubrics of one's own: what is wrong with a file is one line."""

import pytest

from bad_files import BAD_YAML, one_line
from sozo.data.errors import UserError
from sozo.studies.rubric import load_rubric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("criteria: [", "not YAML \\(line 1"),
        ("- a", "must be a mapping of keys"),
        ("criteria: []", "criteria: List should have at least 1 item"),
        ("axes: 1\ncriteria: [{name: a, scale: [1, 2]}]", "unknown key axes"),
        ("criteria: [{scale: [1, 2]}]", "criteria 1, name: is missing"),
        ("criteria: [{name: a, scale: [2, 1]}]", r"the scale \[2, 1\] is not"),
        (
            "criteria: [{name: a, scale: [1, 2], gates: 1}]",
            "criteria 1: unknown key gates",
        ),
        (
            "criteria: [{name: a, scale: [1, 2]}, {name: A, scale: [1, 2]}]",
            "'a' comes twice",
        ),
        ("criteria: [{name: a, scale: [1, 2], above: {b: 1}}]", "`above` says b: 1"),
        (
            "criteria: [{name: a, scale: [1, 2]}, {name: b, scale: [1, 2], above: {a: 2}}]",
            "`above` says a: 2",
        ),
        (
            "criteria: [{name: a, scale: [1, 2]}, {name: b, title: A, scale: [1, 2]}]",
            "both go by 'a'",
        ),
        (
            "criteria: [{name: a, scale: [1, 2], not_applicable: 0}]",
            "not_applicable is 0",
        ),
    ],
)
def test_a_broken_rubric_is_named_in_one_line(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(UserError, match=message) as raised:
        load_rubric(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_criterion_goes_by_its_title_and_in_japanese():
    assert (
        load_rubric("pbig").criterion("ニーズの妥当性 (B2C)").name
        == "need_validity_b2c"
    )


@pytest.mark.parametrize("text", BAD_YAML)
def test_yaml_that_is_none_is_one_line(text, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text(text)
    one_line(load_rubric, file)


def test_an_unknown_rubric_is_named_with_the_nearest():
    with pytest.raises(UserError, match=r"did you mean pbig\?"):
        load_rubric("pbg")
