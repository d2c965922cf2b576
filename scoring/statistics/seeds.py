"""What a method is worth over seeds: Student's 95% intervals of a mean and of a difference of two methods."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sozo.scoring.measure import t_interval
from sozo.scoring.statistics.comparison import welch
from sozo.scoring.statistics.means import no_spread

_FEWEST_UNPAIRED = 3  # Welch's interval of two seeds against two covers 98%


@dataclass(frozen=True, slots=True)
class SeedInterval:
    """A mean over seeds, or a difference of two; without `low` and `high` a `reason` says why there is no interval."""

    mean: float
    low: float | None
    high: float | None
    seeds: int  # that it rests on; of unpaired ones the smaller number
    paired: bool = False  # whether the differences at each seed were taken
    p: float | None = None  # of a difference: two-sided, that it is 0
    reason: str = ""


def over_seeds(values: Mapping[Any, float]) -> SeedInterval:
    """Mean of a measure by seed, with its t-interval (n - 1 degrees of freedom); there must be a seed.

    Of 1, 2 and 3 the standard error is 1 / sqrt(3), and t at 97.5% with two degrees of freedom is 4.303:

    >>> interval = over_seeds({0: 1.0, 1: 2.0, 2: 3.0})
    >>> interval.mean, round(interval.high, 3), interval.seeds
    (2.0, 4.484, 3)
    """
    by_seed = np.array(list(values.values()), np.float64)
    mean, n = float(by_seed.mean()), len(by_seed)
    if reason := "only one seed" if n == 1 else no_spread(by_seed, "seeds"):
        return SeedInterval(mean, None, None, n, reason=reason)
    low, high = t_interval(mean, float(by_seed.std(ddof=1)), n) or (None, None)
    return SeedInterval(mean, low, high, n)


def difference(of: Mapping[Any, float], against: Mapping[Any, float]) -> SeedInterval:
    """Difference of two methods' means: of the pairs where both share two seeds, else Welch's of three and more.

    >>> result = difference({0: 1.0, 1: 2.0, 2: 3.0}, {0: 0.5, 1: 1.0, 2: 1.5, 3: 9.0})
    >>> result.mean, round(result.p, 3)
    (1.0, 0.074)
    """
    common = [seed for seed in of if seed in against]
    if len(common) > 1:
        gaps = {seed: of[seed] - against[seed] for seed in common}
        return replace(over_seeds(gaps), paired=True, p=_p(np.array(list(gaps.values()))))
    a, b = (np.array(list(values.values()), np.float64) for values in (of, against))
    mean, n = float(a.mean() - b.mean()), min(len(a), len(b))
    if n < _FEWEST_UNPAIRED:
        return SeedInterval(mean, None, None, n, reason=f"{n} seeds without partners: an interval needs 3")
    if (reason := no_spread(a, "seeds")) and no_spread(b):
        return SeedInterval(mean, None, None, n, reason=reason)
    low, high, p = welch(b, a)
    return SeedInterval(mean, low, high, n, p=p)


def _p(gaps: np.ndarray) -> float | None:
    """Student's p-value of differences, shape (n,), n > 1; None if they are equal."""
    if no_spread(gaps):
        return None
    from scipy.special import stdtr

    return 2 * float(stdtr(len(gaps) - 1, -abs(gaps.mean()) / gaps.std(ddof=1) * math.sqrt(len(gaps))))
