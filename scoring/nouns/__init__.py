"""Is a word a noun? Japanese: Juman++ itself, or the same dictionary and rules by MeCab; English: lemminflect."""

import logging
import shutil
from functools import cache

from sozo.data.errors import UserError
from sozo.scoring.nouns.english import LemminflectChecker
from sozo.scoring.nouns.jumandic import JumanDicChecker
from sozo.scoring.nouns.jumanpp import JumanppChecker
from sozo.scoring.nouns.rules import NounChecker, NounRules, Verdict

__all__ = ["JumanDicChecker", "JumanppChecker", "NounChecker", "NounRules", "Verdict", "make_noun_checker"]


def make_noun_checker(name: str = "auto", rules: NounRules | None = None) -> NounChecker:
    """The checker called `name`: `jumanpp`, `jumandic`, or `auto` (jumanpp where its command works, else jumandic).

    `lemminflect` is for English, to which the `rules` do not apply.
    """
    if name == "lemminflect":
        return LemminflectChecker()
    if name == "jumanpp" or (name == "auto" and (command := shutil.which("jumanpp")) and _works(command)):
        return JumanppChecker(rules)
    if name in ("jumandic", "auto"):
        return JumanDicChecker(rules)
    raise UserError(f"no noun checker is called {name!r}; choose auto, jumanpp, jumandic or (English) lemminflect")


@cache
def _works(command: str) -> bool:
    try:
        JumanppChecker(command=command).analyse("犬")
    except UserError as error:
        logging.getLogger(__name__).warning("the noun checker auto takes jumandic: %s", error)
        return False
    return True
