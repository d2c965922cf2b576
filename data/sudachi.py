"""Sudachi's dictionary (PyPI package sudachidict_core, which ja-ginza brings along): more compounds than JumanDIC."""

from functools import cache
from importlib.util import find_spec
from typing import Any


def has_entry(word: str) -> bool:
    """Whether the dictionary has `word` as one word, however long; False where the package is not installed.

    >>> [has_entry(word) for word in ("民主主義", "脇差し分化")]
    [True, False]
    """
    tokenizer = _tokenizer()
    if tokenizer is None:
        return False
    morphemes = list(tokenizer.tokenize(word))
    return len(morphemes) == 1 and not morphemes[0].is_oov()


@cache
def _tokenizer() -> Any:
    if not (find_spec("sudachipy") and find_spec("sudachidict_core")):
        return None
    from sudachipy import Dictionary, SplitMode

    return Dictionary(dict="core").create(SplitMode.C)  # C: the longest words
