"""Lists put together anew: the same words, shuffled."""

import numpy as np

# Attempts for each list: of ten words, 3 in 100,000 stay where they were.
_SHUFFLES = 100


def shuffle_lists(lists: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The words of lists shuffled among them, so that no list has a word twice: integers of the shape (lists, k).

    Words of two random places change their lists wherever that repeats none, again and again. The lists' order is lost.

    >>> shuffle_lists(np.array([[0, 1], [2, 3]]), np.random.default_rng(0)).tolist()
    [[1, 3], [2, 0]]
    """
    half = len(lists) // 2
    for _ in range(_SHUFFLES):
        lists, (a, b) = (
            random.permutation(lists),
            random.integers(lists.shape[1], size=2),
        )
        left, right = lists[:half], lists[half : 2 * half]
        free = ~((left == right[:, b, None]) | (right == left[:, a, None])).any(axis=1)
        left[free, a], right[free, b] = right[free, b], left[free, a]
    return lists
