"""How many different words a model's answers have: Hill numbers at the size of the sample or a smaller one, and how
far they may be off.

As many equally frequent words would give the same perplexity, or inverse Simpson index (Hill, 1973; Chao et al., 2014).
What is estimated is always the expected number in n answers, never a vocabulary: both grow with n.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from sozo.scoring.measure import FEWEST, LEVEL, Estimate, t_test
from sozo.scoring.statistics.means import few, welch_freedom
from sozo.scoring.translatable import translatable


def hill_number(
    occurrences: Iterable[int],
    answers: int,
    size: int | None = None,
    *,
    order: int = 0,
) -> float:
    """Hill number of the words of `size` usable answers drawn without replacement from `answers` (None: of all).

    Order 0 is the number of distinct words, 1 the perplexity (exp of the entropy of their shares, plug-in), 2 the
    inverse Simpson index (1 / the probability that two words drawn, with replacement, are equal). What is in it is an
    expectation, exact and without simulation: answers are drawn, not words (sample-based rarefaction; Gotelli &
    Colwell, 2001, Ecology Letters 4, 379). With N answers of which n_w hold the word w, a draw of m misses w with the
    probability C(N - n_w, m) / C(N, m). The error of order 0 is below 1e-4 at N = 131,072.

    `occurrences` is n_w for each word, in any order, 1 to `answers`; each answer has equally many words; `size` is
    0 to `answers`; else a ValueError, as without any word. Here two of three answers hold the
    first word for certain, and the second in 1 - C(2, 2) / C(3, 2) = 2/3.

    >>> round(hill_number([3, 1], answers=3, size=2), 6), hill_number([2, 1, 1], answers=2, order=2)
    (1.666667, 2.6666666666666665)
    """
    size = answers if size is None else size
    if not 0 <= size <= answers:
        raise ValueError(f"cannot draw {size} of {answers} answers")
    n, words = np.unique(np.fromiter(occurrences, np.int64), return_counts=True)
    if not len(n):
        raise ValueError("no answers have no words")
    if not 1 <= n[0] <= n[-1] <= answers:
        raise ValueError(f"a word stands in {n[0]} to {n[-1]} answers of {answers}")
    return float(_hill(order, _sums(order, n, answers, size) @ words))


def hill_interval(
    answers: Sequence[Iterable[str]] | np.ndarray,
    size: int | None = None,
    *,
    order: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """The Hill number of an order (0: different words) that `size` answers of this model have, with its interval.

    `answers` are the words of each of n answers, or their numbers, integers of shape (n, k); a word counts once an
    answer. Without `size` the numbers are those of n answers. The interval is Student's of the logarithm, whose error
    is the jackknife's over answers (Efron and Stein, 1981); resampled answers repeat each other and would cover 0%.

    >>> interval = hill_interval([["dog", "cat"], ["dog", "sun"], ["dog", "cat"]], 2)
    >>> interval.value, round(interval.low, 2), round(interval.high, 2)
    (2.6666666666666665, 2.0, 4.0)
    """
    value, error, each, n = _log_hill(answers, size, order)
    if value is None or not error or n < FEWEST:
        return Estimate(
            None if value is None else math.exp(value),
            n=n,
            level=level,
            reason=_why_none(n),
        )
    low, high, _ = t_test(value, error, n - 1, level)
    most = (n if size is None else size) * each
    return Estimate(
        math.exp(value),
        max(math.exp(low), each),
        min(math.exp(high), most),
        n,
        level=level,
    )


def hill_ratio(
    base: Sequence[Iterable[str]] | np.ndarray,
    other: Sequence[Iterable[str]] | np.ndarray,
    *,
    order: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """The ratio other / base of two Hill numbers, as in `hill_interval`; both `n` are the smaller side's answers.

    The interval and p are Welch's, of the logarithm.

    >>> ratio = hill_ratio([["dog", "cat"], ["sun", "sea"], ["dog", "oak"]], [["dog", "cat"], ["dog", "sun"]])
    >>> round(ratio.value, 3), ratio.n
    (0.818, 2)
    """
    n = min(len(base), len(other))
    (a, error_a, each, n_a), (b, error_b, _, n_b) = (
        _log_hill(side, n, order) for side in (base, other)
    )
    mean = None if a is None or b is None else b - a
    # One list said always, beside lists that share no word
    if mean and b is not None and error_a == error_b == 0:
        # That of one answer with new words only
        error_b = math.log1p(each / math.exp(min(b, b - mean)))
    value = None if mean is None else math.exp(mean)
    if (
        mean is None
        or error_a is None
        or error_b is None
        or n < FEWEST
        or not (error := math.hypot(error_a, error_b))
    ):
        return Estimate(value, n=n, base_n=n, level=level, reason=_why_none(n))
    freedom = welch_freedom((error_a**2, error_b**2), (n_a, n_b))
    low, high, p = t_test(mean, error, freedom, level)
    return Estimate(value, math.exp(low), math.exp(high), n, n, level, p)


def log_hill_variance(
    answers: Sequence[Iterable[str]] | np.ndarray,
    size: int | None = None,
    *,
    order: int = 0,
) -> float:
    """The squared standard error of the logarithm of a Hill number, as in `hill_interval`; 0 where it has none.

    >>> round(log_hill_variance([["dog", "cat"], ["dog", "sun"], ["dog", "cat"]], 2), 4)
    0.0731
    """
    _, error, _, _ = _log_hill(answers, size, order)
    return (error or 0.0) ** 2


def different_words(
    answers: Sequence[Iterable[str]] | np.ndarray, size: int | None = None
) -> np.ndarray:
    """A value for each of two answers or more, shape (n,): their mean is how many different words `size` of them have.

    They are the jackknife's pseudo-values: the error of their mean is that of `hill_interval`, but for its logarithm.

    >>> different_words([["dog", "cat"], ["dog", "sun"], ["dog", "cat"]], 2).round(2).tolist()
    [2.0, 4.0, 2.0]
    """
    value, without, _ = _jackknife(answers, size, 0)
    if value is None or without is None:
        raise ValueError("different words of single answers need two")
    return value + (len(answers) - 1) * (without.mean() - without)


def _log_hill(
    answers: Sequence[Iterable[str]] | np.ndarray, size: int | None, order: int
) -> tuple[float | None, float | None, float, int]:
    """Logarithm of a Hill number, its jackknife error (None without one), the words of an answer, and answers."""
    value, without, each = _jackknife(answers, size, order)
    n = len(answers)
    if value is None or without is None:
        return None if value is None else math.log(value), None, each, n
    # One answer may have all words
    with np.errstate(divide="ignore", invalid="ignore"):
        error = math.sqrt((n - 1) * float(np.log(without).var()))
    return (
        math.log(value),
        (error if error > 1e-12 else 0.0) if math.isfinite(error) else None,
        each,
        n,
    )


def _jackknife(
    answers: Sequence[Iterable[str]] | np.ndarray, size: int | None, order: int
) -> tuple[float | None, np.ndarray | None, float]:
    """A Hill number, those without each of the answers in turn (None of only one), and the words of an answer."""
    if any(isinstance(answer, str) for answer in answers):
        raise ValueError("each answer must be a list of words, not a text")
    n = len(answers)
    sets = [
        dict.fromkeys(answer)
        for answer in (answers.tolist() if isinstance(answers, np.ndarray) else answers)
    ]
    answer = np.repeat(np.arange(n), [len(words) for words in sets])
    size = n if size is None else size
    if not len(answer) or not size:
        return None, None, 0.0
    numbers: dict[str, int] = {}
    word = np.fromiter(
        (numbers.setdefault(w, len(numbers)) for w in chain.from_iterable(sets)),
        np.int64,
        len(answer),
    )
    # Words that stand in equally many answers count alike: a million words have a few thousand such numbers.
    count, kind, words = np.unique(
        np.bincount(word), return_inverse=True, return_counts=True
    )
    value = float(_hill(order, _sums(order, count, n, size) @ words))
    if n == 1:
        return value, None, len(answer) / n
    # Without one of n answers a word of all n stands in all that are left, whichever is left out.
    left = min(size, n - 1)
    with_it, without = (
        _sums(order, c, n - 1, left) for c in (np.minimum(count, n - 1), count - 1)
    )
    lost = (with_it - without)[:, kind[word]]
    sums = (with_it @ words)[:, None] - np.stack(
        [np.bincount(answer, of_sum, n) for of_sum in lost]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return value, _hill(order, sums), len(answer) / n


def _why_none(n: int) -> str:
    if not n:
        return translatable("no {name}", name=translatable("answers"))
    return few(n, "answers") or translatable(
        "whichever answer is left out, as many words are left"
    )


def _sums(order: int, counts: np.ndarray, answers: int, size: int) -> np.ndarray:
    """What the words of `counts` add to the two sums that make a Hill number of `size` answers, shape (2, counts)."""
    # Of how often a word stands in the sample: hypergeometric
    mean = counts * (size / answers)
    if order == 0:
        return np.stack([mean, _seen(counts, answers, size)])
    if order == 2:
        pairs = size * (size - 1) / max(1, answers * (answers - 1))
        return np.stack([mean, mean + counts * (counts - 1) * pairs])
    log_factorial = _log_factorials(answers)
    logs = [_mean_n_log_n(k, answers, size, log_factorial) for k in counts.tolist()]
    return np.stack([mean, np.array(logs)])


def _hill(order: int, sums: np.ndarray) -> np.ndarray:
    total, part = sums
    return (
        part
        if order == 0
        else np.exp(np.log(total) - part / total)
        if order == 1
        else total**2 / part
    )


def _seen(counts: np.ndarray, answers: int, size: int) -> np.ndarray:
    """The chance of each word of `counts` to stand in the sample, shape (counts,)."""
    missed = answers - counts
    # With fewer answers without the word than are drawn, it cannot be missed
    possible = missed >= size
    log_factorial = _log_factorials(answers)
    log_miss = log_factorial[missed[possible]] - log_factorial[missed[possible] - size]
    log_miss += log_factorial[answers - size] - log_factorial[answers]
    seen = np.ones(len(counts))
    # 1 - exp(x), without losing the digits of rare words
    seen[possible] = -np.expm1(np.minimum(log_miss, 0.0))
    return seen


def _mean_n_log_n(k: int, answers: int, size: int, log_factorial: np.ndarray) -> float:
    # Expectation of x ln x, where x of the answers drawn hold a word that k of all hold.
    mean = k * size / answers
    # Standard deviations; what lies beyond has no weight in float64
    reach = 12 * math.sqrt(mean) + 12
    least = max(0, k + size - answers, int(mean - reach))
    most = min(k, size, int(mean + reach))
    x = np.arange(least, most + 1)
    log_ways = -log_factorial[x] - log_factorial[k - x] - log_factorial[size - x]
    log_ways -= log_factorial[answers - k - size + x]
    weights = np.exp(log_ways - log_ways.max())
    return float(weights @ (x * np.log(np.maximum(x, 1))) / weights.sum())


def _log_factorials(most: int) -> np.ndarray:
    """ln 0!, ln 1!, ... up to ln `most`!"""
    return np.concatenate([[0.0], np.log(np.arange(1, most + 1)).cumsum()])
