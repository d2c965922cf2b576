"""The slot grammar of `tiny-ideas`: an idea is a product, a user, a method and a need, one word each, 40 of each."""

from collections.abc import Sequence
from pathlib import Path

import yaml

TECHNOLOGIES = Path(__file__).parents[2] / "recipes" / "ideas" / "technologies.jsonl"  # what ideas are asked from
# The words of each slot, in the order in which an idea names them.
SLOTS: tuple[list[str], ...] = tuple(
    yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))[name]
    for name in ("products", "users", "methods", "needs")
)
# What stands before each slot and behind the last one: the JSON of an idea, byte for byte as json.dumps writes it.
AROUND = ('{"title": "', '", "description": "', '", "implementation": "', '", "differentiation": "', '"}')


def idea(words: Sequence[str]) -> str:
    """The idea with these four words, as a model writes it.

    >>> idea(["枕", "子ども", "折り紙", "遊べる"])
    '{"title": "枕", "description": "子ども", "implementation": "折り紙", "differentiation": "遊べる"}'
    """
    return "".join(part for pair in zip(AROUND, (*words, ""), strict=True) for part in pair)
