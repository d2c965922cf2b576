"""Rarefaction against counting every subsample, and where it must be exact."""

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sozo.tasks.dat.hill import expected_unique_words


def occurrences(responses):
    counts = {}
    for words in responses:
        for word in set(words):
            counts[word] = counts.get(word, 0) + 1
    return list(counts.values())


def by_enumeration(responses, size):
    sizes = [len(set().union(*chosen)) for chosen in combinations(map(set, responses), size)]
    return sum(sizes) / len(sizes)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("犬猫水山川本車"), min_size=1, max_size=4), min_size=1, max_size=7), st.data())
def test_it_is_the_mean_over_all_subsamples(responses, data):
    size = data.draw(st.integers(1, len(responses)))
    expected = by_enumeration(responses, size)
    assert expected_unique_words(occurrences(responses), len(responses), size) == pytest.approx(expected, abs=1e-9)


def test_the_ends():
    assert expected_unique_words([3, 1, 2], 4, 0) == 0
    assert expected_unique_words([3, 1, 2], 4, 4) == 3
    # One response holds 6 / 4 words on average.
    assert expected_unique_words([3, 1, 2], 4, 1) == pytest.approx(1.5)
    assert expected_unique_words([], 0, 0) == 0


def test_at_the_papers_size_it_is_exact_to_a_ten_thousandth():
    n, m = 131_072, 14_668
    words = (1, 2)
    # The same fraction as an exact ratio of integers.
    exact = [1 - math.comb(n - k, m) / math.comb(n, m) for k in words]
    assert expected_unique_words([1], n, m) == pytest.approx(exact[0], abs=1e-9)
    assert expected_unique_words([2], n, m) == pytest.approx(exact[1], abs=1e-9)
    assert expected_unique_words([131_072], n, m) == 1
    # 40,000 words that stand in one response each: m / n of them are seen, and errors have not added up.
    assert expected_unique_words([1] * 40_000, n, m) == pytest.approx(40_000 * m / n, abs=1e-4)
    assert expected_unique_words([1] * 40_000, n, n) == 40_000


def test_more_responses_never_show_fewer_words():
    counts = [1, 1, 2, 5, 17, 40]
    curve = [expected_unique_words(counts, 50, m) for m in range(51)]
    assert all(a <= b + 1e-12 for a, b in pairwise(curve))


@pytest.mark.parametrize(("counts", "n", "m"), [([1], 3, 4), ([1], 3, -1), ([0], 3, 1), ([4], 3, 1)])
def test_what_cannot_be_is_refused(counts, n, m):
    with pytest.raises(ValueError, match="respons"):
        expected_unique_words(counts, n, m)
