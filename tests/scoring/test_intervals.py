"""Intervals and comparisons: by hand, by enumeration, and against scipy."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import coverage_table

from sozo.scoring.statistics import (
    compare_independent,
    compare_paired,
    holm,
    mean_interval,
)
from sozo.scoring.statistics.comparison import effect_independent, effect_paired
from sozo.scoring.statistics.seeds import over_seeds

SCORES = [3.0, 4.0, 2.0, 5.0, 4.0, 3.5, 1.0, 4.5, 3.0, 2.5]
NAN = float("nan")
floats = st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 3))


# Means


def test_the_interval_is_students_and_of_a_share_the_exact_one():
    ours = mean_interval(SCORES)
    theirs = stats.t.interval(0.95, 9, np.mean(SCORES), stats.sem(SCORES))
    assert (ours.low, ours.high) == pytest.approx(theirs)
    assert (ours.value, ours.n, ours.reason) == (pytest.approx(3.25), 10, None)
    # All of ten: the lower end is where ten of ten has a chance of 2.5%.
    assert mean_interval([1] * 10, share=True).low == pytest.approx(0.025**0.1)
    assert mean_interval([1] * 10, share=True).high == 1
    assert (
        mean_interval([1] * 10).reason == "all 10 values are equal"
    )  # a judge's ones are no share
    # Of shares over several answers: as if a success could be cut in two.
    assert mean_interval([0.5] * 3, share=True).low == pytest.approx(
        stats.beta.ppf(0.025, 1.5, 2.5)
    )


def test_differences_of_shares_have_intervals_at_the_ends_too():
    alike = compare_paired(
        dict.fromkeys(range(9), 1.0), dict.fromkeys(range(9), 1.0), share=True
    )
    assert (alike.value, alike.p) == (0, 1)
    assert alike.high == pytest.approx(stats.t.ppf(0.975, 10) * math.sqrt(2 / 10 / 11))
    apart = compare_independent([0.0] * 8, [1.0] * 8, share=True)
    error = math.sqrt(
        2 * (0.1 * 0.9 * 10 / 9) / 10
    )  # of one of ten on one side, nine of ten on the other
    assert (apart.value, apart.low) == (
        1,
        pytest.approx(0.8 - stats.t.ppf(0.975, 18) * error),
    )


def test_the_mean_of_fixed_strata_by_hand():
    # Within a: 1 and 3, within b: 5, 6 and 7. Variances 2 and 1 of n = 2 and 3, weights 2/5 and 3/5.
    found = mean_interval([1, 3.0, 5.5, 6.5, 7.5], strata=list("aabbb"))
    parts = (2 / 5) ** 2 * 2 / 2, (3 / 5) ** 2 * 1 / 3
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 1 + parts[1] ** 2 / 2)
    assert found.value == pytest.approx(23.5 / 5)
    assert found.high - found.value == pytest.approx(
        stats.t.ppf(0.975, freedom) * sum(parts) ** 0.5
    )
    # A stratum of one has no spread of its own.
    assert mean_interval(SCORES, strata="aaaaaaaaab") == mean_interval(SCORES)


# Paired


def named(values):
    return {str(i): value for i, value in enumerate(values)}


def test_the_paired_p_is_of_the_test_that_made_the_interval():
    base, other = np.random.default_rng(1).normal(size=(2, 12))
    theirs = stats.ttest_rel(other, base)
    found, other_way = (
        compare_paired(named(base), named(other)),
        compare_paired(named(other), named(base)),
    )
    assert found.p == other_way.p == pytest.approx(theirs.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert found.value == -other_way.value
    effect = effect_paired(named(base), named(other))
    assert effect == pytest.approx(theirs.statistic / math.sqrt(12))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=30),
    st.lists(st.integers(0, 4), min_size=3, max_size=30),
    st.sampled_from([0.1, 0.05, 0.05 / 7]),
    st.booleans(),
)
def test_p_is_below_what_the_interval_leaves_out_exactly_where_it_leaves_0(
    a, b, alpha, share
):
    values = [
        np.array(side) / 4 if not share else np.array(side) // 3 * 1.0
        for side in (a, b)
    ]
    n = min(map(len, values))
    paired = compare_paired(
        named(values[0][:n]), named(values[1][:n]), share=share, level=1 - alpha
    )
    apart = compare_independent(*values, share=share, level=1 - alpha)
    for found in (paired, apart):
        assert (found.p is None) == (found.low is None)
        if found.low is not None:
            assert (
                (found.p < alpha)
                == (found.low > 0 or found.high < 0)
                == bool(found.sign)
            )
            assert found.level == 1 - alpha


def test_the_level_is_the_intervals():
    bonferroni = 1 - 0.05 / 7
    ours = mean_interval(SCORES, level=bonferroni)
    theirs = stats.t.interval(bonferroni, 9, np.mean(SCORES), stats.sem(SCORES))
    assert (ours.low, ours.high) == pytest.approx(theirs)
    over = over_seeds(dict(enumerate(SCORES)), level=bonferroni)
    assert (over.low, over.high) == pytest.approx(theirs)


def test_no_end_is_outside_the_scale():
    """Of a share's differences 1: all of three against none."""
    apart = compare_independent([0.0] * 3, [1.0] * 3, share=True)
    paired = compare_paired(named([0.0] * 3), named([1.0] * 3), share=True)
    for found in (apart, paired):
        assert (found.value, found.high) == (1, 1)
        assert -1 <= found.low < 1


def test_items_that_one_lacks_are_left_out_and_counted():
    found = compare_paired(
        {"a": 1, "b": 2, "c": None, "d": 4}, {"a": 2, "b": 5, "c": 1, "e": 9}
    )
    assert (found.value, found.n, found.base_n) == (2, 2, None)


# Independent


def test_independent_is_welchs():
    a, b = [0.52, 0.53, 0.51, 0.55], [0.49, 0.44, 0.56, 0.40, 0.51, 0.47]
    found = compare_independent(a, b)
    theirs = stats.ttest_ind(b, a, equal_var=False)
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.value == pytest.approx(np.mean(b) - np.mean(a))
    assert found.low < found.value < found.high
    assert (found.n, found.base_n) == (6, 4)
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval()))


# Many cells


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04, and the last may not be below 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([None, 0.9, 0.8]) == [None, 1.0, 1.0]


# What says nothing


@pytest.mark.parametrize(
    ("function", "sides", "value", "reason"),
    [
        (mean_interval, [[]], None, "no values"),
        (mean_interval, [[2.5, 1.5]], 2, "2 values: an interval needs 3"),
        (mean_interval, [[2.5, 2.5, 2.5]], 2.5, "all 3 values are equal"),
        (mean_interval, [[1, NAN, 2]], None, "1 of 3 values not finite"),
        (compare_paired, [[], []], None, "no common items"),
        (compare_paired, [[1], [3]], 2, "only one of common items"),
        (
            compare_paired,
            [[2.0, 3.0, 4.0], [2.1, 3.1, 4.1]],
            0.1,
            "all 3 differences are equal",
        ),  # equal but for rounding
        (compare_independent, [[], [1, 2]], None, "no scores of the base"),
        (
            compare_independent,
            [[1, 2], [NAN, 2]],
            None,
            "1 of 2 scores of the other not finite",
        ),
        (
            compare_independent,
            [[1, 2, 4], [2, 3]],
            2.5 - 7 / 3,
            "2 values: an interval needs 3",
        ),
        (
            compare_independent,
            [[1, 1, 1], [2, 2, 2]],
            1,
            "all scores on each side are equal",
        ),
    ],
)
def test_what_says_nothing_has_no_interval_and_says_why(function, sides, value, reason):
    result = function(*(map(named, sides) if function is compare_paired else sides))
    assert result.value == (value if value is None else pytest.approx(value))
    assert (result.low, result.high, result.p, result.reason) == (
        None,
        None,
        None,
        reason,
    )
    if function is compare_paired:
        assert effect_paired(*map(named, sides)) is None
    elif function is compare_independent and "needs 3" not in reason:
        assert effect_independent(*sides) is None


# benchmarks/coverage_table.py: how often each printed interval holds the truth


def test_the_table_has_every_interval_and_names_what_covers_otherwise_than_it_says():
    table = coverage_table.read()
    assert list(table) == coverage_table.keys()
    for (interval, world, n, level), (held, cause) in table.items():
        assert cause == coverage_table.cause(interval, world, n, level, held)
        enough = held >= coverage_table.least_of(level) and (
            held <= 0.975 or level != 0.95
        )
        assert bool(cause) != enough, (interval, world, n)
        # Where nothing is rare, every interval covers: what is less is a kind that the sample hardly holds.
        if world in ("normal", "skewed", "grouped", "half", "Zipf"):
            assert held >= coverage_table.least_of(level), (interval, world, n)


@pytest.mark.slow
@pytest.mark.parametrize("interval", coverage_table.ROWS)
def test_the_table_is_made_by_these_intervals(interval):
    """The first and the last cell of each interval; python benchmarks/coverage_table.py makes the whole table."""
    table = coverage_table.read()
    own = [key for key in table if key[0] == interval]
    for key in (own[0], own[-1]):
        assert coverage_table.cell(*key) == pytest.approx(table[key][0], abs=0.01)
