"""Rarefaction against counting every subsample, where it must be exact; the jackknife against leaving one out."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sozo.scoring.statistics.hill import hill_interval, hill_number, hill_ratio
from sozo.scoring.statistics.proportions import grouped_share, wilson


def occurrences(answers):
    counts = {}
    for words in answers:
        for word in set(words):
            counts[word] = counts.get(word, 0) + 1
    return list(counts.values())


def by_enumeration(answers, size):
    sizes = [
        len(set().union(*chosen)) for chosen in combinations(map(set, answers), size)
    ]
    return sum(sizes) / len(sizes)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from("犬猫水山川本車"), min_size=1, max_size=4),
        min_size=1,
        max_size=7,
    ),
    st.data(),
)
def test_it_is_the_mean_over_all_subsamples(answers, data):
    size = data.draw(st.integers(1, len(answers)))
    expected = by_enumeration(answers, size)
    assert hill_number(occurrences(answers), len(answers), size) == pytest.approx(
        expected, abs=1e-9
    )


def test_at_the_papers_size_it_is_exact_to_a_ten_thousandth():
    n, m = 131_072, 14_668
    # The same fraction as an exact ratio of integers.
    exact = 1 - math.comb(n - 2, m) / math.comb(n, m)
    assert hill_number([2], n, m) == pytest.approx(exact, abs=1e-9)
    # 40,000 words that stand in one answer each: m / n of them are seen, and errors have not added up.
    assert hill_number([1] * 40_000, n, m) == pytest.approx(40_000 * m / n, abs=1e-4)


# Intervals

ANSWERS = [
    ["犬", "猫", "水"],
    ["犬", "山", "川"],
    ["水", "本", "車"],
    ["犬", "猫", "本"],
    ["犬", "水", "月"],
]


def log_hill(answers, size, order):
    return math.log(hill_number(occurrences(answers), len(answers), size, order=order))


def by_leaving_one_out(answers, size, order):
    """Standard error of the logarithm; what is left of n answers shows at most n - 1."""
    n = len(answers)
    logs = [
        log_hill(answers[:i] + answers[i + 1 :], min(size, n - 1), order)
        for i in range(n)
    ]
    return math.sqrt((n - 1) / n * sum((one - sum(logs) / n) ** 2 for one in logs))


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("size", [2, 5])
def test_the_interval_of_hill_numbers_is_the_jackknifes(size, order):
    found = hill_interval(ANSWERS, size, order=order)
    middle, error = (
        log_hill(ANSWERS, size, order),
        by_leaving_one_out(ANSWERS, size, order),
    )
    margin = stats.t.ppf(0.975, 4) * error
    ends = [math.exp(middle - margin), math.exp(middle + margin)]
    # As many different words as there are places at the most, and those of an answer at the least.
    assert (found.value, found.n) == (pytest.approx(math.exp(middle)), 5)
    assert (found.low, found.high) == pytest.approx(
        (max(ends[0], 3), min(ends[1], 3 * size))
    )


@pytest.mark.parametrize("order", range(3))
def test_a_ratio_is_at_equal_n_and_its_p_is_the_intervals(order):
    fewer = [["犬", "猫", "水"], ["犬", "猫", "山"], ["犬", "水", "山"]]
    found = hill_ratio(ANSWERS, fewer, order=order, level=0.9)
    sides = [
        (log_hill(one, 3, order), by_leaving_one_out(one, 3, order), len(one))
        for one in (ANSWERS, fewer)
    ]
    (a, error_a, _), (b, error_b, _) = sides
    error = math.hypot(error_a, error_b)
    freedom = error**4 / sum(e**4 / (n - 1) for _, e, n in sides)
    assert (found.value, found.n, found.base_n) == (
        pytest.approx(math.exp(b - a)),
        3,
        3,
    )
    assert found.high / found.value == pytest.approx(
        math.exp(stats.t.ppf(0.95, freedom) * error)
    )
    assert found.p == pytest.approx(2 * stats.t.sf(abs(b - a) / error, freedom))
    other_way = hill_ratio(fewer, ANSWERS, order=order, level=0.9)
    assert (other_way.low, other_way.p) == (
        pytest.approx(1 / found.high),
        pytest.approx(found.p),
    )


def test_words_of_answers_of_unequal_length_and_repeated_words():
    """Stories: a word counts once an answer, and an answer may have any number of them."""
    stories = [["a", "b", "a", "c"], ["a"], ["b", "d"], ["a", "e", "f"]]
    found = hill_interval(stories)
    # Words of one's own: c; none; d; e and f. Of 6 words 1, 0, 1 and 2 are lost.
    logs = np.log([5, 6, 5, 4])
    margin = stats.t.ppf(0.975, 3) * math.sqrt(3 * logs.var())
    assert (found.value, found.low) == (
        6,
        pytest.approx(max(6 * math.exp(-margin), 9 / 4)),
    )


def test_one_list_said_always_has_fewer_words_for_certain():
    """Every answer is alike: no spread, and yet another one might differ."""
    always = [ANSWERS[0]] * 100
    varied = [[f"{k}", f"{k}b", f"{k}c"] for k in range(100)]
    found = hill_ratio(varied, always)
    assert found.value == pytest.approx(1 / 100)
    assert found.high < 1 / 10


def test_what_says_nothing_about_words():
    assert hill_interval([]).reason == "no answers"
    assert hill_interval([["a", "b"]]).reason == "only one of answers"
    assert (hill_interval([["a", "b"]]).value, hill_ratio(ANSWERS, []).reason) == (
        2,
        "no answers",
    )
    # Ten answers that share no word do not tell whether the eleventh would.
    apart = [[f"{k}", f"{k}b"] for k in range(10)]
    assert (hill_interval(apart).value, hill_interval(apart).low) == (
        pytest.approx(20),
        None,
    )
    reason = "whichever answer is left out, as many words are left"
    assert hill_interval(apart).reason == hill_ratio(apart, apart).reason == reason


def test_answers_that_are_all_alike_count_once_a_group():
    for groups in ([(2, 2), (3, 3)], [(0, 2), (0, 3)]):
        share, right = grouped_share(groups), sum(k for k, _ in groups)
        assert (share.value, share.n) == (right / 5, 5)
        assert (share.low, share.high) == wilson(2 * right / 5, 2)
