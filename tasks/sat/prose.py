"""What a Japanese text is made of, by MeCab with JumanDIC: its terms, and how well its words fit together."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from sozo.data.jumandic import make_tagger
from sozo.data.schema import utf8_safe

_CONTENT = ("名詞", "動詞", "形容詞", "副詞")
_EMPTY = ("形式名詞", "副詞的名詞", "数詞")  # こと, ため, 三: nouns that say nothing of what a text is about
_SENTENCE = re.compile(r"[^。]*。|[^。]+$")
_REPRESENTATIVE = re.compile(r"代表表記:(\S+)")
_NAME = re.compile("[ァ-ヶー]{2,}")  # unknown words in katakana are mostly names: ナルキッソス
_KANJI = re.compile("[\u4e00-\u9fff]")
_UNKNOWN = "未定義語"


@dataclass(frozen=True, slots=True)
class Prose:
    """A text as MeCab reads it."""

    # What it is about: its content words (nouns, verbs, adjectives, adverbs), each by its 代表表記, so that 走った and
    # はしる are one, and its kanji, so that 漁師 and 漁村 have something in common.
    terms: frozenset[str]
    # Mean connection cost of neighbouring morphemes, in MeCab's units. The costs were learned from newspapers: what
    # often follows what has a low one. Prose is near -3000, shuffled words near -1600, a bare list near 0.
    joint: float


def read_prose(text: str) -> Prose:
    """Analyse a text; needs the packages jumandic and fugashi.

    >>> prose = read_prose("亀が浜辺を走った。")
    >>> sorted(prose.terms), prose.joint < -2500 < read_prose("亀浜辺、。がたを走っ").joint
    (['亀', '亀/かめ', '浜', '浜辺/はまべ', '走', '走る/はしる', '辺'], True)
    """
    terms, costs = set(_KANJI.findall(text)), []
    for surface, cost, pos, sub, meaning in morphemes(text):
        costs.append(int(cost))
        if pos == _UNKNOWN:
            terms |= {surface} if _NAME.fullmatch(surface) else set()
        elif pos in _CONTENT and sub not in _EMPTY:
            representative = _REPRESENTATIVE.search(meaning)
            terms.add(representative[1] if representative else surface)
    return Prose(frozenset(terms), sum(costs) / len(costs) if costs else 0.0)


def morphemes(text: str) -> Iterator[list[str]]:
    """Surface, connection cost, part of speech, its sub-part and meaning of each morpheme."""
    tagger = _tagger()
    # MeCab takes a C string, and a sentence at a time limits what one that cannot be read costs.
    for sentence in _SENTENCE.findall(utf8_safe(text).replace("\0", " ")):
        try:
            lines = tagger.parse(sentence).splitlines()
        except UnicodeDecodeError:
            # Six entries of the packaged dictionary end inside a character; MeCab takes one only where nothing better
            # fits, in noise.
            lines = [f"{character}\t0\t{_UNKNOWN}\t*\t*" for character in sentence.strip()]
        yield from (line.split("\t") for line in lines if line.count("\t") == 4)


@cache
def _tagger() -> Any:
    # %pC is the cost of the connection to the morpheme before, which no Python binding hands out but as text.
    known, unknown = (rf"%m\\t%pC\\t{columns}\\n" for columns in (r"%f[0]\\t%f[1]\\t%f[6]", rf"{_UNKNOWN}\\t*\\t*"))
    return make_tagger(rf'-F "{known}" -U "{unknown}" -E "EOS\\n"')
