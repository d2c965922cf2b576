"""The mean pairwise cosine distance on numbers worked by hand, and against the obvious slow way."""

import numpy as np
import pytest
from scipy.spatial.distance import cosine, pdist

from sozo.scoring.distance import (
    distance_to_others,
    mean_pairwise_distance,
    paired_distance,
)


def distance(*vectors):
    unit = np.array(vectors, np.float32)
    return mean_pairwise_distance(unit, np.arange(len(vectors))[None])


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        ([(1, 0), (0, 1)], 1.0),
        ([(1, 0), (1, 0)], 0.0),
        ([(1, 0), (-1, 0)], 2.0),
        ([(1, 0), (0.6, 0.8)], 0.4),  # 1 - 0.6
        ([(1, 0), (0, 1), (-1, 0)], 4 / 3),  # distances 1, 2, 1
        ([(1, 0), (0.6, 0.8), (0, 1)], (0.4 + 1 + 0.2) / 3),  # cosines 0.6, 0, 0.8
        (np.eye(10), 1.0),
        ([(1, 0)] * 9 + [(0, 1)], 9 / 45),  # nine of the 45 pairs have distance 1
        ([(1, 0)] * 5 + [(-1, 0)] * 5, 25 * 2 / 45),
    ],
)
def test_hand_worked(vectors, expected):
    found = distance(*vectors)
    assert found.shape == (1,)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [expected], atol=1e-6)


def test_rounding_never_leaves_the_range():
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(500, 300)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    same = mean_pairwise_distance(unit, np.repeat(np.arange(500)[:, None], 10, axis=1))
    opposite = mean_pairwise_distance(
        np.concatenate([unit, -unit]),
        np.stack([np.arange(500), np.arange(500, 1000)], 1),
    )
    assert (same >= 0).all()
    assert (opposite <= 2).all()
    np.testing.assert_allclose(same, 0, atol=1e-6)
    np.testing.assert_allclose(opposite, 2, atol=1e-6)


@pytest.mark.parametrize(("n", "k"), [(0, 10), (1, 10), (255, 2), (257, 7), (700, 10)])
def test_equals_scipy(n, k):
    rng = np.random.default_rng(n + k)
    unit = rng.normal(size=(50, 30)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    rows = rng.integers(0, 50, (n, k))
    slow = [pdist(unit[answer].astype(np.float64), "cosine").mean() for answer in rows]
    np.testing.assert_allclose(
        mean_pairwise_distance(unit, rows), np.array(slow, np.float32), atol=1e-5
    )


@pytest.mark.parametrize(
    ("u", "v", "expected"),
    [
        ((1, 0), (1, 0), 0.0),
        ((1, 0), (0, 1), 1.0),
        ((1, 0), (-1, 0), 2.0),
        ((1, 0), (0.6, 0.8), 0.4),
    ],
)
def test_pairs_by_hand(u, v, expected):
    found = paired_distance(
        np.array([u, v], np.float32), np.array([0, 1]), np.array([1, 0])
    )
    np.testing.assert_allclose(found, [expected, expected], atol=1e-7)


def test_pairs_equal_scipy_and_equal_texts_are_at_exactly_zero():
    rng = np.random.default_rng(3)
    unit = rng.normal(size=(40, 768)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    left, right = rng.integers(0, 40, (2, 200))
    slow = [
        cosine(unit[i].astype(np.float64), unit[j].astype(np.float64))
        for i, j in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(paired_distance(unit, left, right), slow, atol=1e-6)
    assert not paired_distance(unit, left, left).any()
    assert paired_distance(unit, left[:0], left[:0]).shape == (0,)
    assert (
        paired_distance(np.concatenate([unit, -unit]), np.arange(40), np.arange(40, 80))
        <= 2
    ).all()


def test_a_text_without_a_vector_is_at_no_distance():
    unit = np.array([[1, 0], [0, 0], [0, 1]], np.float32)
    found = paired_distance(
        unit, np.array([0, 0, 1, 1, -1, 0]), np.array([2, 1, 0, 1, 0, -1])
    )
    assert found[0] == 1.0
    assert np.isnan(found[1:]).all()


def test_a_answer_with_a_word_without_vector_has_no_distance():
    unit, rows = (
        np.eye(3, dtype=np.float32),
        np.array([[0, 1, 2], [0, -1, 2], [-1, -1, -1], [2, 1, -1]]),
    )
    np.testing.assert_array_equal(
        mean_pairwise_distance(unit, rows), [1, np.nan, np.nan, np.nan]
    )
    np.testing.assert_array_equal(
        distance_to_others(unit, rows), [[1, 1, 1], *[[np.nan] * 3] * 3]
    )


@pytest.mark.parametrize("rows", [[[0, 3]], [[0, -2]], [[0]], [0, 1], [[]]])
def test_rows_that_cannot_be_meant_are_an_error(rows):
    for measure in (mean_pairwise_distance, distance_to_others):
        with pytest.raises(
            ValueError,
            match=r"rows must be of shape \(answers, k\), .*, each -1 to 2",
        ):
            measure(np.eye(3, dtype=np.float32), np.array(rows, np.int64))


def test_texts_that_are_no_pairs_are_an_error():
    with pytest.raises(ValueError, match="5 texts on the left and 1 on the right"):
        paired_distance(np.eye(3, dtype=np.float32), np.zeros(5, int), np.zeros(1, int))
