"""Agreement of predictions with experts: pooled over all, within each expert, and the difference of two predictions.

A prediction and the expert's score are two raters of one unit. Pooled, a prediction that only knows how strict each
expert is agrees with them; within each expert it does not.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sozo.eval.experts.histories import Rated
from sozo.scoring.statistics.agreement import coincidences, disagreement, jackknife_interval, krippendorff_alpha
from sozo.scoring.statistics.means import mean_interval

FEWEST_EXPERTS = 5  # for an interval
PERMUTATIONS = 2000


@dataclass(frozen=True, slots=True)
class Value:
    """An alpha with its 95% interval over experts; None where there is none."""

    alpha: float | None
    low: float | None
    high: float | None
    experts: int  # within: those with an alpha
    n: int  # predictions


@dataclass(frozen=True, slots=True)
class Difference:
    """What one prediction's alphas within experts are above another's, on the ratings that both predict."""

    mean: float | None
    low: float | None
    high: float | None
    p: float | None  # two-sided: how often a difference as large comes of swapping the two within ratings
    experts: int
    n: int
    of: int  # ratings
    p_holm: float | None = None


def by_expert(ratings: Sequence[Rated], predicted: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Expert -> her scores and the predictions of them, shape (2, ratings with a prediction)."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for rating in ratings:
        if rating.id in predicted:
            pairs.setdefault(rating.rater, []).append((rating.score, predicted[rating.id]))
    return {rater: np.array(of, np.float64).T for rater, of in pairs.items()}


def within(ratings: Sequence[Rated], predicted: Mapping[str, int], level: str, least: int) -> Value:
    """The mean of the experts' alphas, of those with `least` predictions or more, and Student's interval over them."""
    pairs = by_expert(ratings, predicted)
    alphas = [krippendorff_alpha(pair, level, least).alpha for pair in pairs.values()]
    known = [alpha for alpha in alphas if alpha is not None]
    n = sum(pair.shape[1] for pair in pairs.values())
    if not known:
        return Value(None, None, None, 0, n)
    interval = mean_interval(known)
    low, high = (interval.low, interval.high) if len(known) >= FEWEST_EXPERTS else (None, None)
    return Value(math.fsum(known) / len(known), low, high, len(known), n)


def pooled(ratings: Sequence[Rated], predicted: Mapping[str, int], level: str, least: int) -> Value:
    """Alpha of all ratings at once, with a jackknife over experts: another set of experts could give another one."""
    pairs = by_expert(ratings, predicted)
    if not pairs:
        return Value(None, None, None, 0, 0)
    every = np.concatenate(list(pairs.values()), axis=1)
    alpha = krippendorff_alpha(every, level, least).alpha
    experts, n = len(pairs), every.shape[1]
    if alpha is None or experts < FEWEST_EXPERTS:
        return Value(alpha, None, None, experts, n)
    values = np.unique(every)
    sums = np.stack([coincidences(pair, values).sum(axis=0) for pair in pairs.values()])
    low, high = jackknife_interval(alpha, 1 - disagreement(sums.sum(axis=0) - sums, values, level), 2.0)
    return Value(alpha, low, high, experts, n)


def difference(
    ratings: Sequence[Rated], first: Mapping[str, int], second: Mapping[str, int], level: str, least: int, seed: int = 0
) -> Difference:
    """The mean over experts of alpha of `first` minus that of `second`, Student's interval, and a permutation p."""
    common = first.keys() & second.keys()
    ratings, of = [rating for rating in ratings if rating.id in common], len(ratings)
    rng = np.random.default_rng(seed)
    gaps, dealt = list[float](), np.zeros(PERMUTATIONS)
    ours, theirs = by_expert(ratings, first), by_expert(ratings, second)
    for rater, pair in ours.items():
        if pair.shape[1] < least:
            continue
        values = np.unique(np.concatenate([pair, theirs[rater]]))
        units = [coincidences(side, values).reshape(pair.shape[1], -1) for side in (pair, theirs[rater])]
        swap = (rng.random((PERMUTATIONS + 1, pair.shape[1])) < 0.5).astype(np.float64)
        swap[0] = 0  # as it is
        moved = swap @ (units[1] - units[0])
        shape = (PERMUTATIONS + 1, len(values), len(values))
        sums = [(units[0].sum(axis=0) + moved).reshape(shape), (units[1].sum(axis=0) - moved).reshape(shape)]
        gap = disagreement(sums[1], values, level) - disagreement(sums[0], values, level)
        if np.isnan(gap[0]):
            continue  # one of the two has no alpha
        gaps.append(float(gap[0]))
        dealt += np.nan_to_num(gap[1:])
    if not gaps:
        return Difference(None, None, None, None, 0, len(ratings), of)
    mean = math.fsum(gaps) / len(gaps)
    interval = mean_interval(gaps)
    low, high = (interval.low, interval.high) if len(gaps) >= FEWEST_EXPERTS else (None, None)
    count = int((np.abs(dealt / len(gaps)) >= abs(mean) - 1e-12).sum())
    return Difference(mean, low, high, (1 + count) / (1 + PERMUTATIONS), len(gaps), len(ratings), of)
