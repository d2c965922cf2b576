"""Where a mean DAT score comes from: which words are chosen, in which position, and how they are combined."""

from dataclasses import dataclass

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance

_CHUNK = 4096
FEWEST_LISTS = 3  # the jackknife leaves one out, and what is left must hold two


@dataclass(frozen=True, slots=True)
class Decomposition:
    """mean = word_choice + position + combination, each with its standard error (jackknife over lists)."""

    mean: float  # mean distance of two words of a list
    word_choice: float  # mean distance of two different words of different lists: the same words, dealt anew
    position: float  # what is added by dealing them anew within each position only: a fixed template
    combination: float  # the rest: words that were chosen for the others of their list
    mean_se: float
    word_choice_se: float
    position_se: float
    combination_se: float


def decompose(unit: np.ndarray, lists: np.ndarray) -> Decomposition:
    """What the mean score of `lists` is made of; a ValueError with fewer than three lists.

    `unit` are float32 unit vectors of the words, shape (words, dimensions); `lists` their rows, integers of shape
    (lists, k), k >= 3, all words of a list different.

    Two equal words of different lists are no pair: dealt anew they would stand in one list, at distance 0, and make a
    small vocabulary look like combination. All pairs are summed in closed form, also of each set without one list.

    >>> two = decompose(np.eye(3, dtype=np.float32), np.array([[0, 1, 2], [2, 0, 1], [1, 0, 2]]))
    >>> two.mean, two.word_choice, two.combination
    (1.0, 1.0, 0.0)
    """
    n, k = lists.shape
    if n < FEWEST_LISTS:
        raise ValueError(f"{n} lists; three are needed")
    counts = np.stack([np.bincount(column, minlength=len(unit)) for column in lists.T], axis=1).astype(np.float64)
    parts = [slice(start, start + _CHUNK) for start in range(0, len(unit), _CHUNK)]
    totals = sum(counts[part].T @ unit[part] for part in parts)  # of the vectors in each position
    cosines = np.concatenate([unit[part] @ totals.T for part in parts])  # of each word with all words of a position
    scores = mean_pairwise_distance(unit, lists).astype(np.float64)
    # Of each list with all other lists: the cosines of words in different places and in the same one, summed, and how
    # many of these words are equal.
    place, own_cosines = np.arange(k), k * (k - 1) * (1 - scores)
    same_place = np.stack([cosines[lists, place].sum(1), counts[lists, place].sum(1)]) - k
    all_places = np.stack([cosines.sum(1)[lists].sum(1) - own_cosines, counts.sum(1)[lists].sum(1)]) - k
    other_place = all_places - same_place

    def parts_of(m: int, mean: np.ndarray, everywhere: np.ndarray, elsewhere: np.ndarray) -> np.ndarray:
        pairs, placed_pairs = m * (m - 1) * k * k, m * (m - 1) * k * (k - 1)
        choice = (pairs - everywhere[0]) / (pairs - everywhere[1])  # equal words add nothing: their distance is 0
        placed = (placed_pairs - elsewhere[0]) / (placed_pairs - elsewhere[1])
        return np.stack([mean, choice, placed - choice, mean - placed])

    total, total_elsewhere = all_places.sum(1, keepdims=True), other_place.sum(1, keepdims=True)
    values = parts_of(n, scores.mean(keepdims=True), total, total_elsewhere)[:, 0]
    without = (scores.sum() - scores) / (n - 1)
    left = parts_of(n - 1, without, total - 2 * all_places, total_elsewhere - 2 * other_place)
    errors = np.sqrt((n - 1) * left.var(axis=1))
    return Decomposition(*values.tolist(), *errors.tolist())
