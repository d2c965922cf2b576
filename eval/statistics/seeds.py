"""What a method is worth over seeds: Student's 95% intervals of a mean and of a difference of two methods."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eval.statistics.comparison import welch
from eval.statistics.means import LEVEL

_FEWEST_UNPAIRED = 3  # Welch's interval of two seeds against two covers 98%


@dataclass(frozen=True, slots=True)
class SeedInterval:
    """A mean over seeds, or a difference of two; without `low` and `high` there are too few seeds to say how sure."""

    mean: float
    low: float | None
    high: float | None
    seeds: int  # that it rests on; of unpaired ones the smaller number
    paired: bool = False  # whether the differences at each seed were taken


def over_seeds(values: Mapping[int, float]) -> SeedInterval:
    """Mean of a measure by seed, with its t-interval (n - 1 degrees of freedom); there must be a seed.

    Of 1, 2 and 3 the standard error is 1 / sqrt(3), and t at 97.5% with two degrees of freedom is 4.303:

    >>> interval = over_seeds({0: 1.0, 1: 2.0, 2: 3.0})
    >>> interval.mean, round(interval.high, 3), interval.seeds
    (2.0, 4.484, 3)
    """
    given = np.array(list(values.values()), np.float64)
    mean, n = float(given.mean()), len(given)
    error = float(given.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return SeedInterval(mean, *_ends(mean, error, n - 1), n)


def difference(of: Mapping[int, float], against: Mapping[int, float]) -> SeedInterval:
    """Difference of two methods' means: of the pairs where both share two seeds, else Welch's of three and more.

    >>> difference({0: 1.0, 1: 2.0, 2: 3.0}, {0: 0.5, 1: 1.0, 2: 1.5, 3: 9.0}).mean
    1.0
    """
    common = [seed for seed in of if seed in against]
    if len(common) > 1:
        pairs = over_seeds({seed: of[seed] - against[seed] for seed in common})
        return SeedInterval(pairs.mean, pairs.low, pairs.high, pairs.seeds, paired=True)
    a, b = (np.array(list(values.values()), np.float64) for values in (of, against))
    mean, n = float(a.mean() - b.mean()), min(len(a), len(b))
    if n < _FEWEST_UNPAIRED:
        return SeedInterval(mean, None, None, n)
    if not (a.var() or b.var()):
        return SeedInterval(mean, mean, mean, n)
    low, high, _ = welch(b, a)
    return SeedInterval(mean, low, high, n)


def _ends(mean: float, error: float, freedom: int) -> tuple[float | None, float | None]:
    if freedom <= 0:
        return None, None
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean - half, mean + half
