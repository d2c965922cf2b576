"""DAT rule 3: what a morphological analysis has to look like for a word to count as a noun, whichever the analyser.

The paper says only that Juman++ validates nouns (section 4.1). How its output is read is ours (docs/reproduce.md).
"""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sozo.data.foreign import LONGEST_WORD, whole_word
from sozo.data.settings import rare_setting, setting

_MAX_CACHED = 1 << 20
_AFFIXES = ("接頭辞", "接尾辞")
_PROPER = ("人名", "地名", "組織名", "固有名詞")
_NUMERALS = frozenset("〇零一二三四五六七八九十百千万億兆京垓壱弐参拾数")


class Morpheme(NamedTuple):
    """One reading of a morpheme: 品詞, 細分類, the meaning field (意味情報), 活用型 and 活用形 with a space between."""

    pos: str
    sub: str
    info: str = ""
    form: str = ""


# A word's morphemes in order, each as its readings, best first
Analysis = Sequence[Sequence[Morpheme]]


@dataclass(frozen=True)
class NounRules:
    """What counts as a noun beyond 名詞. The paper says nothing of any of these."""

    accept_affixes: bool = rare_setting(False, "お茶 and 子供たち count as nouns.")
    accept_unknown_katakana: bool = rare_setting(
        False, "Unknown words in katakana count as nouns."
    )
    reject_proper_nouns: bool = setting(
        False, "Names of people, places and organisations do not count."
    )


class NounVerdict(NamedTuple):
    """What the checker says of a word."""

    is_noun: bool
    proper: bool = False  # every noun reading is a proper noun
    wikipedia: bool = False  # the entry was acquired from Wikipedia automatically
    representative: str = ""  # its 代表表記 (林檎/りんご), morphemes joined by `+`; the surface where there is none
    glued: bool = False  # no entry of the dictionary but several, affixes apart; not where all are numerals
    # Two kanji numerals or more in a row, and no other noun (as 七五三 is)
    numeral: bool = False

    @property
    def lemma(self) -> str:
        """The representative without readings: 林檎飴 of 林檎/りんご+飴/あめ."""
        return "".join(part.split("/")[0] for part in self.representative.split("+"))


class NounChecker(Protocol):
    """Anything that says of words whether they are nouns. `name` is recorded with every result."""

    name: str

    def check(self, words: Sequence[str]) -> list[NounVerdict]:
        """A verdict per word, in order."""


def apply_rules(word: str, analysis: Analysis, rules: NounRules) -> NounVerdict:
    """The verdict on `word`: every morpheme must be 名詞, a single one in any reading, of several each in its best.

    >>> apply_rules("いぬ", [[Morpheme("名詞", "普通名詞", "代表表記:犬/いぬ")]], NounRules())
    NounVerdict(is_noun=True, proper=False, wikipedia=False, representative='犬/いぬ', glued=False, numeral=False)
    """
    if not analysis:
        return NounVerdict(False)
    chosen: list[Morpheme] = []
    proper = wikipedia = False
    for readings in analysis:
        candidates = readings if len(analysis) == 1 else readings[:1]
        nouns = [m for m in candidates if m.pos == "名詞"]
        best = (nouns or candidates)[0]
        if not nouns and not _excused(best, rules):
            return NounVerdict(False)
        chosen.append(best)
        proper |= bool(nouns) and all(m.sub in _PROPER for m in nouns)
        wikipedia |= "自動獲得:Wikipedia" in best.info
    if all(m.pos in _AFFIXES for m in chosen):
        return NounVerdict(False)
    forms = [_representative(m) for m in chosen]
    representative = "+".join(forms) if all(forms) else word
    content = [m for m in chosen if m.pos not in _AFFIXES]
    numeral = (
        len(word) > 1
        and _NUMERALS.issuperset(word)
        and (len(content) > 1 or content[0].sub == "数詞")
    )
    glued = len(content) > 1 and not numeral
    return NounVerdict(
        not (proper and rules.reject_proper_nouns),
        proper,
        wikipedia,
        representative,
        glued,
        numeral,
    )


def _excused(morpheme: Morpheme, rules: NounRules) -> bool:
    if morpheme.pos in _AFFIXES:
        return rules.accept_affixes and morpheme.sub.startswith(
            ("名詞接頭辞", "名詞性名詞")
        )
    return (
        rules.accept_unknown_katakana
        and morpheme.pos == "未定義語"
        and morpheme.sub == "カタカナ"
    )


def _representative(morpheme: Morpheme) -> str:
    fields = (field.partition(":") for field in morpheme.info.split())
    return next((value for name, _, value in fields if name == "代表表記"), "")


def sendable(word: str) -> bool:
    """May `word` reach an analyser? Only 1 to 40 letters, digits and marks may.

    All else is no noun, and chokes analysers: comments (#), quotes, spaces, control characters, broken surrogates, and
    memory that grows with the square of a word's length.
    """
    return 0 < len(word) <= LONGEST_WORD and all(
        unicodedata.category(c)[0] in "LNM" for c in word
    )


class MorphemeChecker(ABC):
    """A noun checker from an analyser: it is asked once per vetted word, and the rules are applied."""

    name: str

    def __init__(self, rules: NounRules | None = None) -> None:
        self.rules = rules or NounRules()
        self._verdicts: dict[str, NounVerdict] = {}

    @abstractmethod
    def analyse(self, word: str) -> Analysis:
        """Morphemes of one vetted word."""

    def check(self, words: Sequence[str]) -> list[NounVerdict]:
        """Verdicts on `words`, in order; a million are kept."""
        if len(self._verdicts) > _MAX_CACHED:
            self._verdicts.clear()
        words = list(map(whole_word, words))
        for word in words:
            if word not in self._verdicts:
                analysis = self.analyse(word) if sendable(word) else []
                self._verdicts[word] = apply_rules(word, analysis, self.rules)
        return [self._verdicts[word] for word in words]
