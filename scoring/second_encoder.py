"""A second encoder that scores finished answers, and a gain in an encoder's own standard deviations.

A reward is a measure that was trained on; whether a gain is more than that shows by an encoder that was not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from sozo.scoring.distance import distance_of_known
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.embeddings.derived import CentredEncoder
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.measure import FEWEST, LEVEL, Estimate, t_test
from sozo.scoring.statistics.means import welch_freedom


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
        self._given = (name, nouns)
        self._language = language
        self._others: dict[str, SecondEncoder] = {}

    @classmethod
    def if_named(cls, name: str | None) -> Self | None:
        """The one that a user names; None where none is named."""
        return cls(name) if name else None

    def for_language(self, language: str) -> "SecondEncoder":
        """The same for words of this language."""
        if language != self._language and language not in self._others:
            self._others[language] = SecondEncoder(*self._given, language)
        return self._others.get(language, self)

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
    # The same, if the row's words were shuffled among its lists: by choice of words alone
    shuffled: Estimate | None
    centred: Estimate | None
    word_choice: Estimate | None
    # Its interval is wider than it need be (docs/instruments.md)
    position: Estimate | None
    pairing: Estimate | None  # what no choice of words can raise
    # Of pairing, that part of its variance which is the base's
    base_variance: float = 0.0


class Seen(Protocol):
    """What a second encoder makes of the answers of a run."""

    def over(self, base: Self, level: float = LEVEL) -> GainParts:
        """The gain over a base's answers, with intervals of a level."""


def gain(base: np.ndarray, scores: np.ndarray, level: float = LEVEL) -> Estimate | None:
    """The gain of `scores` over `base`, shapes (n,) and (m,), by one encoder; None with too few or no spread.

    The interval is Welch's, with the jackknife's error over the base's scores: their deviation is estimated too, and of
    a base with tails it is further off than a normal one's. Over answers, not over trainings. The base needs three.

    >>> result = gain(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0]))
    >>> round(result.value, 3), round(result.low, 3)
    (1.162, -1.193)
    """
    a, b = (side.astype(np.float64) for side in (base, scores))
    n, m = len(b), len(a)
    if min(n, m) < FEWEST:
        return None
    without = (a.sum() - a) / (m - 1)
    return gain_of(
        a,
        (float(a.mean()), without),
        (float(b.mean()), float(b.var(ddof=1)) / n),
        n,
        level,
    )


def gain_of(
    base: np.ndarray,
    before: tuple[float, np.ndarray],
    after: tuple[float, float],
    n: int,
    level: float = LEVEL,
) -> Estimate | None:
    """The same of any value of two sets of lists: the base's with its values without each of its lists in turn.

    `base` are the base's scores, float64 of shape (m,), m >= 3; `before` its value and those m values; `after` the
    other set's value and its variance, of n lists. None without spread.
    """
    found = gain_with_variances(base, before, after)
    if found is None:
        return None
    delta, parts = found
    low, high, p = t_test(
        delta, math.sqrt(sum(parts)), welch_freedom(parts, (len(base), n)), level
    )
    return Estimate(delta, low, high, n, len(base), level, p)


def gain_with_variances(
    base: np.ndarray, before: tuple[float, np.ndarray], after: tuple[float, float]
) -> tuple[float, tuple[float, float]] | None:
    """A gain as in `gain_of`, and the parts of its variance that are the base's and the other set's."""
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
