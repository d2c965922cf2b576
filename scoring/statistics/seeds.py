"""What a method is worth over seeds: Student's intervals of a mean and of a difference of two methods."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sozo.scoring.measure import LEVEL, Estimate, t_test_of_both
from sozo.scoring.statistics.comparison import welch
from sozo.scoring.statistics.means import few, no_spread, student

BySeed = Mapping[Any, float]


def over_seeds(
    values: BySeed, *, shared: tuple[float, int] | None = None, level: float = LEVEL
) -> Estimate:
    """Mean of a measure, or of a difference, by seed, with its t-interval (n - 1 degrees of freedom).

    There must be a seed. Differences from the only run of a base all have that run's error, and their spread does not
    show it: where trainings differ by little more than their samples, five differences alone hold the truth in two of
    three cases. `shared` is the variance of what they share, and of how many answers or items it is known: the base's
    own (`base_variance`, `log_hill_variance`, the first part of `gain_with_variances`); where items pair the answers
    `shared_by_item`'s, also of two methods that share seeds.

    Of 1, 2 and 3 the standard error is 1 / sqrt(3), and t at 97.5% with two degrees of freedom is 4.303:

    >>> values = {0: 1.0, 1: 2.0, 2: 3.0}
    >>> mean = over_seeds(values)
    >>> mean.value, round(mean.high, 3), mean.n
    (2.0, 4.484, 3)
    >>> [round(over_seeds(values, shared=(variance, 100)).high, 3) for variance in (0.1, 10.0)]
    [4.562, 8.748]
    """
    by_seed = np.array(list(values.values()), np.float64)
    alone = student(
        by_seed, few(len(by_seed), "seeds") or no_spread(by_seed, "seeds"), level
    )
    if shared is None or alone.value is None or alone.reason is not None:
        return alone
    (variance, n), error = shared, float(by_seed.std(ddof=1)) / math.sqrt(len(by_seed))
    errors = (error, len(by_seed) - 1), (math.sqrt(variance), max(1, n - 1))
    low, high, p = t_test_of_both(alone.value, errors, level)
    return replace(alone, low=low, high=high, p=p)


def difference(values: BySeed, against: BySeed, *, level: float = LEVEL) -> Estimate:
    """Difference of two methods' means: of the pairs where both share three seeds, else Welch's of three and more.

    >>> result = difference({0: 1.0, 1: 2.0, 2: 3.0}, {0: 0.5, 1: 1.0, 2: 1.5, 3: 9.0})
    >>> result.value, round(result.p, 3), result.base_n
    (1.0, 0.074, None)
    """
    common = [seed for seed in values if seed in against]
    if few(len(common)) is None:
        return over_seeds(
            {seed: values[seed] - against[seed] for seed in common}, level=level
        )
    a, b = (np.array(list(side.values()), np.float64) for side in (values, against))
    mean, n, base_n = float(a.mean() - b.mean()), len(a), len(b)
    reason = few(min(n, base_n), "seeds without partners")
    if not reason and no_spread(b):
        reason = no_spread(a, "seeds")
    if reason:
        return Estimate(mean, n=n, base_n=base_n, level=level, reason=reason)
    low, high, p = welch(b, a, level)
    return Estimate(mean, low, high, n, base_n, level, p)
