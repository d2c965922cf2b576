"""A second encoder that scores finished answers, where a score or a gain comes from, and a gain over several runs.

A reward is a measure that was trained on; whether a gain is more than that shows by an encoder that was not.
Gains are in the standard deviations of the base's scores by the same encoder.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from sozo.scoring.distance import distance_of_known
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.embeddings.derived import CentredEncoder
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.measure import FEWEST, LEVEL, Estimate, t_test
from sozo.scoring.statistics.means import few, welch_freedom
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.translatable import translatable

_CHUNK = 4096
FEWEST_LISTS = 3  # the jackknife leaves one out, and what is left must hold two
# Names of what is known of a gain, and where `GainParts` has it; the first is by the runs' own encoder.
PARTS = {
    "gain_own": "",
    "gain_second": "total",
    "gain_shuffled": "shuffled",
    "gain_centred": "centred",
    "gain_word_choice": "word_choice",
    "gain_position": "position",
    "gain_pairing": "pairing",
}


class SecondEncoder:
    """Scores lists of words by the encoder called `name` (as in `make_encoder`), on which nobody trained.

    Gains are taken apart by its vectors without their mean over `nouns`, the same for all rows (None: all nouns of the
    words' language).
    """

    def __init__(
        self, name: str, nouns: Sequence[str] | None = None, language: str = "ja"
    ) -> None:
        self.encoder = make_encoder(name, language=language)
        self._vectors = WordVectors(self.encoder)
        self._given = name, nouns
        self._language = language
        self._others: dict[str, SecondEncoder] = {}
        self._seen: dict[Path, SeenLists | None] = {}

    @classmethod
    def if_named(cls, name: str | None) -> Self | None:
        """The one that a user names; None where none is named."""
        return cls(name) if name else None

    def for_language(self, language: str) -> "SecondEncoder":
        """The same for words of this language."""
        if language != self._language and language not in self._others:
            self._others[language] = SecondEncoder(*self._given, language)
        return self._others.get(language, self)

    def see(self, run: Any) -> "SeenLists | None":
        """What `run.seen_by` makes of it, once for each folder of a finished run."""
        if run.folder not in self._seen:
            self._seen[run.folder] = run.seen_by(self)
        return self._seen[run.folder]

    @cached_property
    def _centred(self) -> WordVectors:
        part = (
            self.encoder.vectors
            if isinstance(self.encoder, CentredEncoder)
            else self._vectors
        )
        _, nouns = self._given
        return WordVectors(
            CentredEncoder(
                part, LANGUAGES[self._language].nouns() if nouns is None else nouns
            )
        )

    def unit(self, words: Sequence[str], *, centred: bool = False) -> np.ndarray:
        """Unit vectors, float32 of shape (len(words), dimensions); zeros for a word that it does not know."""
        return (self._centred if centred else self._vectors).unit(words)

    def scores(self, lists: Sequence[Sequence[str]]) -> np.ndarray:
        """DAT scores of lists of equal length over the pairs that it knows, shape (lists with such a pair,)."""
        if not lists:
            return np.zeros(0)
        if any(
            isinstance(words, str) or len(words) != len(lists[0]) for words in lists
        ):
            raise ValueError("a second encoder scores lists of as many words")
        numbers: dict[str, int] = {}
        rows = np.array(
            [
                [numbers.setdefault(word, len(numbers)) for word in words]
                for words in lists
            ]
        )
        scores, known = distance_of_known(self.unit(list(numbers)), rows)
        return scores[known > 1]


@dataclass(frozen=True, slots=True)
class GainParts:
    """A row's gain over its base by a second encoder; None where there are too few lists.

    Each is a difference in standard deviations of the base's scores (Glass's delta).

    Everything but `total` and `shuffled` is by its vectors without their mean over the task's nouns, in standard
    deviations of the base's scores by these vectors: centred = word_choice + position + pairing.
    """

    known_pairs: float  # share of the row's pairs of words of which it knows both
    total: Estimate | None  # by its vectors as they are
    # The same, if the row's words were shuffled among its lists: by choice of words alone.
    shuffled: Estimate | None
    centred: Estimate | None
    word_choice: Estimate | None
    # Its interval is wider than it need be (docs/reports.md).
    position: Estimate | None
    pairing: Estimate | None  # what no choice of words can raise
    # Of pairing, that part of its variance which is the base's.
    base_variance: float = 0.0


@dataclass(frozen=True, slots=True)
class Decomposition:
    """mean = word_choice + position + pairing, each with its standard error (jackknife over lists)."""

    mean: float  # mean distance of two words of a list
    word_choice: float  # mean distance of two different words of different lists: the same words, shuffled
    position: float  # what is added by dealing them anew within each position only: a fixed template
    pairing: float  # the rest: words that were chosen for the others of their list
    mean_se: float
    word_choice_se: float
    position_se: float
    pairing_se: float


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The same with what a jackknife needs; the four values in their order above."""

    # Of each list, over its pairs of known words, float64 of shape (lists,).
    scores: np.ndarray
    known_pairs: float  # share of the lists' pairs of which both words are known
    values: np.ndarray  # shape (4,)
    without: np.ndarray  # the values without each list in turn, shape (4, lists)

    @property
    def variances(self) -> np.ndarray:
        """Of the values, shape (4,)."""
        return (self.without.shape[1] - 1) * self.without.var(axis=1)

    def over(
        self, base: Self, before: int, after: int, level: float = LEVEL
    ) -> tuple[Estimate | None, float]:
        """The gain of the value `after` over the base's `before`, and that part of its variance which is the base's."""
        found = gain_with_variances(
            base.scores,
            (float(base.values[before]), base.without[before]),
            (float(self.values[after]), float(self.variances[after])),
        )
        counts = len(base.scores), len(self.scores)
        return _estimate(found, counts, level), found[1][0] if found else 0.0


def decompose(unit: np.ndarray, lists: np.ndarray) -> Decomposition:
    """What the mean score of `lists` is made of; a ValueError with fewer than three lists.

    `unit` are float32 unit vectors of the words, shape (words, dimensions); `lists` their rows, integers of shape
    (lists, k), k >= 3, all words of a list different.

    >>> two = decompose(np.eye(3, dtype=np.float32), np.array([[0, 1, 2], [2, 0, 1], [1, 0, 2]]))
    >>> two.mean, two.word_choice, two.pairing
    (1.0, 1.0, 0.0)
    """
    parts = parts_of(unit, lists)
    if parts is None:
        raise ValueError(f"{len(lists)} lists; three are needed")
    return Decomposition(*parts.values.tolist(), *np.sqrt(parts.variances).tolist())


def parts_of(unit: np.ndarray, lists: np.ndarray) -> Parts | None:
    """The decomposition, where a row of zeros in `unit` says that a word is not known: its pairs are left out.

    Lists that have fewer than two known words do not count; None with fewer than three others.

    Two equal words of different lists are no pair: shuffled they would stand in one list, at distance 0, and make a
    small vocabulary look like pairing. All pairs are summed in closed form, also of each set without one list.
    """
    known, every_pair = np.asarray(unit.any(axis=1)), lists.size * (lists.shape[1] - 1)
    lists = lists[known[lists].sum(axis=1) > 1]
    n, k = lists.shape
    if n < FEWEST_LISTS:
        return None
    counts = (
        np.stack(
            [np.bincount(column, minlength=len(unit)) for column in lists.T], axis=1
        )
        * known[:, None]
    )
    counts = counts.astype(np.float64)
    parts = [slice(start, start + _CHUNK) for start in range(0, len(unit), _CHUNK)]
    # Of the vectors in each position, and the cosines of each word with all words of a position.
    totals = sum(counts[part].T @ unit[part] for part in parts)
    cosines = np.concatenate([unit[part] @ totals.T for part in parts])
    scores, size = distance_of_known(unit, lists)
    # Of each list with itself, and with all other lists (words in the same place, and in different ones): the cosines,
    # how many of the words are equal, and how many pairs these are.
    own_pairs, place, there = size * (size - 1), np.arange(k), known[lists]
    own_distance = own_pairs * scores
    same_place = (
        np.stack(
            [sums[lists, place].sum(1) for sums in (cosines, counts)]
            + [there @ there.sum(0)]
        )
        - size
    )
    own = np.stack([own_pairs - own_distance + size, size, size**2])
    all_places = (
        np.stack(
            [
                *(sums.sum(1)[lists].sum(1) for sums in (cosines, counts)),
                size * size.sum(),
            ]
        )
        - own
    )
    other_place = all_places - same_place

    def values_of(
        mean: np.ndarray, everywhere: np.ndarray, elsewhere: np.ndarray
    ) -> np.ndarray:
        # Equal words add nothing: their distance is 0.
        choice, placed = (
            (pairs - cosine) / (pairs - equal)
            for cosine, equal, pairs in (everywhere, elsewhere)
        )
        return np.stack([mean, choice, placed - choice, mean - placed])

    total = all_places.sum(1, keepdims=True)
    total_elsewhere = other_place.sum(1, keepdims=True)
    distance, pairs = own_distance.sum(), own_pairs.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN where no pair is known
        values = values_of(np.array([distance / pairs]), total, total_elsewhere)[:, 0]
        mean = (distance - own_distance) / (pairs - own_pairs)
        without = values_of(
            mean, total - 2 * all_places, total_elsewhere - 2 * other_place
        )
    return Parts(scores, float(pairs / every_pair), values, without)


def gain(base: np.ndarray, scores: np.ndarray, level: float = LEVEL) -> Estimate | None:
    """The gain of `scores` over `base`, shapes (n,) and (m,), by one encoder; None with too few or no spread.

    The interval is Welch's, with the jackknife's error over the base's scores: their deviation is estimated too, and of
    a base with tails it is further off than a normal one's. Over answers, not over trainings. The base needs three.

    >>> result = gain(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0]))
    >>> round(result.value, 3), round(result.low, 3)
    (1.162, -1.193)
    """
    a, b = (side.astype(np.float64) for side in (base, scores))
    m, n = len(a), len(b)
    if min(n, m) < FEWEST:
        return None
    without = (a.sum() - a) / (m - 1)
    after = float(b.mean()), float(b.var(ddof=1)) / n
    found = gain_with_variances(a, (float(a.mean()), without), after)
    return _estimate(found, (m, n), level)


def gain_with_variances(
    base: np.ndarray, before: tuple[float, np.ndarray], after: tuple[float, float]
) -> tuple[float, tuple[float, float]] | None:
    """The gain of any value of two sets of lists, and the parts of its variance that are the base's and the other's.

    `base` are the base's scores, float64 of shape (m,), m >= 3; `before` its value and its values without each of its
    lists in turn, shape (m,); `after` the other set's value and its variance. None without spread.
    """
    m, (value, without), (other, variance) = len(base), before, after
    if not (spread := float(base.std(ddof=1))):
        return None
    apart = base - base.mean()
    squares = (apart**2).sum() - apart**2 * m / (m - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (other - without) / np.sqrt(np.maximum(squares, 0.0) / (m - 2))
    parts = (m - 1) * float(left.var()), variance / spread**2
    if not 0 < sum(parts) < math.inf:  # equal scores but for one
        return None
    return (other - value) / spread, parts


def _estimate(
    found: tuple[float, tuple[float, float]] | None,
    counts: tuple[int, int],
    level: float,
) -> Estimate | None:
    if found is None:
        return None
    value, parts = found
    freedom = welch_freedom(parts, counts)
    low, high, p = t_test(value, math.sqrt(sum(parts)), freedom, level)
    return Estimate(value, low, high, counts[1], counts[0], level, p)


@dataclass(frozen=True, slots=True, eq=False)
class SeenLists:
    """What a second encoder makes of a row's usable lists."""

    plain: Parts
    centred: Parts

    @classmethod
    def from_lists(
        cls, second: SecondEncoder, words: list[str], lists: np.ndarray
    ) -> Self | None:
        """`lists` are numbers in `words`, integers of shape (lists, k); None of too few that it can score."""
        plain, centred = (
            parts_of(second.unit(words, centred=centred), lists)
            for centred in (False, True)
        )
        return cls(plain, centred) if plain and centred else None

    def over(self, base: Self, level: float = LEVEL) -> GainParts:
        """The gain over the base's lists; `level` is that of the interval of pairing, the others' is 95%."""
        total, shuffled = (self.plain.over(base.plain, 0, k)[0] for k in (0, 1))
        parts = (self.centred.over(base.centred, k, k)[0] for k in range(3))
        centred, choice, position = parts
        pairing = self.centred.over(base.centred, 3, 3, level)
        known = self.plain.known_pairs
        return GainParts(known, total, shuffled, centred, choice, position, *pairing)


def _lacking() -> Estimate:
    return Estimate(reason=translatable("the second encoder scores too few lists"))


@dataclass(frozen=True, slots=True)
class GainOverRuns:
    """The gains of a method's runs over those of its base; none at all where some run has too few lists to score."""

    # By the runs' own encoder; without a value, but with a reason, where both are not on one scale.
    own: Sequence[Estimate]
    parts: Sequence[GainParts]
    from_one: bool  # whether some are from one run of the base, whose error they share
    alone: bool  # of one training beside a base of several, whose spread is not that of the model

    @classmethod
    def of(
        cls,
        pairs: Sequence[
            tuple[
                tuple[SeenLists | None, SeenLists | None],
                tuple[np.ndarray, np.ndarray],
                str | None,
            ]
        ],
        level: float,
        from_one: bool,
        alone: bool,
    ) -> Self:
        """Of pairs of a base's run and a method's: what is seen of both, their own scores, why these do not compare.

        `level` is that of the interval of pairing.
        """
        seen = [both for both, *_ in pairs]
        parts = [after.over(base, level) for base, after in seen if base and after]
        if len(parts) < len(pairs):
            return cls([], [], from_one, alone)
        own = [
            Estimate(reason=why) if why else gain(*scores) or _lacking()
            for _, scores, why in pairs
        ]
        return cls(own, parts, from_one, alone)

    def estimate(self, name: str) -> Estimate:
        """One of `PARTS`, over the runs."""
        each = [_lacking()]
        if name == "gain_own":
            each = [*self.own] or each
        elif self.parts:
            known = [getattr(one, PARTS[name]) for one in self.parts]
            each = [one or _lacking() for one in known]
        if missing := next((one for one in each if one.value is None), None):
            return missing
        values = {k: one.value for k, one in enumerate(each) if one.value is not None}
        if self.alone:
            return Estimate(each[0].value, n=1, reason=few(1, "seeds"))
        if len(each) == 1:
            return each[0]
        pairs = [one for one in self.parts if self.from_one and one.pairing]
        shared = None
        if pairs and pairs[0].pairing:
            variance = sum(one.base_variance for one in pairs) / len(pairs)
            shared = variance, pairs[0].pairing.base_n or 0
        if self.from_one and name != "gain_pairing":  # what these share is not known
            mean = sum(values.values()) / len(values)
            return Estimate(mean, n=len(values), reason=translatable("from one run"))
        return over_seeds(values, shared=shared, level=each[0].level)

    @property
    def known_pairs(self) -> float | None:
        """The share of the pairs of words of which the second encoder knows both; None where it scores too few."""
        known = [one.known_pairs for one in self.parts]
        return sum(known) / len(known) if known else None
