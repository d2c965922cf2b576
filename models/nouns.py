"""Lists of nouns that need no language model: where the nouns come from, and the frontier's lists."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sozo.data.errors import UserError
from sozo.data.jumandic import load_nouns
from sozo.data.schema import Completion
from sozo.models.generator import entropy, numbered
from sozo.models.tiny import TINY, tiny_nouns


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

    nouns: Sequence[str]  # those that lists are made of

    def draw(self, strength: float, count: int, rng: np.random.Generator) -> list[list[str]]:
        """Lists of ten words, p(list) ~ exp(strength * score)."""

    def word_by_word(self, strength: float, word_strength: float) -> Any:
        """Lists whose words come as often as `word_strength` has them, by the distribution of each (`WordByWord`)."""

    def describe(self) -> dict[str, Any]:
        """What a record must hold to draw them again."""


class FrontierNouns:
    """Answers with lists from a frontier, whatever the prompts say; with `word_strength`, word by word."""

    temperature = None

    def __init__(self, frontier: Frontier, strength: float, word_strength: float | None = None, *, name: str) -> None:
        self.name, self.frontier, self._strength, self._word_strength = name, frontier, strength, word_strength

    @cached_property
    def words(self) -> Any:
        """What draws word by word (`WordByWord`); None of lists that are drawn as a whole."""
        if self._word_strength is None:
            return None
        return self.frontier.word_by_word(self._strength, self._word_strength)

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """A list of ten nouns for each of `prompts`."""
        rng = np.random.default_rng(entropy(seed, batch))
        if self.words is None:
            return numbered(self.frontier.draw(self._strength, len(prompts), rng))
        lists = self.words.draw(len(prompts), rng).tolist()
        return numbered([[self.frontier.nouns[word] for word in row] for row in lists])

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record."""
        strengths = {"strength": self._strength, "word_strength": self._word_strength}
        return {"generator": "frontier", **strengths, **self.frontier.describe()}
