"""The examples in docstrings: what they say comes out does come out."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = (
    "data",
    "scoring",
    "tasks",
    "rewards",
    "models",
    "training",
    "eval",
    "suite",
    "studies",
    "recipes",
)
FILES = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_are_true(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
        ".__init__"
    )
    # Scripts import what is beside them in recipes/.
    module = importlib.import_module(
        name.removeprefix("recipes.") if name.startswith("recipes.") else f"sozo.{name}"
    )
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed
