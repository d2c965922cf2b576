"""Figure 3: do experts who agree more get judges whose reasons are more alike?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from sozo.eval.experts.asks import Votes
from sozo.eval.experts.histories import Condition
from sozo.scoring.distance import paired_distance
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.statistics.agreement import krippendorff_alpha
from sozo.tasks.pbig.experts import Rated

PERMUTATIONS, FEWEST_PAIRS = 10_000, 3


@dataclass(frozen=True, slots=True)
class Point:
    """Two experts."""

    first: str
    second: str
    alpha: float  # mean over criteria of the agreement of their scores
    cosine: float  # mean over what both rated of the similarity of their judges' reasons, -1 to 1
    n: int  # ratings in common that have both reasons


@dataclass(frozen=True, slots=True)
class Reasons:
    """All pairs of experts of one condition."""

    condition: str
    points: tuple[Point, ...]
    r: float | None  # Pearson's
    p: float | None  # two-sided, by exchanging experts (Mantel): pairs that share one are not independent
    reason: str | None = None  # why there is no r


def reasons_of(
    of: Sequence[Rated], votes: Votes, condition: Condition, vectors: WordVectors, level: str, least: int
) -> Reasons:
    """Pairs of experts with `least` ideas in common or more; a judge's reason is that of its first readable vote."""
    rows = []
    for rating in of:
        reasons = [vote.reason for vote in votes.by_rating.get((condition.name, rating.id), ()) if vote is not None]
        reason = next((text for text in reasons if text.strip()), None)
        rows.append((rating.rater, rating.item, rating.criterion, rating.score, reason))
    table = pd.DataFrame(rows, columns=["rater", "item", "criterion", "score", "reason"])
    wide = table.pivot(index=["item", "criterion"], columns="rater")
    points = []
    for a, b in combinations(table.rater.unique(), 2):
        scores = wide["score"][[a, b]].dropna()
        if scores.index.get_level_values("item").nunique() < least:
            continue
        by_criterion = [part.to_numpy().T for _, part in scores.groupby("criterion")]
        alphas = [alpha for pair in by_criterion if (alpha := krippendorff_alpha(pair, level).alpha) is not None]
        texts = wide["reason"].loc[scores.index, [a, b]].dropna()
        left, right = (np.array(vectors.rows(texts[rater]), np.int64) for rater in (a, b))
        good = (left >= 0) & (right >= 0)
        if alphas and good.any():
            distances = paired_distance(vectors.matrix, left[good], right[good])
            points.append(Point(a, b, float(np.mean(alphas)), float(1 - distances.mean()), int(good.sum())))
    return _correlated(condition.name, tuple(points))


def _correlated(condition: str, points: tuple[Point, ...]) -> Reasons:
    if len(points) < FEWEST_PAIRS:
        reason = f"{len(points)} pairs of experts with enough ideas in common: a correlation needs {FEWEST_PAIRS}"
        return Reasons(condition, points, None, None, reason)
    cosine, alpha = (np.array([getattr(point, name) for point in points]) for name in ("cosine", "alpha"))
    for values, reason in ((cosine, "all pairs' reasons are as alike"), (alpha, "all pairs agree as much")):
        if np.ptp(values) < 1e-9:
            return Reasons(condition, points, None, None, reason)
    number = {name: k for k, name in enumerate(dict.fromkeys(n for p in points for n in (p.first, p.second)))}
    first, second = np.array([(number[point.first], number[point.second]) for point in points]).T
    matrix = np.full((len(number), len(number)), np.nan)  # NaN where two share too little
    matrix[first, second] = matrix[second, first] = alpha
    r, rng, as_far = _pearson(cosine, alpha), np.random.default_rng(0), 0
    for _ in range(PERMUTATIONS):
        order = rng.permutation(len(number))
        as_far += abs(_pearson(cosine, matrix[order[first], order[second]])) >= abs(r) - 1e-12
    return Reasons(condition, points, r, (1 + as_far) / (1 + PERMUTATIONS))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Of the pairs without NaN; 0 where one side does not vary."""
    x, y = x[~np.isnan(y)], y[~np.isnan(y)]
    if not len(x):
        return 0.0
    a, b = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0
