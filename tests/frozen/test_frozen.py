"""Every number that must not move is the one that is frozen (freeze.py)."""

import json

import freeze
import pytest


@pytest.mark.parametrize("name", freeze.PARTS)
def test_nothing_has_moved(name, tmp_path):
    freeze.check(name, freeze.computed(name, tmp_path))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda v: v | {"a": {"x": [1.0, 2.00001]}}, "a / x / 1: now 2.00001, was 2.0"),
        (lambda v: v | {"b": "higher"}, "b: now 'higher', was 'lower'"),
        (lambda v: v | {"c": 0.0}, "c: now 0.0, was None"),
        (lambda v: {"b": v["b"], "c": None}, "went: a"),
        (lambda v: v | {"d": 1}, "came: d"),
        (lambda v: dict(reversed(v.items())), "the names are in another order"),
    ],
)
def test_a_change_is_seen_and_named(change, line, tmp_path, monkeypatch):
    monkeypatch.setattr(freeze, "HERE", tmp_path)
    then = {"a": {"x": [1.0, 2.0]}, "b": "lower", "c": None}
    freeze.write("part", then)
    freeze.check("part", then | {"a": {"x": [1.0 + 1e-8, 2.0]}})
    with pytest.raises(AssertionError, match="1 differences") as caught:
        freeze.check("part", json.loads(json.dumps(change(then))))
    assert line in str(caught.value)
    assert "python tests/frozen/freeze.py part" in str(caught.value)
