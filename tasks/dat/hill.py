"""How many different words: Hill numbers, at the size of the sample or rarefied to a smaller one.

As many equally frequent words would give the same perplexity, or inverse Simpson index (Hill, 1973; Chao et al., 2014).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class HillNumbers:
    """Effective numbers of words of the orders 0, 1 and 2, each at most the one before."""

    unique: float
    perplexity: float  # exp of the entropy of the words' shares, plug-in
    inverse_simpson: float  # 1 / the probability that two words drawn, with replacement, are equal


def hill_numbers(occurrences: Iterable[int], responses: int, size: int | None = None) -> HillNumbers:
    """Hill numbers of the words of `size` valid responses drawn without replacement from `responses` (None: of all).

    `occurrences` is for each word in how many responses it stands, 1 to `responses`; each response has equally many.
    Number, entropy and Simpson's index are expectations, exact and without simulation. A ValueError without responses.

    >>> hill_numbers([2, 1, 1], responses=2)
    HillNumbers(unique=3.0, perplexity=2.82842712474619, inverse_simpson=2.6666666666666665)
    """
    size, counts = responses if size is None else size, np.fromiter(occurrences, np.int64)
    unique = expected_unique_words(counts, responses, size)
    if not len(counts):
        raise ValueError("no responses have no words")
    n, words = np.unique(counts, return_counts=True)
    mean = n * (size / responses)  # of how often a word stands in the sample: hypergeometric
    total = float(mean @ words)
    squares = mean + n * (n - 1) * (size * (size - 1) / max(1, responses * (responses - 1)))
    log_factorial = _log_factorials(responses)
    logs = np.array([_mean_n_log_n(k, responses, size, log_factorial) for k in n.tolist()])
    return HillNumbers(unique, math.exp(math.log(total) - logs @ words / total), total**2 / float(squares @ words))


def _mean_n_log_n(k: int, responses: int, size: int, log_factorial: np.ndarray) -> float:
    # Expectation of x ln x, where x of the responses drawn hold a word that k of all hold.
    mean = k * size / responses
    reach = 12 * math.sqrt(mean) + 12  # standard deviations; what lies beyond has no weight in float64
    least, most = max(0, k + size - responses, int(mean - reach)), min(k, size, int(mean + reach))
    x = np.arange(least, most + 1)
    log_ways = -log_factorial[x] - log_factorial[k - x] - log_factorial[size - x]
    log_ways -= log_factorial[responses - k - size + x]
    weights = np.exp(log_ways - log_ways.max())
    return float(weights @ (x * np.log(np.maximum(x, 1))) / weights.sum())


def expected_unique_words(occurrences: Iterable[int], responses: int, size: int) -> float:
    """Expected number of distinct words in `size` valid responses drawn without replacement from `responses`.

    Sample-based rarefaction (Gotelli & Colwell, 2001, Ecology Letters 4, 379), exact and without simulation: responses
    are drawn, not words. With N responses of which n_w hold the word w, a draw of m misses w with the probability
    C(N - n_w, m) / C(N, m); the expectation is the sum of one minus that. The error is below 1e-4 at N = 131,072.

    `occurrences` is n_w for each word, in any order, 1 to `responses`; `size` is 0 to `responses`; else a ValueError.
    Here two of three responses hold the first word for certain, and the second in 1 - C(2, 2) / C(3, 2) = 2/3.

    >>> round(expected_unique_words([3, 1], responses=3, size=2), 6)
    1.666667
    """
    if not 0 <= size <= responses:
        raise ValueError(f"cannot draw {size} of {responses} responses")
    # Words that stand in equally many responses share a probability: a million words have a few thousand of them.
    n, words = np.unique(np.fromiter(occurrences, np.int64), return_counts=True)
    if len(n) and not (n[0] >= 1 and n[-1] <= responses):
        raise ValueError(f"a word stands in {n[0]} to {n[-1]} responses of {responses}")
    missed = responses - n
    possible = missed >= size  # with fewer responses without the word than are drawn, it cannot be missed
    log_factorial = _log_factorials(responses)
    log_miss = log_factorial[missed[possible]] - log_factorial[missed[possible] - size]
    log_miss += log_factorial[responses - size] - log_factorial[responses]
    seen = np.ones(len(n))
    seen[possible] = -np.expm1(np.minimum(log_miss, 0.0))  # 1 - exp(x), without losing the digits of rare words
    return float(seen @ words)


def _log_factorials(most: int) -> np.ndarray:
    """ln 0!, ln 1!, ... up to ln `most`!"""
    return np.concatenate([[0.0], np.log(np.arange(1, most + 1)).cumsum()])
