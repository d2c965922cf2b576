"""Figure 1: correlation with people against the number of stories."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sozo.eval.matrix import Matrix, aligned

DRAWS, SEED = 1000, 0


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Correlation with people over random subsets of so many stories."""

    stories: int  # size of the subsets
    mean: float | None  # mean correlation; None if no subset has one
    low: float | None  # 2.5th percentile
    high: float | None  # 97.5th percentile. At the number of all stories there is one subset, so both are the mean.
    subsets: int  # how many subsets have a correlation
    undefined: int  # how many have none (all models with the same mean); they are left out of the three numbers


def agreement_curve(matrix: Matrix, reference: Matrix, draws: int = DRAWS, seed: int = SEED) -> tuple[CurvePoint, ...]:
    """Figure 1: correlation with `reference` by the number of stories, over random subsets without replacement.

    One shuffle of the stories, of `draws`, gives a subset of every size, its first so many. Three models and one story
    must have scores in both.
    """
    ours, theirs = aligned(matrix, reference)
    n = ours.shape[1]
    rng = np.random.default_rng(seed)
    orders = np.stack([rng.permutation(n) for _ in range(draws)])
    return tuple(_point(ours, theirs, orders[:, :size] if size < n else np.arange(n)[None]) for size in range(1, n + 1))


def _point(ours: np.ndarray, theirs: np.ndarray, subsets: np.ndarray) -> CurvePoint:
    # The mean over axis 2 of (models, subsets, size) for each evaluation.
    correlations = _pearson_rows(ours[:, subsets].mean(axis=2).T, theirs[:, subsets].mean(axis=2).T)
    good = correlations[~np.isnan(correlations)]
    size, undefined = subsets.shape[1], len(correlations) - len(good)
    if not len(good):
        return CurvePoint(size, None, None, None, 0, undefined)
    low, high = np.percentile(good, [2.5, 97.5])
    return CurvePoint(size, float(good.mean()), float(low), float(high), len(good), undefined)


def _pearson_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson's correlation of each row of `a` with that of `b`; NaN where all numbers of a row are the same."""
    defined = differ(a) & differ(b)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norms = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    correlations = np.full(len(a), np.nan)
    correlations[defined] = (a * b).sum(axis=1)[defined] / norms[defined]
    return np.clip(correlations, -1, 1)


def differ(values: np.ndarray) -> Any:
    """Whether the numbers of each row differ by more than rounding does."""
    return np.ptp(values, axis=-1) > 1e-12
