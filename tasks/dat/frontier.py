"""The frontier: lists of nouns that are as random as they can be at their mean distance, drawn at a chosen strength.

Among all ways of drawing lists with the same mean score, p(list) ~ exp(strength * score) has the greatest entropy. It
is a reference for how far lists can be without falling back on few words, not a bound on unique words.
"""

import numpy as np

from sozo.scoring.embeddings.reference import random_lists
from sozo.scoring.parse import NUM_WORDS

# Redraws of every word of a list: enough at strength 1000 over 6,144 nouns (ja-ginza), where lists that begin at random
# and lists that begin too far apart meet at a mean of 0.9526.
SWEEPS = 12
_GROUP = 512  # a word is redrawn among so many


def free_lists(
    unit: np.ndarray,
    strength: float,
    count: int,
    rng: np.random.Generator,
    *,
    start: np.ndarray | None = None,
    sweeps: int = SWEEPS,
    size: int = NUM_WORDS,
) -> np.ndarray:
    """Lists of `size` different nouns with p(list) ~ exp(strength * DAT score): int64 rows, shape (count, size).

    `unit` are the nouns' float32 unit vectors, shape (nouns, dimensions), with more nouns than `size`. Words are
    redrawn one at a time, given the others of their list (Gibbs), from a random group of nouns that is the word's own:
    the distribution is kept exactly, and, whatever the groups were, no list depends on another. Lists begin at `start`
    (of the same shape), or at random and hurry at first: a third of the sweeps is at twice the strength. The words'
    order is random at the end.

    >>> free_lists(np.eye(12, dtype=np.float32), 100.0, 2, np.random.default_rng(0)).shape
    (2, 10)
    """
    lists = random_lists(len(unit), count, rng, size) if start is None else start
    total, hurried = unit[lists].sum(axis=1), sweeps // 3 if start is None else 0
    for sweep in range(sweeps):
        pull = np.float32((2 if sweep < hurried else 1) * 2 * strength / (size * (size - 1)))
        order = rng.permutation(len(unit))
        place = np.empty_like(order)
        place[order] = np.arange(len(unit))
        words, shuffled = place[lists], unit[order]  # the nouns in the order of their groups, for one sweep
        for k in range(size):
            total -= shuffled[words[:, k]]
            _redraw(shuffled, words, k, -pull * total, rng)
            total += shuffled[words[:, k]]
        lists = order[words]
    return rng.permuted(lists, axis=1)


def _redraw(unit: np.ndarray, words: np.ndarray, k: int, field: np.ndarray, rng: np.random.Generator) -> None:
    """Draw word `k` of every list anew among its group, p ~ exp(unit . field), but none of the list's other words."""
    group = words[:, k] // _GROUP
    by_group = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[by_group], np.arange(1, -(-len(unit) // _GROUP)))
    for number, rows in enumerate(np.split(by_group, ends)):
        first = number * _GROUP
        weights = field[rows] @ unit[first : first + _GROUP].T
        taken = words[rows] - first
        taken[:, k] = -1
        row, other = np.nonzero((taken >= 0) & (taken < _GROUP))
        weights[row, taken[row, other]] = -np.inf
        weights -= weights.max(axis=1, keepdims=True, initial=-np.inf)
        summed = np.cumsum(np.exp(weights, out=weights), axis=1, out=weights)
        # Above 0 and at most the sum: a word of weight 0 is never taken.
        drawn = (1 - rng.random(len(rows), np.float32))[:, None] * summed[:, -1:]
        words[rows, k] = first + (summed >= drawn).argmax(axis=1)


def independent_words(unit: np.ndarray, strength: float, size: int = NUM_WORDS) -> np.ndarray:
    """Of lists whose words are drawn independently of one another, all from p, the p nearest to `free_lists`: (nouns,).

    Mean field: p(w) ~ exp(-(2 strength / size) u_w . m) with m the mean vector under p itself; the greatest entropy at
    its mean distance. This m is the minimum of a convex function, found by Newton's method (damped).

    >>> independent_words(np.eye(4, dtype=np.float32), 100.0).round(6).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    pull, mean = 2 * strength / size, unit.mean(axis=0, dtype=np.float64)

    def at(mean: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = -pull * (unit @ mean)
        weights = np.exp(exponents - exponents.max())
        value = np.log(weights.sum()) + exponents.max() + pull * mean @ mean / 2
        return float(value), weights / weights.sum()

    value, p = at(mean)
    for _ in range(100):
        expected = p @ unit
        gap = mean - expected
        if np.linalg.norm(gap) < 1e-8:
            break
        spread = (unit * p.astype(np.float32)[:, None]).T @ unit - np.outer(expected, expected)
        step = np.linalg.solve(np.eye(len(mean)) + pull * spread, gap)
        while (tried := at(mean - step))[0] > value + 1e-12 * abs(value) and np.linalg.norm(step) > 1e-12:
            step /= 2
        mean, (value, p) = mean - step, tried
    return p
