"""Lists of nouns that need no language model: where the nouns come from, and the frontier's lists."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from data.errors import UserError
from data.jumandic import load_nouns
from data.schema import Completion
from generate.protocol import entropy, numbered
from models.tiny import TINY, tiny_nouns


def read_nouns(name: str | None) -> Sequence[str]:
    """JumanDIC's nouns, or those of `tiny`, or of a file."""
    if name is None:
        return load_nouns()
    if name == TINY:
        return tiny_nouns()
    try:
        return Path(name).read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{name}: cannot be read as a list of nouns; give a text file, one noun per line") from error


class Frontier(Protocol):
    """A task's lists of nouns that are as random as they can be at their mean score (`Task.frontier`)."""

    def draw(self, strength: float, count: int, rng: np.random.Generator) -> list[list[str]]:
        """Lists of ten words, p(list) ~ exp(strength * score)."""

    def describe(self) -> dict[str, Any]:
        """What a record must hold to draw them again."""


class FrontierNouns:
    """Answers with lists from a frontier, whatever the prompts say."""

    temperature = None

    def __init__(self, frontier: Frontier, strength: float, *, name: str) -> None:
        self.name, self._frontier, self._strength = name, frontier, strength

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """A list of ten nouns for each of `prompts`."""
        drawn = self._frontier.draw(self._strength, len(prompts), np.random.default_rng(entropy(seed, batch)))
        return numbered(drawn)

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        return {"generator": "frontier", "strength": self._strength, **self._frontier.describe()}
