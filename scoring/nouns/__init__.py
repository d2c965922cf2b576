"""Is a word a noun? Japanese: Juman++ itself, or the same dictionary and rules by MeCab; English: lemminflect."""

import logging
import shutil
from functools import cache

from sozo.data.errors import UserError
from sozo.scoring.nouns.english import LemminflectChecker
from sozo.scoring.nouns.jumandic import JumanDicChecker
from sozo.scoring.nouns.jumanpp import JumanppChecker
from sozo.scoring.nouns.rules import (
    MorphemeChecker,
    NounChecker,
    NounRules,
    NounVerdict,
)
from sozo.scoring.nouns.speakers import SpeakersChecker

__all__ = [
    "JumanDicChecker",
    "JumanppChecker",
    "NounChecker",
    "NounRules",
    "NounVerdict",
    "check_name",
    "make_noun_checker",
]

_NAMES = ("auto", "jumanpp", "jumandic", "lemminflect")
SPEAKERS = "-speakers"  # behind a checker's name: what people call nouns counts too


def check_name(name: str) -> None:
    """Refuse a name that no checker has."""
    if name.removesuffix(SPEAKERS) not in _NAMES:
        known = "auto, jumanpp, jumandic or (English) lemminflect; for people jumandic-speakers and so on"
        raise UserError(f"no noun checker is called {name!r}; choose {known}")


def make_noun_checker(
    name: str = "auto", rules: NounRules | None = None
) -> NounChecker:
    """The checker called `name`: `jumanpp`, `jumandic`, or `auto` (jumanpp where its command works, else jumandic).

    `lemminflect` is for English, to which the `rules` do not apply. With `-speakers` behind it a name is the checker
    for people, who call more words nouns than the models' rule does.
    """
    check_name(name)
    paper = name.removesuffix(SPEAKERS)
    checker: MorphemeChecker
    if paper == "lemminflect":
        return LemminflectChecker(name)
    if paper == "jumanpp" or (
        paper == "auto" and (command := shutil.which("jumanpp")) and _works(command)
    ):
        checker = JumanppChecker(rules)
    else:
        checker = JumanDicChecker(rules)
    return checker if paper == name else SpeakersChecker(checker)


@cache
def _works(command: str) -> bool:
    try:
        JumanppChecker(command=command).analyse("犬")
    except UserError as error:
        logging.getLogger(__name__).warning(
            "the noun checker auto takes jumandic: %s", error
        )
        return False
    return True
