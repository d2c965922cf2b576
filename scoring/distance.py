"""The one place where cosine distances are computed, so that reward and benchmark cannot drift apart."""

import numpy as np

_CHUNK = 128  # answers whose sums stay in the processor's cache


def mean_pairwise_distance(unit: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mean cosine distance over all pairs of each answer's words (paper, section 3.2): float32 (answers,), 0 to 2.

    With unit vectors, k of them, and s their sum, the mean of the k(k-1)/2 cosines is (|s|^2 - k) / (k(k-1)): one pass
    over the vectors instead of 45 cosines for ten words. `unit` are float32 unit vectors, shape (words, dimensions),
    `rows` integer rows into them, shape (answers, k), k >= 2. An answer with a -1, a word without a vector (as
    `WordVectors.rows` gives), has no distance: NaN. ValueError for other rows.

    >>> mean_pairwise_distance(np.eye(3, dtype=np.float32), np.array([[0, 1, 2], [0, 0, 0]])).tolist()
    [1.0, 0.0]
    """
    known = _have_vectors(unit, rows)
    n, k = rows.shape
    squares = np.empty(n, np.float32)
    gathered = np.empty((min(n, _CHUNK), unit.shape[1]), np.float32)
    for start in range(0, n, _CHUNK):
        chunk = rows[start : start + _CHUNK]
        total = unit.take(chunk[:, 0], axis=0)
        for column in range(1, k):
            # Into the same memory each time, 1.6 times as fast as indexing; the mode "raise" would buffer it.
            total += unit.take(
                chunk[:, column], axis=0, out=gathered[: len(chunk)], mode="clip"
            )
        np.einsum("ij,ij->i", total, total, out=squares[start : start + len(chunk)])
    # Rounding may leave the range by an ulp.
    distances = np.clip(1 - (squares - k) / np.float32(k * (k - 1)), 0, 2).astype(
        np.float32
    )
    distances[~known] = np.nan
    return distances


def distance_of_known(
    unit: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean cosine distance over the pairs of which both words have a vector, and the number of such words.

    As `mean_pairwise_distance`, but `unit` has zeros for a word without a vector. Both of shape (answers,), float64
    and integers; NaN where an answer has no such pair.

    >>> scores, known = distance_of_known(np.diag(np.float32([1, 1, 0])), np.array([[0, 1, 2]]))
    >>> scores.round(6).tolist(), known.tolist()
    ([1.0], [2])
    """
    k = rows.shape[1]
    known = np.asarray(unit.any(axis=1))[rows].sum(axis=1)
    squares = k + k * (k - 1) * (
        1 - mean_pairwise_distance(unit, rows).astype(np.float64)
    )
    with np.errstate(invalid="ignore"):
        return 1 - (squares - known) / np.where(
            known > 1, known * (known - 1), np.nan
        ), known


def distance_to_others(unit: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mean cosine distance of each word to the others of its answer: float32 (answers, k), 0 to 2.

    An answer's mean is its `mean_pairwise_distance`, whose arguments these are.

    >>> distance_to_others(np.eye(3, dtype=np.float32), np.array([[0, 1, 1]])).tolist()
    [[1.0, 0.5, 0.5]]
    """
    known = _have_vectors(unit, rows)
    vectors = unit[rows]
    # Its own cosine is 1
    cosines = np.einsum("rkd,rd->rk", vectors, vectors.sum(axis=1)) - 1
    distances = np.clip(1 - cosines / np.float32(rows.shape[1] - 1), 0, 2).astype(
        np.float32
    )
    distances[~known] = np.nan
    return distances


def _have_vectors(unit: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which answers have a vector for each word, bool (answers,); ValueError where rows cannot be meant."""
    if (
        rows.ndim != 2
        or rows.shape[1] < 2
        or (rows.size and not -1 <= rows.min() <= rows.max() < len(unit))
    ):
        raise ValueError(
            f"rows must be of shape (answers, k), k at least 2, each -1 to {len(unit) - 1}"
        )
    known: np.ndarray = rows.min(axis=1) >= 0
    return known


def paired_distance(
    unit: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Cosine distance of each pair of texts (paper, section 3.3: a story and its rewrite): float64 (pairs,), 0 to 2.

    Of unit vectors u and v, 1 - u·v = |u - v|² / 2. The second form loses no digits where the two are close, so that
    equal texts are at exactly 0. `left` and `right` are integer rows into `unit`, float32 of shape (texts, dimensions).
    A text without a vector, a row of zeros or -1 (as `WordVectors.rows` gives), is at no distance: NaN.

    >>> paired_distance(np.eye(2, dtype=np.float32), np.array([0, 0]), np.array([1, 0])).tolist()
    [1.0, 0.0]
    """
    if left.shape != right.shape:
        raise ValueError(
            f"{len(left)} texts on the left and {len(right)} on the right are no pairs"
        )
    one = unit[left].astype(np.float64)
    other = unit[right]
    known = (left >= 0) & (right >= 0) & one.any(axis=1) & other.any(axis=1)
    difference = one - other
    return np.where(
        known, np.clip(np.einsum("ij,ij->i", difference, difference) / 2, 0, 2), np.nan
    )


def cosines_of_means(
    one: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, float | None]:
    """Mean cosine between two models' texts about each prompt, shape (prompts,), and about different prompts.

    `one` and `other` are the means of the unit vectors of the texts about each prompt, shape (prompts, dimensions):
    their product is the mean over all pairs. The second number is the mean over all pairs of prompts that differ, so
    what is expected if the prompts are permuted and none stays in its place; None of fewer than two.

    >>> cosines_of_means(np.eye(2), np.array([[0.5, 0.5], [0.0, 1.0]]))
    (array([0.5, 1. ]), 0.25)
    """
    same = np.einsum("pd,pd->p", one, other)
    n = len(one)
    if n < 2:
        return same, None
    return same, float(
        (one.sum(axis=0) @ other.sum(axis=0) - same.sum()) / (n * (n - 1))
    )
