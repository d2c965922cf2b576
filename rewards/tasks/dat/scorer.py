"""DatScorer: texts -> DAT scores or reasons. Benchmark, rewards and training data all go through it.

parse -> script -> noun -> repeated word -> vector -> mean pairwise distance (rules 1 to 5; paper, section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from data.schema import Reason
from rewards.distance import mean_pairwise_distance
from rewards.duplicates import response_keys, word_hash
from rewards.embeddings import DEFAULT_ENCODER, Encoder, WordVectors, make_encoder
from rewards.nouns import NounChecker, NounRules, Verdict, make_noun_checker
from rewards.parse import NUM_WORDS, script_reason, split_list

_REASONS = tuple(Reason)
_CODE = {reason: -1 - i for i, reason in enumerate(_REASONS)}
_SCRIPT_CODES = (_CODE[Reason.NOT_JAPANESE], _CODE[Reason.SYMBOL])
_CHUNK = 2048  # the strings of a chunk stay in cache
_MAX_CACHED = 1 << 20
_PROPER, _WIKIPEDIA = 1, 2


@dataclass(frozen=True, slots=True)
class DatRules:
    """Settings of the scorer. The defaults are the paper's protocol.

    Args:
        reasoning: Cut off a leading `<think>...</think>`.
        repeated_by_representative: A word counts as repeated if its 代表表記 is (りんご and 林檎).
        olson: Olson et al. (2021), English: words in Latin letters, case folded, the first 7 valid ones of the 10,
            times 100. A response with fewer is invalid for the reason of its first bad word.
    """

    reasoning: bool = True
    repeated_by_representative: bool = False
    olson: bool = False

    @property
    def scale(self) -> float:
        """Factor on the mean distance."""
        return 100.0 if self.olson else 1.0


@dataclass(frozen=True, slots=True)
class DatResult:
    """One response: its words (None unless it is a list of ten), and a score or a reason."""

    words: tuple[str, ...] | None
    score: float | None
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class DatScores(Sequence[DatResult]):
    """Results of a batch in columns; indexing gives a `DatResult`.

    Attributes:
        texts: What was scored.
        scores: Float32, NaN where invalid, shape (responses,).
        codes: Int8, 0 where valid, else -1 - index of the `Reason`.
        keys: Key for `SeenResponses`; None where invalid.
        proper_nouns: Words of valid responses that are proper nouns only.
        wikipedia_words: Words of valid responses whose entry was acquired from Wikipedia.
        reasoning: Whether a leading reasoning block was cut off.
    """

    texts: Sequence[str]
    scores: np.ndarray
    codes: np.ndarray
    keys: list[bytes | None]
    proper_nouns: int
    wikipedia_words: int
    reasoning: bool

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        reason = self.reason(index)
        return DatResult(self.words(index), float(self.scores[index]) if reason is None else None, reason)

    def __iter__(self) -> Iterator[DatResult]:
        return (self[i] for i in range(len(self)))

    def words(self, index: int) -> tuple[str, ...] | None:
        """The ten words of response `index`, or None if it is no list of ten.

        Cut out of the text again: keeping 1.3 million strings of 131,072 responses would cost more than all scoring.
        """
        return None if self.codes[index] == _CODE[Reason.FORMAT] else split_list(self.texts[index], self.reasoning)

    def reason(self, index: int) -> Reason | None:
        """Why response `index` is invalid; None if it is valid."""
        code = int(self.codes[index])
        return None if code == 0 else _REASONS[-1 - code]


@dataclass(slots=True)
class _Nouns:
    """What is known of the nouns seen so far, by their number."""

    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))  # in the vectors' matrix; -1 for none
    flags: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    identities: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    hashes: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.uint64))


class DatScorer:
    """Scores DAT responses.

    Args:
        checker: Says which words are nouns.
        encoder: Embeds them.
        rules: Protocol settings.
        cache_dir: Folder of the disk cache of vectors; None keeps none.

    A score is the mean over the word pairs of 1 - cos, in [0, 2] (times 100 with `olson`).

    >>> from rewards.embeddings import make_encoder
    >>> from rewards.nouns import make_noun_checker
    >>> scorer = DatScorer(make_noun_checker("jumandic"), make_encoder("ja-ginza"))
    >>> text = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> result = scorer.score([text, "1. 犬"])
    >>> round(result[0].score, 2), str(result[1].reason)
    (0.81, 'format')
    """

    def __init__(
        self, checker: NounChecker, encoder: Encoder, rules: DatRules | None = None, *, cache_dir: Path | None = None
    ) -> None:
        self.checker = checker
        self.rules = rules or DatRules()
        self.vectors = WordVectors(encoder, cache_dir)
        self._codes: dict[str, int] = {}  # word -> its noun's number (>= 0) or a reason's code (< 0)
        self._nouns = _Nouns()
        self._identities: dict[str, int] = {}

    def describe(self) -> dict[str, Any]:
        """What a results file must record to say how a score came about."""
        noun_rules = getattr(self.checker, "rules", None)
        return {
            "noun_checker": self.checker.name,
            "noun_rules": asdict(noun_rules) if noun_rules else None,
            "embedding_model": self.vectors.encoder.name,
            "embedding_revision": self.vectors.encoder.revision,
            "dat_rules": asdict(self.rules),
        }

    def score(self, texts: Sequence[str]) -> DatScores:
        """Results of `texts`, in order. Any text at all gives a score or a reason.

        Raises:
            EncoderError: The encoder gives no word a vector.
            JumanppError: Juman++ cannot be kept alive.
        """
        # All look-ups first, all arithmetic after: in between, the vectors would push the dictionary out of the cache.
        chunks = [self._numbers(texts[i : i + _CHUNK]) for i in range(0, len(texts), _CHUNK)]
        found = [i * _CHUNK + k for i, (where, _) in enumerate(chunks) for k in where]
        numbers = np.concatenate([n for _, n in chunks] or [np.zeros((0, NUM_WORDS), np.int32)])
        bad = self._bad_words(numbers)
        numbers, reasons = _first_seven(numbers, bad) if self.rules.olson else (numbers, _first_rule(bad))

        n, at = len(texts), np.array(found, np.int64)
        codes = np.full(n, _CODE[Reason.FORMAT], np.int8)
        codes[at] = reasons
        good, at = numbers[reasons == 0], at[reasons == 0]
        scores = np.full(n, np.nan, np.float32)
        distances = mean_pairwise_distance(self.vectors.matrix, self._nouns.rows[good])
        scores[at] = distances * np.float32(self.rules.scale)
        keys: list[bytes | None] = [None] * n
        for i, key in zip(at.tolist(), response_keys(self._nouns.hashes[good]), strict=True):
            keys[i] = key
        flags = self._nouns.flags[good]
        proper, wikipedia = (int(np.count_nonzero(flags & flag)) for flag in (_PROPER, _WIKIPEDIA))
        return DatScores(texts, scores, codes, keys, proper, wikipedia, self.rules.reasoning)

    def _numbers(self, texts: Sequence[str]) -> tuple[list[int], np.ndarray]:
        """Which texts are lists of ten, and their words' numbers or reason codes, shape (lists, 10)."""
        found: list[int] = []
        flat: list[str] = []
        for i, text in enumerate(texts):
            words = split_list(text, self.rules.reasoning)
            if words is not None:
                found.append(i)
                flat += words
        return found, self._look_up([w.lower() for w in flat] if self.rules.olson else flat).reshape(-1, NUM_WORDS)

    def _look_up(self, words: list[str]) -> np.ndarray:
        """Number or reason code of each word, learning the new ones first."""
        codes = self._codes
        try:
            return np.fromiter(map(codes.__getitem__, words), np.int32, len(words))
        except KeyError:
            if len(codes) > _MAX_CACHED:  # a model that babbles must not fill the memory
                codes = self._codes = {word: code for word, code in codes.items() if code >= 0}
            self._learn([word for word in dict.fromkeys(words) if word not in codes])
            return np.fromiter(map(codes.__getitem__, words), np.int32, len(words))

    def _learn(self, words: list[str]) -> None:
        codes, nouns = self._codes, []
        script = {word: script_reason(word, latin=self.rules.olson) for word in words}
        codes.update((word, _CODE[reason]) for word, reason in script.items() if reason is not None)
        candidates = [word for word, reason in script.items() if reason is None]
        for word, verdict in zip(candidates, self.checker.check(candidates), strict=True):
            if verdict.is_noun:
                nouns.append((word, verdict))
            else:
                codes[word] = _CODE[Reason.NOT_NOUN]
        if nouns:
            self._add(nouns, self.vectors.rows([word for word, _ in nouns]))

    def _add(self, nouns: list[tuple[str, Verdict]], rows: list[int]) -> None:
        known, first = self._nouns, len(self._nouns.rows)
        by_representative = self.rules.repeated_by_representative
        identities = [v.representative if by_representative and v.representative else word for word, v in nouns]
        numbered = [self._identities.setdefault(identity, len(self._identities)) for identity in identities]
        flags = [_PROPER * v.proper | _WIKIPEDIA * v.wikipedia for _, v in nouns]
        known.rows = np.append(known.rows, np.array(rows, np.int32))
        known.flags = np.append(known.flags, np.array(flags, np.uint8))
        known.identities = np.append(known.identities, np.array(numbered, np.int32))
        known.hashes = np.concatenate([known.hashes, np.stack([word_hash(word) for word, _ in nouns])])
        self._codes.update((word, first + i) for i, (word, _) in enumerate(nouns))

    def _bad_words(self, numbers: np.ndarray) -> np.ndarray:
        """Per word 0 or the code of what is wrong with it, shape (responses, 10)."""
        bad = np.minimum(numbers, 0).astype(np.int8)
        if len(self._nouns.rows):
            # A reason's code is no noun's number: it looks up any noun (0) and is masked after.
            nouns = np.maximum(numbers, 0)
            bad[(bad == 0) & (self._nouns.rows[nouns] < 0)] = _CODE[Reason.NO_VECTOR]
            identities = np.ascontiguousarray(np.where(numbers < 0, -1, self._nouns.identities[nouns]).T)
            for k in range(1, NUM_WORDS):
                repeated = (identities[:k] == identities[k]).any(axis=0) & (numbers[:, k] >= 0)
                bad[repeated, k] = _CODE[Reason.REPEATED_WORD]
        return bad


def _first_rule(bad: np.ndarray) -> np.ndarray:
    """Per response 0, or the code of the first rule that a word fails; both script reasons are one rule."""
    codes = np.where(bad == 0, np.int8(-128), bad).max(axis=1)
    codes[codes == -128] = 0
    foreign = np.isin(bad, _SCRIPT_CODES)
    which = foreign.any(axis=1)
    codes[which] = bad[which, foreign[which].argmax(axis=1)]
    return codes


def _first_seven(numbers: np.ndarray, bad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Olson's choice: the first seven good words; a response with fewer is invalid for its first bad word's reason."""
    good = bad == 0
    order = np.argsort(~good, axis=1, kind="stable")[:, :7]
    first_bad = bad[np.arange(len(bad)), (~good).argmax(axis=1)]
    return np.take_along_axis(numbers, order, axis=1), np.where(good.sum(axis=1) >= 7, np.int8(0), first_bad)


@dataclass(frozen=True, slots=True)
class ScorerSettings:
    """Names and rules from which a scorer is built: what a flag, a YAML file or an environment variable can say.

    >>> ScorerSettings(noun_checker="jumandic").build().describe()["embedding_model"]
    'ja-ginza'
    """

    noun_checker: str = "auto"
    embedding_model: str = DEFAULT_ENCODER
    embedding_revision: str | None = None
    embedding_cache: str | None = None
    rules: DatRules = field(default_factory=DatRules)
    noun_rules: NounRules = field(default_factory=NounRules)

    def build(self) -> DatScorer:
        """Load the checker and the encoder; see `make_noun_checker` and `make_encoder` for the errors."""
        checker = make_noun_checker(self.noun_checker, self.noun_rules)
        encoder = make_encoder(self.embedding_model, revision=self.embedding_revision)
        return DatScorer(
            checker, encoder, self.rules, cache_dir=Path(self.embedding_cache) if self.embedding_cache else None
        )
