"""Where a DAT score, or a gain by a second encoder, comes from: which words, in which position, combined how."""

from dataclasses import dataclass

import numpy as np

from sozo.scoring.distance import distance_of_known
from sozo.scoring.measure import LEVEL, Estimate
from sozo.scoring.second_encoder import (
    GainParts,
    SecondEncoder,
    gain_of,
    gain_with_variances,
)

_CHUNK = 4096
FEWEST_LISTS = 3  # the jackknife leaves one out, and what is left must hold two


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

    # Of each list, over its pairs of known words, float64 of shape (lists,)
    scores: np.ndarray
    known_pairs: float  # share of the lists' pairs of which both words are known
    values: np.ndarray  # shape (4,)
    without: np.ndarray  # the values without each list in turn, shape (4, lists)

    @property
    def variances(self) -> np.ndarray:
        """Of the values, shape (4,)."""
        return (self.without.shape[1] - 1) * self.without.var(axis=1)


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
    # Of the vectors in each position
    totals = sum(counts[part].T @ unit[part] for part in parts)
    # Of each word with all words of a position
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


@dataclass(frozen=True, slots=True, eq=False)
class SeenLists:
    """What a second encoder makes of a row's usable lists."""

    plain: Parts
    centred: Parts

    @classmethod
    def from_lists(
        cls, second: SecondEncoder, words: list[str], lists: np.ndarray
    ) -> "SeenLists | None":
        """`lists` are numbers in `words`, integers of shape (lists, k); None of too few that it can score."""
        plain, centred = (
            parts_of(second.unit(words, centred=centred), lists)
            for centred in (False, True)
        )
        return cls(plain, centred) if plain and centred else None

    def over(self, base: "SeenLists", level: float = LEVEL) -> GainParts:
        """The gain over the base's lists, with intervals of a level."""
        plain, centred = (base.plain, self.plain), (base.centred, self.centred)
        total, shuffled = (_difference(*plain, 0, of_row, level) for of_row in (0, 1))
        mean, choice, position, pairing = (
            _difference(*centred, k, k, level) for k in range(4)
        )
        found = gain_with_variances(base.centred.scores, *_sides(*centred, 3, 3))
        variance = found[1][0] if found else 0.0
        return GainParts(
            self.plain.known_pairs,
            total,
            shuffled,
            mean,
            choice,
            position,
            pairing,
            variance,
        )


def _difference(
    base: Parts, row: Parts, of_base: int, of_row: int, level: float
) -> Estimate | None:
    """The difference of two values of decompositions, by their places in `Parts.values`."""
    return gain_of(
        base.scores, *_sides(base, row, of_base, of_row), len(row.scores), level
    )


def _sides(
    base: Parts, row: Parts, of_base: int, of_row: int
) -> tuple[tuple[float, np.ndarray], tuple[float, float]]:
    before = (base.values[of_base], base.without[of_base])
    after = (row.values[of_row], row.variances[of_row])
    return before, after
