"""The guard: a second encoder that scores finished answers, and a gain in an encoder's own standard deviations.

A reward is a measure that was trained on; whether a gain is more than that shows by an encoder that was not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.measure import Z95


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
    """The gain of `scores` over `base`, shapes (n,) and (m,), by one encoder; None with fewer than two or no spread.

    The interval is normal: both means and the base's deviation are estimates. Over answers, not over trainings.

    >>> result = gain(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0]))
    >>> result.deviations, round(result.high - result.deviations, 3)
    (2.0, 2.53)
    """
    n, m = len(scores), len(base)
    if min(n, m) < 2 or not (spread := float(base.std(ddof=1, dtype=np.float64))):
        return None
    delta = (float(scores.mean(dtype=np.float64)) - float(base.mean(dtype=np.float64))) / spread
    ratio = float(scores.var(ddof=1, dtype=np.float64)) / spread**2
    margin = Z95 * math.sqrt(1 / m + ratio / n + delta**2 / (2 * (m - 1)))
    return Gain(delta, delta - margin, delta + margin, n, m)
