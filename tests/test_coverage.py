"""A 95% interval covers 93% to 97% of the time, in the worlds that stand here; one of a share at least 93%."""

import numpy as np
import pytest

from eval.statistics import compare_independent, compare_paired, mean_interval, pearson
from eval.statistics.seeds import difference, over_seeds

TRIALS = 3000  # the standard error of a coverage of 95% is 0.4 points
JUDGE = np.arange(1.0, 5.1, 0.25)  # means of four scores


def normal(rng, n):
    return rng.normal(0.9, 0.011, n)  # DAT scores of a tuned model


def skewed(rng, n):
    return 1 - rng.beta(8, 40, n)  # DAT scores of a base model: a tail of near words


def judged(rng, n):
    return rng.choice(JUDGE, n, p=JUDGED)


def rated(rng, n):
    return rng.integers(1, 6, n).astype(float)


JUDGED = np.exp(-((JUDGE - 3.4) ** 2))
JUDGED /= JUDGED.sum()
WORLDS = {
    normal: 0.9,
    skewed: 1 - 8 / 48,
    judged: float(JUDGE @ JUDGED),
    rated: 3.0,
}


def coverage(truth, interval):
    """How often `interval(rng)`, a pair of ends, holds the truth; one that is not given does not count."""
    ends = [interval(np.random.default_rng(k)) for k in range(TRIALS)]
    given = [(low, high) for low, high in ends if low is not None]
    assert len(given) > 0.9 * TRIALS
    return np.mean([low <= truth <= high for low, high in given])


def ends(result):
    return result.low, result.high


@pytest.mark.parametrize("n", [5, 10, 35, 113])
@pytest.mark.parametrize("world", WORLDS)
def test_means(world, n):
    assert 0.93 <= coverage(WORLDS[world], lambda rng: ends(mean_interval(world(rng, n)))) <= 0.97


@pytest.mark.parametrize("share", [0.05, 0.5, 0.86, 0.98])
@pytest.mark.parametrize("n", [5, 10, 35, 113])
def test_shares(share, n):
    assert coverage(share, lambda rng: ends(mean_interval(rng.random(n) < share, share=True))) >= 0.93


@pytest.mark.parametrize("n", [5, 10, 35, 113])
def test_paired_differences(n):
    def interval(rng):
        questions = rng.normal(0, 0.6, n)  # hard for both
        sides = [np.clip(np.round(3 + lift + questions + rng.normal(0, 0.5, n), 2), 1, 5) for lift in (0.0, 0.3)]
        return ends(compare_paired(*(dict(enumerate(side)) for side in sides), flips=1))

    assert 0.93 <= coverage(0.3, interval) <= 0.97


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 10), (10, 100), (100, 100)])
def test_independent_differences_of_unequal_spread(n, m):
    def interval(rng):
        return ends(compare_independent(rng.normal(0.88, 0.035, n), rng.normal(0.9, 0.01, m)))

    assert 0.93 <= coverage(0.02, interval) <= 0.97


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_means_and_differences_over_seeds(seeds):
    def mean(rng):
        return ends(over_seeds(dict(enumerate(rng.normal(0.9, 0.002, seeds)))))

    def gap(rng):
        own = rng.normal(0, 0.001, seeds)  # what a seed does to both
        of, against = (dict(enumerate(own + rng.normal(m, 0.002, seeds))) for m in (0.92, 0.9))
        return ends(difference(of, against))

    assert 0.93 <= coverage(0.9, mean) <= 0.97
    assert 0.93 <= coverage(0.02, gap) <= 0.97


@pytest.mark.parametrize("n", [5, 10, 73])
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_correlations(rho, n):
    def interval(rng):
        x = rng.normal(size=n)
        return ends(pearson(x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)))

    assert 0.93 <= coverage(rho, interval) <= 0.97
