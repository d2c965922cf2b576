"""Figure 3: do experts who agree more get judges whose reasons are more alike?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sozo.eval.experts.asks import Votes
from sozo.eval.experts.histories import Condition, Rated
from sozo.scoring.distance import paired_distance
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.statistics.agreement import krippendorff_alpha

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
    of: Sequence[Rated], votes: Votes, condition: Condition, vectors: WordVectors, level: str, least: int, seed: int = 0
) -> Reasons:
    """Pairs of experts with `least` ideas in common or more; a judge's reason is that of its first readable vote."""
    by_rater: dict[str, dict[tuple[str, str], tuple[int, str | None]]] = {}
    for rating in of:
        given = votes.by_rating.get((condition.name, rating.id), ())
        text = next((vote.reason for vote in given if vote is not None and vote.reason.strip()), None)
        by_rater.setdefault(rating.rater, {})[rating.item, rating.criterion] = rating.score, text
    raters, points = list(by_rater), list[Point]()
    for a, b in combinations(raters, 2):
        common = [key for key in by_rater[a] if key in by_rater[b]]
        if len({item for item, _ in common}) < least or (alpha := _alpha(by_rater, a, b, common, level)) is None:
            continue
        texts = [(by_rater[a][key][1], by_rater[b][key][1]) for key in common]
        both = [(ours, theirs) for ours, theirs in texts if ours is not None and theirs is not None]
        left, right = (np.array(vectors.rows([pair[side] for pair in both]), np.int64) for side in (0, 1))
        good = (left >= 0) & (right >= 0)
        if good.any():
            distances = paired_distance(vectors.matrix, left[good], right[good])
            points.append(Point(a, b, alpha, float(1 - distances.mean()), int(good.sum())))
    return _correlated(condition.name, tuple(points), seed)


def _alpha(
    by_rater: dict[str, dict[tuple[str, str], tuple[int, str | None]]],
    a: str,
    b: str,
    common: Sequence[tuple[str, str]],
    level: str,
) -> float | None:
    alphas = []
    for criterion in dict.fromkeys(name for _, name in common):
        keys = [key for key in common if key[1] == criterion]
        scores = [[by_rater[rater][key][0] for key in keys] for rater in (a, b)]
        if (alpha := krippendorff_alpha(scores, level).alpha) is not None:
            alphas.append(alpha)
    return float(np.mean(alphas)) if alphas else None


def _correlated(condition: str, points: tuple[Point, ...], seed: int) -> Reasons:
    if len(points) < FEWEST_PAIRS:
        reason = f"{len(points)} pairs of experts with enough ideas in common: a correlation needs {FEWEST_PAIRS}"
        return Reasons(condition, points, None, None, reason)
    raters = {name: k for k, name in enumerate(dict.fromkeys(n for p in points for n in (p.first, p.second)))}
    places = np.array([(raters[point.first], raters[point.second]) for point in points]).T
    cosines, alphas = (np.full((len(raters), len(raters)), np.nan) for _ in range(2))
    for matrix, values in ((cosines, [p.cosine for p in points]), (alphas, [p.alpha for p in points])):
        matrix[places[0], places[1]] = matrix[places[1], places[0]] = values
    x, found = cosines[places[0], places[1]], alphas[places[0], places[1]]
    if np.ptp(x) < 1e-9 or np.ptp(found) < 1e-9:
        what = "all pairs' reasons are as alike" if np.ptp(x) < 1e-9 else "all pairs agree as much"
        return Reasons(condition, points, None, None, what)
    r, rng, count = _pearson(x, found), np.random.default_rng(seed), 0
    for _ in range(PERMUTATIONS):
        order = rng.permutation(len(raters))
        moved = alphas[order[places[0]], order[places[1]]]  # NaN where these two share too little
        count += abs(_pearson(x, moved)) >= abs(r) - 1e-12
    return Reasons(condition, points, r, (1 + count) / (1 + PERMUTATIONS))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    known = ~np.isnan(y)
    a, b = x[known] - x[known].mean() if known.any() else x[:0], y[known] - y[known].mean() if known.any() else y[:0]
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0
