"""Figure 3: do experts who agree more get judges whose reasons are more alike?"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from sozo.scoring.distance import paired_distance
from sozo.scoring.embeddings import WordVectors
from sozo.studies.experts.asks import Predictions
from sozo.studies.experts.histories import Condition, Plan
from sozo.studies.experts.settings import ExpertSettings
from sozo.studies.rater_agreement import krippendorff_alpha

PERMUTATIONS, FEWEST_PAIRS = 10_000, 3


@dataclass(frozen=True, slots=True)
class ReasonPoint:
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
    points: tuple[ReasonPoint, ...]
    r: float | None  # Pearson's
    p: (
        float | None
    )  # two-sided, by exchanging experts (Mantel): pairs that share one are not independent
    reason: str | None = None  # why there is no r


def reasons_of(
    plan: Plan,
    predictions: Predictions,
    condition: Condition,
    vectors: WordVectors,
    settings: ExpertSettings,
) -> Reasons:
    """Pairs of experts with enough ideas in common; a judge's reason is that of its first readable vote."""
    rows, level = [], settings.level
    for rating in plan.targets:
        votes = predictions[condition.ask_id(rating)].votes
        reason = next(
            (vote.reason for vote in votes if vote is not None and vote.reason.strip()),
            None,
        )
        rows.append((rating.rater, rating.item, rating.criterion, rating.score, reason))
    table = pd.DataFrame(
        rows, columns=["rater", "item", "criterion", "score", "reason"]
    )
    wide = table.pivot(index=["item", "criterion"], columns="rater")
    points = []
    for a, b in combinations(table.rater.unique(), 2):
        scores = wide["score"][[a, b]].dropna()
        if scores.index.get_level_values("item").nunique() < settings.least:
            continue
        by_criterion = [part.to_numpy().T for _, part in scores.groupby("criterion")]
        alphas = [
            alpha
            for pair in by_criterion
            if (alpha := krippendorff_alpha(pair, level).alpha) is not None
        ]
        texts = wide["reason"].loc[scores.index, [a, b]].dropna()
        left, right = (
            np.array(vectors.rows(texts[rater]), np.int64) for rater in (a, b)
        )
        good = (left >= 0) & (right >= 0)
        if alphas and good.any():
            distances = paired_distance(vectors.matrix, left[good], right[good])
            points.append(
                ReasonPoint(
                    a,
                    b,
                    float(np.mean(alphas)),
                    float(1 - distances.mean()),
                    int(good.sum()),
                )
            )
    return _correlated(condition.name, tuple(points))


def _correlated(condition: str, points: tuple[ReasonPoint, ...]) -> Reasons:
    if len(points) < FEWEST_PAIRS:
        reason = f"{len(points)} pairs of experts with enough ideas in common: a correlation needs {FEWEST_PAIRS}"
        return Reasons(condition, points, None, None, reason)
    pairs = pd.DataFrame(points)
    cosine, alpha = pairs.cosine.to_numpy(), pairs.alpha.to_numpy()
    for values, reason in (
        (cosine, "all pairs' reasons are as alike"),
        (alpha, "all pairs agree as much"),
    ):
        if np.ptp(values) < 1e-9:
            return Reasons(condition, points, None, None, reason)
    experts, names = pd.factorize(pairs[["first", "second"]].to_numpy().ravel())
    first, second = experts.reshape(-1, 2).T
    matrix = np.full((len(names), len(names)), np.nan)  # NaN where two share too little
    matrix[first, second] = matrix[second, first] = alpha
    r, rng, as_far = _pearson(cosine, alpha), np.random.default_rng(0), 0
    for _ in range(PERMUTATIONS):
        order = rng.permutation(len(names))
        as_far += (
            abs(_pearson(cosine, matrix[order[first], order[second]])) >= abs(r) - 1e-12
        )
    return Reasons(condition, points, r, (1 + as_far) / (1 + PERMUTATIONS))


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Of the pairs without NaN; 0 where one side does not vary."""
    x, y = x[~np.isnan(y)], y[~np.isnan(y)]
    if not len(x):
        return 0.0
    a, b = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0
