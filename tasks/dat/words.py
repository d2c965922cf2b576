"""The words of DAT's lists: the rules, kinds by which a list looks more different than it is, and all words so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sozo.data.errors import UserError
from sozo.data.foreign import LONGEST_WORD, whole_word
from sozo.data.jumandic import nouns_of
from sozo.data.schema import Reason
from sozo.data.settings import rare_setting, setting
from sozo.data.sudachi import has_entry
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.keys import word_hash
from sozo.scoring.nouns import NounChecker, NounVerdict
from sozo.scoring.parse import NUM_WORDS, script_reason
from sozo.scoring.plain_lists import WordIndex, word_hashes
from sozo.tasks.dat.table import read_lists

REASONS = tuple(Reason)
# Arrays hold a word's noun by its number, 0 or more, or the code of why it is none; an answer's code is 0 where it is
# usable. Codes fall in the rules' order, so that of several the greatest is the first rule's.
CODE = {reason: -1 - i for i, reason in enumerate(REASONS)}
SCRIPT_CODES = (
    CODE[Reason.NOT_JAPANESE],
    CODE[Reason.NOT_ENGLISH],
    CODE[Reason.SYMBOL],
)
PROMPTS: dict[str, str] = {"ja": "dat", "en": "dat_en"}
_MAX_CACHED = 1 << 20
# Kind -> its bit in a word's flags. Wikipedia: the checker's entry was acquired from there by a program.
BITS = {
    "proper_noun": 1,
    "wikipedia": 2,
    "glued": 4,
    "numeral": 8,
    "respelled": 32,
    "rare": 16,
}
_AMBIGUOUS = -2  # in place of a row
COUNTED, _TIMES = 7, 100  # words, and what distances are multiplied by: Olson's
# What becomes of a list with a word twice. The paper has no rule about it.
REPEATED_WORDS = REFUSE, KEEP, REPRESENTATIVE = ("refuse", "keep", "representative")
_RARE = 100_000  # rare is a word that is less than one of so many words of the base model's lists


@dataclass(frozen=True)
class DatRules:
    """The protocol: the paper's exclusions (section 4.1), and beyond them `repeated_words` and `no_vector`, which are ours.

    English words are in Latin letters, and their case does not matter. With `olson` (Olson et al., 2021, English) the
    first 7 valid words of the 10 count, times 100; an answer with fewer is unusable for its first bad word's reason.
    """

    language: str = setting("ja", "ja or en: the language that words are asked for in.")
    olson: bool = setting(
        False,
        lambda: (
            f"Olson et al. (2021), English only: first {COUNTED} valid words, times {_TIMES}."
        ),
    )
    reasoning: bool = rare_setting(True, "Cut off a leading <think>...</think>.")
    repeated_words: str = rare_setting(
        REFUSE,
        "A word twice in a list: refuse it, keep it, or representative: refuse it, りんご and 林檎, or cat and cats, being"
        " one; so are people's Japanese lists read.",
    )
    reject_glued: bool = rare_setting(
        False, "Words glued from several, that no dictionary has, are no nouns."
    )
    reject_numerals: bool = rare_setting(
        False, "Runs of kanji numerals (一二三) are no nouns."
    )
    reject_rare: bool = rare_setting(
        False, "Words that are rare in --base-answers are no nouns."
    )

    def identity(self, word: str, verdict: NounVerdict) -> str:
        """Words of equal identity are one word in a list."""
        by_representative = self.repeated_words == REPRESENTATIVE
        return (by_representative and verdict.representative) or word

    @property
    def times(self) -> int:
        """By what mean distances are multiplied."""
        return _TIMES if self.olson else 1


class WordTable:
    """Looks words up by the hundred thousand, and asks the checker and the encoder about new ones only.

    A word is its noun's number (>= 0), an index into the arrays below, or the code of a reason (< 0). `base` is the
    table of the base model's answers, without which no word is known to be rare.
    """

    def __init__(
        self,
        checker: NounChecker,
        vectors: WordVectors,
        rules: DatRules,
        base: Path | None,
    ) -> None:
        if rules.reject_rare and base is None:
            raise UserError(
                "reject_rare needs base_answers: the folder of the base model's DAT run"
            )
        self._checker = checker
        self._vectors = vectors
        self._rules = rules
        refused = {
            "glued": rules.reject_glued,
            "numeral": rules.reject_numerals,
            "rare": rules.reject_rare,
        }
        self._refused = sum(refused[kind] * BITS[kind] for kind in refused)
        self._common = None if base is None else common_words(base)
        self._forms = getattr(vectors.encoder, "forms", None)
        looked_for = dict.fromkeys(BITS, rules.language == "ja")
        looked_for |= {"respelled": bool(self._forms), "rare": base is not None}
        self.kinds = list(filter(looked_for.get, BITS))
        self._codes: dict[str, int] = {}
        self._index = WordIndex()  # the same codes by the words' hashes
        self._identities: dict[str, int] = {}
        # Of each noun in the vectors' matrix; -1 or _AMBIGUOUS for none
        self.rows = np.zeros(0, np.int32)
        self.flags = np.zeros(0, np.uint8)  # bits of the noun's kinds (`BITS`)
        # Nouns of equal identity are the same word
        self.identities = np.zeros(0, np.int32)
        self.hashes = np.zeros((0, 2), np.uint64)  # for the duplicates' keys
        self.lemmas = np.zeros((0, 2), np.uint64)  # the same of the nouns' lemmas

    def look_up(self, words: list[str]) -> np.ndarray:
        """Number or reason code of each word, learning the new ones first."""
        codes = self._codes
        try:
            return np.fromiter(map(codes.__getitem__, words), np.int32, len(words))
        except KeyError:
            words = list(map(whole_word, words))
            # A model that babbles must not fill the memory
            if len(codes) > _MAX_CACHED:
                codes = self._codes = {
                    word: code for word, code in codes.items() if code >= 0
                }
                self._index = WordIndex()
                self._remember(list(codes))
            self._learn([word for word in dict.fromkeys(words) if word not in codes])
            return np.fromiter(map(codes.__getitem__, words), np.int32, len(words))

    def look_up_hashes(self, hashes: np.ndarray) -> np.ndarray:
        """As `look_up`, of words by their hashes (`plain_lists`): UNKNOWN for those that are new."""
        return self._index.look_up(hashes)

    def _remember(self, words: list[str]) -> None:
        # Longer ones are in no plain list, and neither is NUL, which adds nothing to a hash.
        words = [
            word for word in words if len(word) <= LONGEST_WORD and "\0" not in word
        ]
        codes = np.array([self._codes[word] for word in words], np.int32)
        self._index.add(word_hashes(words), codes)

    def _learn(self, words: list[str]) -> None:
        self._judge(words)
        self._remember(words)

    def _judge(self, words: list[str]) -> None:
        codes = self._codes
        nouns = []
        script = {word: script_reason(word, self._rules.language) for word in words}
        codes.update(
            (word, CODE[reason])
            for word, reason in script.items()
            if reason is not None
        )
        candidates = [word for word, reason in script.items() if reason is None]
        for word, verdict in zip(
            candidates, self._checker.check(candidates), strict=True
        ):
            flags = self._flags(word, verdict)
            if verdict.is_noun and not flags & self._refused:
                nouns.append((word, verdict, flags))
            else:
                codes[word] = CODE[Reason.NOT_NOUN]
        if not nouns:
            return
        first = len(self.rows)
        rows = self._rows([(word, verdict) for word, verdict, _ in nouns])
        # A word without a vector takes no other spelling's place.
        identities = [
            self._rules.identity(word, verdict) if row >= 0 else word
            for (word, verdict, _), row in zip(nouns, rows, strict=True)
        ]
        numbered = [
            self._identities.setdefault(identity, len(self._identities))
            for identity in identities
        ]
        self.rows = np.append(self.rows, np.array(rows, np.int32))
        self.flags = np.append(
            self.flags, np.array([flags for _, _, flags in nouns], np.uint8)
        )
        self.identities = np.append(self.identities, np.array(numbered, np.int32))
        self.hashes = np.concatenate(
            [self.hashes, np.stack([word_hash(word) for word, _, _ in nouns])]
        )
        lemmas = [verdict.representative or word for word, verdict, _ in nouns]
        self.lemmas = np.concatenate(
            [self.lemmas, np.stack([word_hash(lemma) for lemma in lemmas])]
        )
        codes.update((word, first + i) for i, (word, _, _) in enumerate(nouns))

    def _rows(self, nouns: Sequence[tuple[str, NounVerdict]]) -> list[int]:
        """Rows of the nouns' vectors. In a file an English noun is its lemma if that is there; Olson's program knows none."""
        rows = self._vectors.rows([word for word, _ in nouns])
        if self._rules.language == "ja":
            for k, (word, _) in enumerate(nouns):
                if rows[k] < 0 and self._forms and len(nouns_of(word)) > 1:
                    rows[k] = _AMBIGUOUS
            return rows
        if self._rules.olson or not getattr(self._vectors.encoder, "by_lemma", False):
            return rows
        lemmas = self._vectors.rows([verdict.lemma or word for word, verdict in nouns])
        return [
            lemma if lemma >= 0 else row
            for lemma, row in zip(lemmas, rows, strict=True)
        ]

    def _flags(self, word: str, verdict: NounVerdict) -> int:
        """The bits of a noun's kinds."""
        kinds = {
            "proper_noun": verdict.proper,
            "wikipedia": verdict.wikipedia,
            "glued": verdict.glued and not has_entry(word),
            "numeral": verdict.numeral,
            "respelled": self._respelled(word),
            "rare": self._common is not None and word not in self._common,
        }
        return sum(kinds[kind] * BITS[kind] for kind in kinds)

    def _respelled(self, word: str) -> bool:
        """Whether a word's vector is that of another spelling, or of its parts."""
        return self._forms is not None and self._forms(word) not in ((word,), ())

    def bad_words(self, numbers: np.ndarray) -> np.ndarray:
        """Per word 0 or the code of what is wrong with it, shape (answers, 10)."""
        bad = np.minimum(numbers, 0).astype(np.int8)
        if len(self.rows):
            # A reason's code is no noun's number: it looks up any noun (0) and is masked after.
            nouns = np.maximum(numbers, 0)
            rows = np.where(bad == 0, self.rows[nouns], 0)
            bad[rows < 0] = CODE[Reason.NO_VECTOR]
            bad[rows == _AMBIGUOUS] = CODE[Reason.AMBIGUOUS]
            if self._rules.repeated_words == KEEP:
                return bad
            identities = np.ascontiguousarray(
                np.where(numbers < 0, -1, self.identities[nouns]).T
            )
            for k in range(1, NUM_WORDS):
                repeated = (identities[:k] == identities[k]).any(axis=0) & (
                    numbers[:, k] >= 0
                )
                bad[repeated, k] = CODE[Reason.REPEATED_WORD]
        return bad


def common_words(base: Path) -> frozenset[str]:
    """The words that make up one in 100,000, or more, of the words of a table's usable lists."""
    words, lists = read_lists(base)
    if not words:
        raise UserError(
            f"{base}: no usable list of ten words; give the folder of the base model's DAT run"
        )
    enough = np.bincount(lists.ravel()) * _RARE >= lists.size
    return frozenset(
        word for word, common in zip(words, enough.tolist(), strict=True) if common
    )
