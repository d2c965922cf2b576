"""What a method is worth over seeds: Student's intervals of a mean and of a difference of two methods."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sozo.scoring.measure import LEVEL, Estimate
from sozo.scoring.statistics.comparison import welch
from sozo.scoring.statistics.means import few, no_spread, student

BySeed = Mapping[Any, float]


def over_seeds(values: BySeed, *, level: float = LEVEL) -> Estimate:
    """Mean of a measure by seed, with its t-interval (n - 1 degrees of freedom); there must be a seed.

    Of 1, 2 and 3 the standard error is 1 / sqrt(3), and t at 97.5% with two degrees of freedom is 4.303:

    >>> mean = over_seeds({0: 1.0, 1: 2.0, 2: 3.0})
    >>> mean.value, round(mean.high, 3), mean.n
    (2.0, 4.484, 3)
    """
    by_seed = np.array(list(values.values()), np.float64)
    return student(by_seed, few(len(by_seed), "seeds") or no_spread(by_seed, "seeds"), level)


def difference(of: BySeed, against: BySeed, *, level: float = LEVEL) -> Estimate:
    """Difference of two methods' means: of the pairs where both share three seeds, else Welch's of three and more.

    >>> result = difference({0: 1.0, 1: 2.0, 2: 3.0}, {0: 0.5, 1: 1.0, 2: 1.5, 3: 9.0})
    >>> result.value, round(result.p, 3), result.base_n
    (1.0, 0.074, None)
    """
    common = [seed for seed in of if seed in against]
    if few(len(common)) is None:
        return over_seeds({seed: of[seed] - against[seed] for seed in common}, level=level)
    a, b = (np.array(list(values.values()), np.float64) for values in (of, against))
    mean, n, base_n = float(a.mean() - b.mean()), len(a), len(b)
    reason = few(min(n, base_n), "seeds without partners")
    if not reason and no_spread(b):
        reason = no_spread(a, "seeds")
    if reason:
        return Estimate(mean, n=n, base_n=base_n, level=level, reason=reason)
    low, high, p = welch(b, a, level)
    return Estimate(mean, low, high, n, base_n, level, p)
