"""What a text must be before its distance from the story is paid: a rewrite of that story, and prose.

No rule looks at the encoder, so that the limits hold whichever one pays. benchmarks/README.md shows what they stop.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

from sozo.data.jumandic import make_tagger
from sozo.data.schema import utf8_safe
from sozo.scoring.parse import HIRAGANA
from sozo.tasks.sat.compliance import LENGTH_BAND, check
from sozo.tasks.sat.score import what_counts

# Set on five stories, their honest rewrites and their attacks; where a limit has room, it stands about halfway.
# Share of letters: rewrites 0.56 to 0.79, news 0.42; word lists up to 0.32, English 0, readings 0.98.
KANA = (0.35, 0.9)
DISTINCT = 0.8  # share of 4-grams that are new: rewrites from 0.96, tales from 0.91; anything repeated up to 0.27
# `Prose.joint`: rewrites up to -2970, tales up to -2500; shuffled words from -1740
JOINT = -2350.0
COPIED = 0.3  # share of the story's 8-grams: rewrites up to 0.02; half a story 0.46
KEPT = 0.6  # weight of the story's terms: rewrites up to 0.37; the story with a quarter of its nouns replaced 0.84
RIVALS = 0.01  # of the tales, one of 113: rewrites up to 1, off topic mostly from 2
# Of the tales, 12 of 113: rewrites up to 9, an essay as one half from 17
RIVALS_OF_HALF = 0.115

_KANA = re.compile(f"[{HIRAGANA}ァ-ヺー]")
_CONTENT = ("名詞", "動詞", "形容詞", "副詞")
_EMPTY = (
    "形式名詞",
    "副詞的名詞",
    "数詞",
)  # こと, ため, 三: nouns that say nothing of what a text is about
_SENTENCE = re.compile(r"[^。]*。|[^。]+$")
_REPRESENTATIVE = re.compile(r"代表表記:(\S+)")
# Unknown words in katakana are mostly names: ナルキッソス
_NAME = re.compile("[ァ-ヶー]{2,}")
_KANJI = re.compile("[\u4e00-\u9fff]")
_UNKNOWN = "未定義語"


class GateReason(StrEnum):
    """Why nothing is paid, in the order in which the rules are applied: the first that fails is given."""

    NO_TEXT = "no_text"  # as without a score: not one letter or digit but in reasoning
    LENGTH = "length"  # not about 400 characters
    LINES = "lines"  # more than one line
    EXTRAS = "extras"  # something beside the story
    SCRIPT = "script"  # too little or too much kana for Japanese prose
    REPETITION = "repetition"  # the same phrases again and again
    DISORDER = "disorder"  # words that do not follow each other: shuffled, or a list
    COPIED = "copied"  # too much of the story's wording, or too many of its words
    OFF_TOPIC = "off_topic"  # some other tale is told as much as the story
    PADDING = "padding"  # one half has nothing of the story


class Gate:
    """Says of a story and a text whether the text is paid.

    Whether a text is a rewrite of its story is found by contrast: of all `tales`, it must have most in common with this
    one, and so must each of its halves, if less clearly. A threshold of similarity would depend on its vocabulary.

    >>> gate = Gate(["川に大きな桃が流れてきた。", "亀を助けた漁師が竜宮へ行った。"], length=(10, 60))
    >>> story = "鶴を助けた若者の家に、美しい娘が来て機を織った。"
    >>> print(gate(story, "鶴の着ぐるみの若者が動画を撮っていると、次の日、布を売りたいという娘が来た。"))
    None
    >>> str(gate(story, "漁師の少年は、いじめられていた亀を助けて、海の底にある竜宮へ連れて行かれた。"))
    'off_topic'
    """

    def __init__(
        self, tales: Iterable[str], length: tuple[int, int] = LENGTH_BAND
    ) -> None:
        self.length = length
        self._terms = lru_cache(1 << 12)(lambda text: read_prose(text).terms)
        self._others = lru_cache(1 << 12)(self._other_tales)
        self._weight = lru_cache(1 << 12)(self._sum_of_weights)
        self._tales = [self._terms(tale) for tale in dict.fromkeys(tales)]
        counts = Counter(term for tale in self._tales for term in tale)
        self._most = math.log(len(self._tales) + 1)
        # Inverse document frequency: 言う is in every tale and tells none from another.
        self._weights = {
            term: self._most - math.log(n + 1) for term, n in counts.items()
        }

    def __call__(self, story: str, text: str) -> GateReason | None:
        """Why `text` is not paid as a rewrite of `story`; None if it is."""
        rewrite, unusable = what_counts(text)
        if unusable is not None:
            return GateReason(str(unusable))
        compliance = check(story, rewrite)
        if not self.length[0] <= compliance.length <= self.length[1]:
            return GateReason.LENGTH
        if not compliance.one_line:
            return GateReason.LINES
        if compliance.extras:
            return GateReason.EXTRAS
        if reason := not_prose(rewrite):
            return reason
        terms = read_prose(rewrite).terms
        if (compliance.copied or 0) > COPIED or self.share(
            self._terms(story), terms
        ) > KEPT:
            return GateReason.COPIED
        if self.rivals(story, terms) > RIVALS:
            return GateReason.OFF_TOPIC
        middle = len(rewrite) // 2
        if any(
            self.rivals(story, read_prose(h).terms) > RIVALS_OF_HALF
            for h in (rewrite[:middle], rewrite[middle:])
        ):
            return GateReason.PADDING
        return None

    def share(self, tale: frozenset[str], terms: frozenset[str]) -> float:
        """Weight of a tale's terms that are among `terms`, of the weight of them all, 0 to 1."""
        total = self._weight(tale)
        return self._sum_of_weights(tale & terms) / total if total else 0.0

    def rivals(self, story: str, terms: frozenset[str]) -> float:
        """Share of the other tales that have as much of themselves among `terms` as the story has, 0 to 1."""
        own, others = self.share(self._terms(story), terms), self._others(story)
        return (
            sum(self.share(tale, terms) >= own for tale in others) / len(others)
            if others
            else 0.0
        )

    def _sum_of_weights(self, terms: frozenset[str]) -> float:
        # fsum is exact, so the order of a set, another in every process, changes nothing.
        return math.fsum(self._weights.get(term, self._most) for term in terms)

    def _other_tales(self, story: str) -> list[frozenset[str]]:
        """The tales that are not this story, nor the same tale in other words."""
        return [
            tale for tale in self._tales if self.share(tale, self._terms(story)) <= KEPT
        ]


def not_prose(text: str) -> GateReason | None:
    """Why a text is no Japanese prose, whatever it is about; None if it is.

    >>> str(not_prose("Once upon a time")), not_prose("亀が浜辺を走った。")
    ('script', None)
    """
    if not KANA[0] <= kana_share(text) <= KANA[1]:
        return GateReason.SCRIPT
    if distinct_share(text) < DISTINCT:
        return GateReason.REPETITION
    return GateReason.DISORDER if read_prose(text).joint > JOINT else None


def kana_share(text: str) -> float:
    """Share of the letters and digits that are hiragana or katakana.

    >>> kana_share("亀がいる"), kana_share("A turtle.")
    (0.75, 0.0)
    """
    letters = "".join(
        character for character in text if character.isalnum() or character == "ー"
    )
    return len(_KANA.findall(letters)) / len(letters) if letters else 0.0


def distinct_share(text: str) -> float:
    """Distinct character 4-grams of all; 1 for a text of fewer than 4 characters.

    >>> distinct_share("亀が浜辺にいた"), distinct_share("亀亀亀亀亀亀亀")
    (1.0, 0.25)
    """
    grams = [text[i : i + 4] for i in range(len(text) - 3)]
    return len(set(grams)) / len(grams) if grams else 1.0


@dataclass(frozen=True, slots=True)
class Prose:
    """A text as MeCab reads it."""

    # What it is about: its content words (nouns, verbs, adjectives, adverbs), each by its 代表表記, so that 走った and
    # はしる are one, and its kanji, so that 漁師 and 漁村 have something in common.
    terms: frozenset[str]
    # Mean connection cost of neighbouring morphemes, in MeCab's units. The costs were learned from newspapers: what
    # often follows what has a low one. Prose is near -3000, shuffled words near -1600, a bare list near 0.
    joint: float


@lru_cache(16)  # who asks whether a text is prose may ask next what it is about
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
            lines = [
                f"{character}\t0\t{_UNKNOWN}\t*\t*" for character in sentence.strip()
            ]
        for line in lines:
            fields = line.split("\t")
            if len(fields) == 5:
                yield fields


@cache
def _tagger() -> Any:
    # %pC is the cost of the connection to the morpheme before, which no Python binding hands out but as text.
    known, unknown = (
        rf"%m\\t%pC\\t{columns}\\n"
        for columns in (r"%f[0]\\t%f[1]\\t%f[6]", rf"{_UNKNOWN}\\t*\\t*")
    )
    return make_tagger(rf'-F "{known}" -U "{unknown}" -E "EOS\\n"')
