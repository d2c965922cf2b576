"""Cosine distances on numbers worked by hand, and against the obvious slow way, whatever the rows."""

import numpy as np
import pytest

from sozo.scoring.distance import (
    cosines_of_means,
    distance_of_known,
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
        ([(1, 0), (-1, 0)], 2.0),
        ([(1, 0), (0.6, 0.8), (0, 1)], (0.4 + 1 + 0.2) / 3),  # cosines 0.6, 0, 0.8
        ([(1, 0)] * 9 + [(0, 1)], 9 / 45),  # nine of the 45 pairs have distance 1
    ],
)
def test_hand_worked(vectors, expected):
    found = distance(*vectors)
    assert found.shape == (1,)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [expected], atol=1e-6)


def test_an_answer_of_one_word_has_no_distance_within():
    one_word = np.array([[1, 1, 1]])
    assert mean_pairwise_distance(np.eye(2, dtype=np.float32), one_word) == [0]


def odd_rows(rng):
    """Vectors of any length: some twice, some nearly parallel or opposite to another, two too long, none zero."""
    some = rng.normal(size=(20, 5))
    some /= np.linalg.norm(some, axis=1, keepdims=True) * rng.uniform(0.7, 1.7, (20, 1))
    near = some[:5] + rng.normal(size=(5, 5)) * 1e-3
    return np.vstack(
        [some, some[5:8], near, -near, some[:1] * 3, some[:1] * -3]
    ).astype(np.float32)


def cosine_sums(vectors):
    """Of each vector: its products with all of them, itself too, one by one."""
    vectors = np.array(vectors, np.float64)
    return [sum(one @ other for other in vectors) for one in vectors]


@pytest.mark.parametrize("k", [2, 3, 7])
def test_distances_within_answers_equal_the_slow_way(k):
    rng = np.random.default_rng(k)
    unit = odd_rows(rng)
    rows = rng.integers(-1, len(unit), (300, k))  # more than two chunks
    rows[:2] = len(unit) - 1
    rows[0, 0] -= 1  # the opposite of all others of its answer
    means, others = [], []
    for answer in rows:
        sums = np.array(cosine_sums(unit[answer]))
        known = np.nan if -1 in answer else 1
        means.append(known * np.clip(1 - (sums.sum() - k) / (k * (k - 1)), 0, 2))
        others.append(known * np.clip(1 - (sums - 1) / (k - 1), 0, 2))
    found = mean_pairwise_distance(unit, rows), distance_to_others(unit, rows)
    assert [of.dtype for of in found] == [np.float32] * 2
    for of, slow in zip(found, (means, others), strict=True):
        assert 0 < np.isnan(slow).mean() < 1
        assert (np.array(slow) == 0).any()
        np.testing.assert_allclose(of, slow, atol=1e-5)
    assert (np.array(others) == 2).any()
    assert distance_to_others(unit, rows[:0]).shape == (0, k)
    assert mean_pairwise_distance(unit, rows[:0]).shape == (0,)


def test_distances_of_known_words_equal_the_slow_way():
    rng = np.random.default_rng(0)
    unit = odd_rows(rng)[:20] / 1.5  # so short that nothing is out of range
    unit[::3] = 0
    unit[1::3, 2] = 0
    rows = rng.integers(0, 20, (300, 4))
    found, numbers = distance_of_known(unit, rows)
    for answer, distance, number in zip(rows, found, numbers, strict=True):
        known = [vector for vector in unit[answer] if vector.any()]
        n = len(known)
        assert number == n
        if n < 2:
            assert np.isnan(distance)
            continue
        slow = 1 - (sum(cosine_sums(known)) - n) / (n * (n - 1))
        assert distance == pytest.approx(slow, abs=1e-5)
    assert {*numbers.tolist()} == {0, 1, 2, 3, 4}
    assert found.dtype == np.float64


def test_pairs_equal_the_slow_way():
    rng = np.random.default_rng(0)
    unit = odd_rows(rng)
    unit[3] = unit[4:8, 1] = 0
    left, right = rng.integers(-1, len(unit), (2, 2_000))
    slow = []
    for i, j in zip(left, right, strict=True):
        known = min(i, j) >= 0 and unit[i].any() and unit[j].any()
        squares = sum((unit[i].astype(np.float64) - unit[j]) ** 2)
        slow.append(min(squares / 2, 2) if known else np.nan)
    found = paired_distance(unit, left, right)
    np.testing.assert_allclose(found, slow, rtol=1e-12)
    assert {0.0, 2.0} < {*slow}
    assert paired_distance(unit, left[:0], left[:0]).shape == (0,)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_cosines_of_means_equal_the_slow_way(n):
    one, other = np.random.default_rng(n).normal(size=(2, n, 3))
    products = [[p @ q for q in other] for p in one]
    same, apart = cosines_of_means(one, other)
    np.testing.assert_allclose(same, np.diag(products))
    pairs = [products[p][q] for p in range(n) for q in range(n) if p != q]
    assert apart == (pytest.approx(np.mean(pairs)) if pairs else None)


@pytest.mark.parametrize("rows", [[[0, 3]], [[0, -2]], [0, 1]])
def test_rows_that_cannot_be_meant_are_an_error(rows):
    for measure in (mean_pairwise_distance, distance_to_others):
        with pytest.raises(
            ValueError,
            match=r"rows must be of shape \(answers, k\), .*, each -1 to 2",
        ):
            measure(np.eye(3, dtype=np.float32), np.array(rows, np.int64))
