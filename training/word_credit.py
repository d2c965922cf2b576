"""Credit for each part of a completion, in DAT each word: the advantage of its own share of the score.

The policy gradient weighs each word's log-probability with the list's whole score. Word k's own part of it is its mean
distance to the other words: pairs that k is not in differ by chance, and what the words before k are to each other is
no doing of k's. With words that are drawn independently the gradient is then the true one times half the number of
words, with far less noise. It is biased where words depend on each other: a word gets nothing for how it steers those
after it.
"""

import numpy as np

_EPSILON = 1e-4  # TRL's, beside a standard deviation


def part_advantages(worths: np.ndarray, group: int) -> np.ndarray:
    """Advantages of parts: their worths less the mean of their place, in standard deviations, within each group.

    `worths` have the shape (completions of all processes, parts), NaN where a completion has no such part, and `group`
    completions after each other answer one prompt. The mean is that of the group's parts of the same place, so that a
    place is no merit; the deviation that of all its parts. 0 where there is no part, or nothing to compare with.

    >>> part_advantages(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, np.nan]]), 3).round(2).tolist()
    [[-1.22, 0.0], [1.22, 0.0], [0.0, 0.0]]
    """
    grouped = worths.reshape(len(worths) // group, group, -1 if worths.size else 0)
    known = ~np.isnan(grouped)
    mean = np.where(known, grouped, 0).sum(1, keepdims=True) / np.maximum(known.sum(1, keepdims=True), 1)
    centred = np.where(known, grouped - mean, 0)
    freedom = np.maximum(known.sum((1, 2), keepdims=True) - 1, 1)
    deviation = np.sqrt((centred**2).sum((1, 2), keepdims=True) / freedom)
    return (centred / (deviation + _EPSILON)).reshape(worths.shape)
