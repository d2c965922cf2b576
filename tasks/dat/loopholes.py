"""Kinds of words by which a list can look more different than it is: each is counted, and can be refused."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sozo.data.errors import UserError
from sozo.data.sudachi import has_entry
from sozo.scoring.nouns import Verdict
from sozo.tasks.dat.table import read_lists

if TYPE_CHECKING:
    from sozo.tasks.dat.scorer import DatRules

# Kind -> its bit in a word's flags. Wikipedia: the checker's entry was acquired from there by a program.
BITS = {"proper_noun": 1, "wikipedia": 2, "glued": 4, "numeral": 8, "rare": 16}
_RARE = 100_000  # rare is a word that is less than one of so many words of the base model's lists


class Loopholes:
    """Says of nouns what kinds they are, and which of them the rules refuse.

    `base` is the table of the base model's responses, without which no word is known to be rare.
    """

    def __init__(self, rules: "DatRules", base: Path | None) -> None:
        if rules.reject_rare and base is None:
            raise UserError("reject_rare needs base_responses: the folder of the base model's DAT run")
        kinds = {"glued": rules.reject_glued, "numeral": rules.reject_numerals, "rare": rules.reject_rare}
        self._refused = sum(BITS[kind] for kind, refused in kinds.items() if refused)
        self._common = None if base is None else common_words(base)
        self.kinds = [kind for kind in BITS if kind != "rare" or base is not None]  # those that are looked for

    def flags(self, word: str, verdict: Verdict) -> int:
        """The bits of a noun's kinds."""
        kinds = {
            "proper_noun": verdict.proper,
            "wikipedia": verdict.wikipedia,
            "glued": verdict.glued and not has_entry(word),
            "numeral": verdict.numeral,
            "rare": self._common is not None and word not in self._common,
        }
        return sum(BITS[kind] for kind, holds in kinds.items() if holds)

    def refuse(self, flags: int) -> bool:
        """Whether a noun with these flags is refused."""
        return bool(flags & self._refused)


def common_words(base: Path) -> frozenset[str]:
    """The words that make up one in 100,000, or more, of the words of a table's valid lists."""
    words, lists = read_lists(base)
    if not words:
        raise UserError(f"{base}: no valid list of ten words; give the folder of the base model's DAT run")
    enough = np.bincount(lists.ravel()) * _RARE >= lists.size
    return frozenset(word for word, common in zip(words, enough.tolist(), strict=True) if common)
