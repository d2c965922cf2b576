"""Correlations: by hand, against numpy and scipy, and what says nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sixty_answers import sixty_scores
from sozo.studies.correlation import by_systems, pearson

NAN, INF = float("nan"), float("inf")
floats = st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 3))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(floats, floats), min_size=4, max_size=30))
def test_pearson_is_numpys_and_p_is_below_5_percent_exactly_where_the_interval_leaves_0(
    pairs,
):
    x, y = ([pair[i] for pair in pairs] for i in (0, 1))
    result = pearson(x, y)
    if result.r is None:
        assert "equal" in result.reason
        return
    assert result.r == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
    if result.low is not None:
        assert -1 <= result.low <= result.r <= result.high <= 1
        assert (result.p < 0.05) == (result.low > 0 or result.high < 0)
        fisher = stats.pearsonr(x, y).confidence_interval()
        assert (
            result.low <= fisher.low + 1e-9
        )  # never narrower than Fisher's, which tails make too narrow
        assert result.high >= fisher.high - 1e-9


def test_the_interval_of_a_correlation_by_hand():
    """Fisher's z without each pair in turn: Student's interval of these."""
    x, y = [1.0, 2, 3, 4, 20, 6], [2.0, 1, 4, 3, 9, 30]
    left = [
        np.arctanh(np.corrcoef(np.delete(x, k), np.delete(y, k))[0, 1])
        for k in range(6)
    ]
    margin = stats.t.ppf(0.975, 5) * np.sqrt(5 * np.var(left))
    found = pearson(x, y)
    z = np.arctanh(found.r)
    assert (found.low, found.high) == pytest.approx(
        (np.tanh(z - margin), np.tanh(z + margin))
    )
    assert found.p == pytest.approx(2 * stats.t.sf(z / np.sqrt(5 * np.var(left)), 5))


def test_a_correlation_without_interval():
    three = pearson([1, 2, 3], [1, 3, 2], unit="models")
    assert (three.r, three.low, three.reason) == (
        pytest.approx(0.5),
        None,
        "3 models: an interval needs at least 4",
    )
    assert three.p is None  # as of one number there is none without an interval
    one = pearson([1, 1, 1, 1, 9], [1, 2, 3, 4, 9])
    assert (one.low, one.reason) == (
        None,
        "without one of the pairs the others are equal",
    )
    line = pearson([1, 2, 3, 4], [2, 4, 6, 8])
    assert (line.r, line.low, line.reason) == (
        pytest.approx(1),
        None,
        "all points are on a line: no interval",
    )


@pytest.mark.parametrize(
    ("sides", "reason"),
    [
        ([[], []], "no values of x"),
        ([[1], [2]], "1 pairs: a correlation needs 3"),
        ([[1, 2], [2, 5]], "2 pairs: a correlation needs 3"),
        ([[3, 3, 3], [1, 2, 4]], "all 3 values of x are equal"),
        ([[1, 2, 3], [0.1 + 0.2, 0.3, 0.3]], "all 3 values of y are equal"),
        ([[1, NAN, 3], [1, 2, 3]], "1 of 3 values of x not finite"),
        ([[1, 2, 3], [1, INF, 3]], "1 of 3 values of y not finite"),
    ],
)
def test_what_says_nothing_has_no_correlation_and_says_why(sides, reason):
    found = pearson(*sides)
    assert (found.r, found.low, found.high, found.p, found.reason) == (
        None,
        None,
        None,
        None,
        reason,
    )


def test_r_over_answers_is_that_of_systems_where_people_score_systems():
    x, y, systems, items = sixty_scores()
    found = by_systems(x, y, systems, items)
    means = [[side[systems == s].mean() for s in "abcd"] for side in (x, y)]
    own = [side - np.repeat(m, 15) for side, m in zip((x, y), means, strict=True)]
    by_hand = {"over systems": means, "over answers": (x, y), "within systems": own}
    for name, sides in by_hand.items():
        assert found[name].r == pytest.approx(np.corrcoef(*sides)[0, 1], abs=1e-12)
    # Without each question in turn: Student's over Fisher's z, for other questions to these systems.
    left = [np.corrcoef(x[items != k], y[items != k])[0, 1] for k in range(15)]
    error = np.sqrt(14 * np.arctanh(left).var())
    margin = stats.t.ppf(0.975, 14) * error
    over = found["over answers"]
    ends = np.tanh(np.arctanh(over.r) + np.array([-margin, margin]))
    assert (over.low, over.high) == pytest.approx(tuple(ends))
    within = found["within systems"]
    assert within.low < 0 < within.high
    few = by_systems(x[items < 4], y[items < 4], systems[items < 4], items[items < 4])
    assert few["over answers"].reason == "4 questions: an interval needs at least 5"
