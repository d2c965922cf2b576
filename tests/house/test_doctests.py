"""The examples in docstrings: what they say comes out does come out."""

import doctest
import importlib
from pathlib import Path

import pytest

import house

FILES = [name for name, text in house.sources().items() if ">>> " in text]


@pytest.mark.parametrize("file", FILES)
def test_docstrings_are_true(file):
    name = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    # Scripts import what is beside them in recipes/.
    module = importlib.import_module(
        name.removeprefix("recipes.") if name.startswith("recipes.") else f"sozo.{name}"
    )
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed
