"""Lists put together anew: the same words shuffled, or in the same places and as near to each other as may be."""

from collections.abc import Sequence

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.parse import NUM_WORDS, write_list
from sozo.tasks.dat.scorer import words_of
from sozo.tasks.dat.words import DatRules

_SWAPS = 400  # attempts for each list
_SHUFFLES = 100  # likewise: of ten words, 3 in 100,000 stay where they were


def shuffled_badly(
    texts: Sequence[str],
    encoder: str,
    random: np.random.Generator,
    language: str = "ja",
) -> tuple[list[str], np.ndarray]:
    """As many usable lists of the words of usable lists, each word in its place, and their scores: low ones."""
    lists = [words_of(text, DatRules(language=language)) or () for text in texts]
    vectors = WordVectors(make_encoder(encoder, language=language))
    flat = [word for words in lists for word in words]
    numbers = vectors.rows(flat)
    word, rows = (
        dict(zip(numbers, flat, strict=True)),
        np.array(numbers).reshape(-1, NUM_WORDS),
    )
    rows = deal(vectors.matrix, rows, random)
    written = [write_list(word[row] for row in of_list) for of_list in rows.tolist()]
    return written, mean_pairwise_distance(vectors.matrix, rows)


def deal(
    unit: np.ndarray, lists: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Words swapped between lists, place by place, wherever that lowers the sum of two scores and repeats no word.

    `unit` are float32 unit vectors, shape (words, dimensions), `lists` rows into it, shape (lists, k).
    """
    lists, half = lists.copy(), len(lists) // 2
    total = unit[lists].sum(axis=1)
    for step in range(_SWAPS):
        order, place = random.permutation(len(lists)), step % lists.shape[1]
        left, right = order[:half], order[half : 2 * half]
        mine, other = lists[left, place], lists[right, place]
        moved = unit[other] - unit[mine]
        # |a + m|² + |b - m|² - |a|² - |b|²: the longer the sums, the nearer the words.
        gain = 2 * (
            np.einsum("ij,ij->i", moved, total[left] - total[right])
            + np.einsum("ij,ij->i", moved, moved)
        )
        repeats = (lists[left] == other[:, None]).any(axis=1) | (
            lists[right] == mine[:, None]
        ).any(axis=1)
        swap = (gain > 0) & ~repeats
        lists[left[swap], place], lists[right[swap], place] = other[swap], mine[swap]
        total[left[swap]] += moved[swap]
        total[right[swap]] -= moved[swap]
    return lists


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
