"""What printed digits leave open: by hand, against random numbers that print the same, and where it must be exact."""

import numpy as np
import pytest

from published_check.joint import least_explained
from published_check.rounding import Printed, pearson_range


def exact(*values):
    return [Printed(float(value), 0.0) for value in values]


def printed(*texts):
    return [Printed.from_text(text) for text in texts]


def test_the_range_by_hand():
    assert pearson_range(exact(1, 2, 3, 4, 5), exact(1, 3, 2, 5, 4)) == pytest.approx(
        (0.8, 0.8)
    )
    # x is exact. y = (0, 0, b), b in 1..3: its direction, and so r, is the same for every b.
    y = [*exact(0, 0), Printed(2, 1)]
    assert pearson_range(exact(0, 1, 2), y) == pytest.approx((np.sqrt(3) / 2,) * 2)
    # y = (0, b, 2), b in -1..3: r = 2 / sqrt(2 (4 + b^2 - (2 + b)^2 / 3)) is highest on the line, b = 1, which is no
    # corner, and lowest at b = -1 and b = 3: 2 / sqrt(2 * 14 / 3).
    low, high = pearson_range(exact(0, 1, 2), [*exact(0), Printed(1.0, 2.0), *exact(2)])
    assert (low, high) == (pytest.approx(2 / np.sqrt(28 / 3)), pytest.approx(1))


def test_correlations_with_two_columns_bound_each_other():
    # Uncorrelated columns: the shares add up. 0.8^2 + 0.6^2 = 1 can just be, 0.8^2 + 0.8^2 cannot.
    columns = [exact(1, 1, -1, -1), exact(1, -1, 1, -1)]
    assert least_explained(exact(0.8, 0.6), columns) == pytest.approx(1)
    assert least_explained(exact(0.8, 0.8), columns) == pytest.approx(1.28)
    # Rounding of the correlations gives room: 0.75^2 * 2 = 1.125.
    assert least_explained([Printed(0.8, 0.05)] * 2, columns) == pytest.approx(
        1.125, abs=1e-6
    )
