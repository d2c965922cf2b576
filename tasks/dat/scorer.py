"""DatScorer: texts -> DAT scores or reasons, for benchmark, rewards and training data; and what can be set about it.

parse -> script -> noun -> repeated word -> vector -> mean pairwise distance (the score: paper, section 3.2; the first
three rules: section 4.1, read by us; the other two are ours: docs/reproduce.md).
"""

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Reason
from sozo.data.settings import rare_setting, setting
from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import Encoder, WordVectors, make_encoder
from sozo.scoring.endpoint.profile import HELP
from sozo.scoring.keys import answer_keys
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.nouns import (
    NounChecker,
    NounRules,
    check_name,
    make_noun_checker,
)
from sozo.scoring.parse import NUM_WORDS, split_list
from sozo.scoring.plain_lists import UNKNOWN, plain_lists
from sozo.tasks.dat.words import (
    CODE,
    COUNTED,
    REASONS,
    REPEATED_WORDS,
    SCRIPT_CODES,
    DatRules,
    WordTable,
)

_CHUNK = 2048  # the strings of a chunk stay in cache
AUTO = "auto"  # what suits the language
_OF_JAPANESE = (
    "accept_affixes",
    "accept_unknown_katakana",
    "reject_glued",
    "reject_numerals",
)
# What only a score on the scale of the published norms is called
OLSONS_DAT = "Olson's DAT"
# Distances from cat by GloVe 840B 300d, as the examples of Olson et al.'s program print them.
_FROM_CAT = {"dog": 0.1983, "thimble": 0.8787}


@dataclass(frozen=True)
class EncoderSettings:
    """Who turns words into vectors."""

    panel = "Encoder"
    embedding_model: str = setting(
        AUTO,
        "A sentence-transformers hub id or folder, openai:NAME, ja-ginza, minilm (English), e5, categories,"
        " vectors:FILE, centred:NAME, or A+B; auto takes ja-ginza, in English minilm.",
    )
    embedding_cache: str | None = setting(
        None,
        "Folder of a disk cache of word vectors; none: keep none.",
        affects_result=False,
    )
    embedding_revision: str | None = rare_setting(
        None, "Hub revision of the embedding model."
    )
    embedding_endpoint: str | None = rare_setting(
        None,
        f"How the endpoint of openai:NAME is spoken to: {HELP}.",
        affects_result=False,
    )


@dataclass(frozen=True)
class DatSettings(EncoderSettings, NounRules, DatRules):
    """Checker, encoder and rules: all that a DAT score depends on."""

    noun_checker: str = setting(
        AUTO,
        "auto, jumanpp, jumandic, or (English) lemminflect; auto takes jumanpp where the command works. With -speakers"
        " behind it, the default for people's lists, it takes what people call nouns.",
    )
    base_answers: str | None = rare_setting(
        None, "A DAT run of the base model: tells which words are rare."
    )

    def __post_init__(self) -> None:
        # A block of YAML; settings are compared and hashed
        if isinstance(self.embedding_endpoint, dict):
            object.__setattr__(
                self, "embedding_endpoint", json.dumps(self.embedding_endpoint)
            )
        if (language := LANGUAGES.get(self.language)) is None:
            raise UserError(
                f"language must be {' or '.join(LANGUAGES)}, not {self.language!r}"
            )
        if self.repeated_words not in REPEATED_WORDS:
            raise UserError(
                f"repeated_words must be {', '.join(REPEATED_WORDS)}, not {self.repeated_words!r}"
            )
        if self.olson and self.language != "en":
            raise UserError(
                "olson is a protocol for English words: add language en (--language en)"
            )
        others = [
            checker
            for other in LANGUAGES.values()
            if other != language
            for checker in other.checkers
        ]
        if self.noun_checker in others:
            known = f"take {' or '.join(language.checkers)}, or leave it out"
            raise UserError(
                f"the noun checker {self.noun_checker} knows no {language.name} words; {known}"
            )
        check_name(self.noun_checker)
        if self.language != "ja" and (
            given := [name for name in _OF_JAPANESE if getattr(self, name)]
        ):
            raise UserError(
                f"{given[0]} is about Japanese words, and the language is {self.language}; leave it out"
            )

    def resolved(self) -> Self:
        """With `auto` decided. Cheap, and it catches an unknown or missing checker before a long file is read."""
        language = LANGUAGES[self.language]
        checker = language.checker if self.noun_checker == AUTO else self.noun_checker
        encoder = (
            language.encoder if self.embedding_model == AUTO else self.embedding_model
        )
        return replace(
            self,
            noun_checker=make_noun_checker(checker, self).name,
            embedding_model=encoder,
        )


@dataclass(frozen=True, slots=True)
class DatResult:
    """One answer: its words as they were looked up (None unless it is a list of ten), and a score or a reason."""

    words: tuple[str, ...] | None
    score: float | None
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class DatScores(Sequence[DatResult]):
    """Results of a batch in columns; indexing gives a `DatResult`."""

    texts: Sequence[str]  # what was scored
    scores: np.ndarray  # float32, NaN where unusable, shape (answers,)
    codes: np.ndarray  # int8, 0 where usable, else -1 - index of the `Reason`
    keys: list[bytes | None]  # key for `SeenAnswers`; None where unusable
    rules: DatRules  # by which they were read

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        reason = self.reason(index)
        return DatResult(
            self.words(index),
            float(self.scores[index]) if reason is None else None,
            reason,
        )

    def words(self, index: int) -> tuple[str, ...] | None:
        """The ten words of answer `index`, or None if it is no list of ten.

        Cut out of the text again: keeping 1.3 million strings of 131,072 answers would cost more than all scoring.
        """
        return (
            None
            if self.codes[index] == CODE[Reason.FORMAT]
            else words_of(self.texts[index], self.rules)
        )

    def reason(self, index: int) -> Reason | None:
        """Why answer `index` is unusable; None if it is usable."""
        code = int(self.codes[index])
        return None if code == 0 else REASONS[-1 - code]


class DatScorer:
    """Scores DAT answers.

    A score is the mean over the word pairs of 1 - cos, in [0, 2] (times 100 with `olson`). `cache_dir` is the folder of
    a disk cache of vectors; None keeps none. `base` is the table of the base model's answers, to know rare words by.

    >>> scorer = DatScorer.from_settings(DatSettings(noun_checker="jumandic"))
    >>> text = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> result = scorer.score([text, "1. 犬"])
    >>> round(result[0].score, 2), str(result[1].reason)
    (0.82, 'format')
    """

    def __init__(
        self,
        checker: NounChecker,
        encoder: Encoder,
        rules: DatRules | None = None,
        *,
        cache_dir: Path | None = None,
        base: Path | None = None,
    ) -> None:
        self.checker = checker
        self.rules = rules or DatRules()
        self.vectors = WordVectors(encoder, cache_dir)
        self.words = WordTable(checker, self.vectors, self.rules, base)

    @classmethod
    def from_settings(cls, settings: DatSettings) -> Self:
        """Load the checker and the encoder."""
        settings = settings.resolved()
        cache = Path(settings.embedding_cache) if settings.embedding_cache else None
        options: dict[str, Any] = {
            "cache": cache,
            "endpoint": settings.embedding_endpoint,
            "language": settings.language,
        }
        encoder = make_encoder(
            settings.embedding_model, revision=settings.embedding_revision, **options
        )
        base = Path(settings.base_answers) if settings.base_answers else None
        return cls(
            make_noun_checker(settings.noun_checker, settings),
            encoder,
            settings,
            cache_dir=cache,
            base=base,
        )

    def with_checker(self, noun_checker: str, settings: DatSettings) -> Self:
        """The same with another noun checker and the rules of `settings`; vectors are shared."""
        base = Path(settings.base_answers) if settings.base_answers else None
        other = copy(self)
        other.checker = make_noun_checker(noun_checker, settings)
        other.rules = settings
        other.words = WordTable(other.checker, self.vectors, settings, base)
        return other

    def describe(self) -> dict[str, Any]:
        """What a results file must record to say how a score came about."""
        noun_rules = getattr(self.checker, "rules", None)
        return {
            "noun_checker": self.checker.name,
            "noun_rules": _as_dict(noun_rules, NounRules) if noun_rules else None,
            **self.vectors.describe(),
            "dat_rules": _as_dict(self.rules, DatRules),
            **({} if self.rules.language == "ja" else {"score_name": self._name()}),
        }

    def _name(self) -> str:
        """What an English score may be called: only by the vectors of the published norms is it on their scale."""
        encoder = self.vectors.encoder.name
        words = ["cat", *_FROM_CAT]
        if self.rules.olson and encoder.startswith("vectors:"):
            pairs = np.array([[0, 1 + k] for k in range(len(_FROM_CAT))])
            if np.allclose(
                mean_pairwise_distance(self.vectors.unit(words), pairs),
                list(_FROM_CAT.values()),
                atol=1e-4,
            ):
                return OLSONS_DAT
        counted = "the first 7 valid words" if self.rules.olson else "ten words"
        return f"DAT of {counted} by {encoder}, not on the scale of published norms"

    def score(self, texts: Sequence[str]) -> DatScores:
        """Results of `texts`, in order. Any text at all gives a score or a reason."""
        # All look-ups first, all arithmetic after: in between, the vectors would push the dictionary out of the cache.
        chunks = [
            self._numbers(texts[i : i + _CHUNK]) for i in range(0, len(texts), _CHUNK)
        ]
        lists = [i * _CHUNK + places for i, (places, _) in enumerate(chunks)]
        numbers = np.concatenate(
            [n for _, n in chunks] or [np.zeros((0, NUM_WORDS), np.int32)]
        )
        bad = self.words.bad_words(numbers)
        numbers, reasons = (
            first_seven(numbers, bad)
            if self.rules.olson
            else (numbers, _first_rule(bad))
        )

        n = len(texts)
        at = np.concatenate([*lists, np.zeros(0, np.int64)])
        codes = np.full(n, CODE[Reason.FORMAT], np.int8)
        codes[at] = reasons
        good = numbers[reasons == 0]
        at = at[reasons == 0]
        scores = np.full(n, np.nan, np.float32)
        scores[at] = self.distances(good)
        keys: list[bytes | None] = [None] * n
        for i, key in zip(
            at.tolist(), answer_keys(self.words.hashes[good]), strict=True
        ):
            keys[i] = key
        return DatScores(texts, scores, codes, keys, self.rules)

    def distances(self, numbers: np.ndarray) -> np.ndarray:
        """Scores of lists of valid words by their numbers, shape (lists, words): float32 of shape (lists,)."""
        return mean_pairwise_distance(
            self.vectors.matrix, self.words.rows[numbers]
        ) * np.float32(self.rules.times)

    def flags(self, words: Sequence[str]) -> np.ndarray:
        """The kinds of the words of usable answers, bits of `sozo.tasks.dat.words.BITS`: uint8, shape (words,)."""
        numbers = self.words.look_up(list(words))
        return self.words.flags[numbers]

    def _numbers(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Which texts are lists of ten, and their words' numbers or reason codes, shape (lists, 10)."""
        plain, known = self._of_known_words(texts)
        others = np.ones(len(texts), bool)
        others[plain] = False
        lists: list[int] = []
        flat: list[str] = []
        for i in np.flatnonzero(others).tolist():
            words = words_of(texts[i], self.rules)
            if words is not None:
                lists.append(i)
                flat += words
        numbers = self.words.look_up(flat).reshape(-1, NUM_WORDS)
        which = np.concatenate([plain, np.array(lists, np.int64)])
        # In their order: the last bit of a score goes by where its answer stands.
        order = np.argsort(which)
        return which[order], np.concatenate([known, numbers])[order]

    def _of_known_words(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The plain lists whose words were all seen before, likewise: the same at a fraction of the time."""
        if self.rules.language == "en":  # whose case does not count
            texts = []
        which, hashes = plain_lists(texts)
        numbers = self.words.look_up_hashes(hashes)
        known = (numbers != UNKNOWN).all(axis=1)
        return which[known], numbers[known]


def words_of(text: str, rules: DatRules) -> tuple[str, ...] | None:
    """The ten words of a list as they are looked up, English ones in lower case; None if it is no list."""
    words = split_list(text, rules.reasoning)
    return (
        tuple(word.lower() for word in words)
        if words and rules.language == "en"
        else words
    )


def _as_dict(settings: Any, rules: type[Any]) -> dict[str, Any]:
    # The fields of `rules` alone: the settings may be those of a whole task.
    return {field.name: getattr(settings, field.name) for field in fields(rules)}


def _first_rule(bad: np.ndarray) -> np.ndarray:
    """Per answer 0, or the code of the first rule that a word fails; both script reasons are one rule."""
    # The first rule has the greatest code (`CODE`); -128 is below all of them
    codes = np.where(bad == 0, np.int8(-128), bad).max(axis=1)
    codes[codes == -128] = 0
    foreign = np.isin(bad, SCRIPT_CODES)
    which = foreign.any(axis=1)
    codes[which] = bad[which, foreign[which].argmax(axis=1)]
    return codes


def first_seven(numbers: np.ndarray, bad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Olson's choice: the first seven good words; an answer with fewer is unusable for its first bad word's reason."""
    good = bad == 0
    order = np.argsort(~good, axis=1, kind="stable")[:, :COUNTED]
    first_bad = bad[np.arange(len(bad)), (~good).argmax(axis=1)]
    return np.take_along_axis(numbers, order, axis=1), np.where(
        good.sum(axis=1) >= COUNTED, np.int8(0), first_bad
    )
