"""Is a word a noun? Two checkers, the same dictionary and rules: Juman++ itself, and JumanDIC by MeCab."""

import logging
import shutil
from functools import cache

from sozo.data.errors import UserError
from sozo.scoring.nouns.jumandic import JumanDicChecker
from sozo.scoring.nouns.jumanpp import JumanppChecker
from sozo.scoring.nouns.rules import NounChecker, NounRules, Verdict

__all__ = ["JumanDicChecker", "JumanppChecker", "NounChecker", "NounRules", "Verdict", "make_noun_checker"]


def make_noun_checker(name: str = "auto", rules: NounRules | None = None) -> NounChecker:
    """The checker called `name`: `jumanpp`, `jumandic`, or `auto` (jumanpp where its command works, else jumandic)."""
    if name == "jumanpp" or (name == "auto" and (command := shutil.which("jumanpp")) and _works(command)):
        return JumanppChecker(rules)
    if name in ("jumandic", "auto"):
        return JumanDicChecker(rules)
    raise UserError(f"no noun checker is called {name!r}; choose auto, jumanpp or jumandic")


@cache
def _works(command: str) -> bool:
    try:
        JumanppChecker(command=command).analyse("犬")
    except UserError as error:
        logging.getLogger(__name__).warning("the noun checker auto takes jumandic: %s", error)
        return False
    return True
