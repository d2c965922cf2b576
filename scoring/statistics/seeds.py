"""What a method is worth over seeds: Student's intervals of a mean and of a difference of two methods."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sozo.scoring.measure import LEVEL, t_test_of_both
from sozo.scoring.statistics.comparison import welch
from sozo.scoring.statistics.means import Interval, no_spread, student
from sozo.scoring.translatable import translatable

_FEWEST_UNPAIRED = 3  # Welch's interval of two seeds against two covers 98%


def over_seeds(
    values: Mapping[Any, float], *, shared: tuple[float, int] | None = None, level: float = LEVEL
) -> Interval:
    """Mean of a measure, or of a difference, by seed, with its t-interval (n - 1 degrees of freedom).

    There must be a seed. Differences from the only run of a base all have that run's error, and their spread does not
    show it: where trainings differ by little more than their samples, five differences alone hold the truth in two of
    three cases. `shared` is the variance of what they share, and of how many answers or items it is known: the base's
    own (`base_variance`, `log_hill_variance`, the first part of `gain_with_variances`); where items pair the answers
    `shared_by_item`'s, also of two methods that share seeds.

    Of 1, 2 and 3 the standard error is 1 / sqrt(3), and t at 97.5% with two degrees of freedom is 4.303:

    >>> values = {0: 1.0, 1: 2.0, 2: 3.0}
    >>> interval = over_seeds(values)
    >>> interval.mean, round(interval.high, 3), interval.n
    (2.0, 4.484, 3)
    >>> [round(over_seeds(values, shared=(variance, 100)).high, 3) for variance in (0.1, 10.0)]
    [4.562, 8.748]
    """
    by_seed = np.array(list(values.values()), np.float64)
    alone = student(by_seed, "only one seed" if len(by_seed) == 1 else no_spread(by_seed, "seeds"), level)
    if shared is None or alone.mean is None or alone.reason is not None:
        return alone
    (variance, n), error = shared, float(by_seed.std(ddof=1)) / math.sqrt(len(by_seed))
    errors = (error, len(by_seed) - 1), (math.sqrt(variance), max(1, n - 1))
    low, high, p = t_test_of_both(alone.mean, errors, level)
    return replace(alone, low=low, high=high, p=p)


def difference(of: Mapping[Any, float], against: Mapping[Any, float], *, level: float = LEVEL) -> Interval:
    """Difference of two methods' means: of the pairs where both share two seeds, else Welch's of three and more.

    >>> result = difference({0: 1.0, 1: 2.0, 2: 3.0}, {0: 0.5, 1: 1.0, 2: 1.5, 3: 9.0})
    >>> result.mean, round(result.p, 3)
    (1.0, 0.074)
    """
    common = [seed for seed in of if seed in against]
    if len(common) > 1:
        return replace(over_seeds({seed: of[seed] - against[seed] for seed in common}, level=level), paired=True)
    a, b = (np.array(list(values.values()), np.float64) for values in (of, against))
    mean, n = float(a.mean() - b.mean()), min(len(a), len(b))
    if n < _FEWEST_UNPAIRED:
        few = translatable("{n} seeds without partners: an interval needs {least}", n=n, least=_FEWEST_UNPAIRED)
        return Interval(mean, None, None, n, few)
    if (reason := no_spread(a, "seeds")) and no_spread(b):
        return Interval(mean, None, None, n, reason)
    low, high, p = welch(b, a, level)
    return Interval(mean, low, high, n, p=p)
