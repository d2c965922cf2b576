"""The guard: a second encoder that scores finished answers, and a gain in an encoder's own standard deviations.

A reward is a measure that was trained on; whether a gain is more than that shows by an encoder that was not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.measure import t_test
from sozo.scoring.statistics.means import welch_freedom


class Guard:
    """Scores lists of words by the encoder called `name` (as in `make_encoder`), on which nobody trained."""

    def __init__(self, name: str) -> None:
        self.encoder = make_encoder(name)
        self._vectors = WordVectors(self.encoder)

    def scores(self, lists: Sequence[Sequence[str]]) -> np.ndarray:
        """DAT scores, float32 of shape (lists,), of those lists of equal length whose words all have a vector."""
        if not lists:
            return np.zeros(0, np.float32)
        rows = np.array(self._vectors.rows([word for words in lists for word in words]), np.int64)
        rows = rows.reshape(len(lists), -1)
        return mean_pairwise_distance(self._vectors.matrix, rows[(rows >= 0).all(axis=1)])


@dataclass(frozen=True, slots=True)
class Gain:
    """A mean minus the base's, in standard deviations of the base's scores (Glass's delta)."""

    deviations: float
    low: float  # lower end of its 95% interval
    high: float
    n: int  # scores, and
    base_n: int  # scores of the base


def gain(base: np.ndarray, scores: np.ndarray) -> Gain | None:
    """The gain of `scores` over `base`, shapes (n,) and (m,), by one encoder; None with too few or no spread.

    The interval is Welch's, with the jackknife's error over the base's scores: their deviation is estimated too, and of
    a base with tails it is further off than a normal one's. Over answers, not over trainings. The base needs three.

    >>> result = gain(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 4.0, 5.0]))
    >>> round(result.deviations, 3), round(result.low, 3)
    (1.162, -1.193)
    """
    a, b = (side.astype(np.float64) for side in (base, scores))
    n, m = len(b), len(a)
    if n < 2 or m < 3 or not (spread := float(a.std(ddof=1))):
        return None
    apart = a - a.mean()
    # Mean and deviation of the base without each of its scores in turn.
    means, squares = a.mean() - apart / (m - 1), (apart**2).sum() - apart**2 * m / (m - 1)
    with np.errstate(divide="ignore"):
        left = (b.mean() - means) / np.sqrt(np.maximum(squares, 0.0) / (m - 2))
    parts = (m - 1) * float(left.var()), float(b.var(ddof=1)) / spread**2 / n
    if not 0 < sum(parts) < math.inf:  # equal scores but for one
        return None
    delta = float(b.mean() - a.mean()) / spread
    low, high, _ = t_test(delta, math.sqrt(sum(parts)), welch_freedom(parts, (m, n)))
    return Gain(delta, low, high, n, m)
