"""Does an evaluation agree with people (paper, Table 24), and how many stories does it take to see that (Figure 1)?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eval.matrix import Matrix, aligned
from eval.statistics.correlation import few, pearson

MIN_MODELS = 3
DRAWS, SEED = 1000, 0
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Correlation with people over random subsets of so many stories."""

    stories: int  # size of the subsets
    mean: float | None  # mean correlation; None if no subset has one
    low: float | None  # 2.5th percentile
    high: float | None  # 97.5th percentile. At the number of all stories there is one subset, so both are the mean.
    subsets: int  # how many subsets have a correlation
    undefined: int  # how many have none (all models with the same mean); they are left out of the three numbers


@dataclass(frozen=True, slots=True)
class Agreement:
    """Pearson's correlation of the models' mean scores in two evaluations, over the stories that both have whole."""

    evaluation: str  # the one that is tested
    reference: str  # what it is tested against: people
    models: int  # that both have
    stories: int  # on which all those models have a score in both: the means are over these
    pearson: float | None = None  # None with fewer than three models, no story, or the same mean for all models
    p: float | None = None  # two-sided, of no correlation
    ci95: tuple[float, float] | None = None  # Fisher's; None with fewer than four models. Eleven still make it wide.
    p_holm: float | None = None  # p corrected for the number of evaluations compared with this reference
    curve: tuple[CurvePoint, ...] = ()  # Figure 1; empty without a correlation, or against the second reference

    @property
    def reason(self) -> str | None:
        """Why there is no correlation, or else why it says little; None if neither."""
        if self.pearson is not None:
            return few(self.models, "models")
        if self.models < MIN_MODELS:
            return f"{self.models} models have both: a correlation needs {MIN_MODELS}"
        return "all models have the same mean" if self.stories else "no story has scores of all models in both"

    def to_json(self) -> dict[str, Any]:
        """For a results file, with neither correction nor curve."""
        names = ("evaluation", "reference", "models", "stories", "pearson", "p", "ci95", "reason")
        return {name: getattr(self, name) for name in names}


def agreement(matrix: Matrix, reference: Matrix) -> Agreement:
    """How far `matrix` agrees with `reference` over models: a cell of Table 24.

    >>> scores = Matrix.of("encoder", {"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}})
    >>> people = Matrix.of("human", {"A": {"1": 1.0}, "B": {"1": 0.0}, "C": {"1": 0.5}})
    >>> round(agreement(scores, people).pearson, 3)
    0.5
    """
    ours, theirs = aligned(matrix, reference)
    models, items = ours.shape
    names = (matrix.name, reference.name, models, items)
    if models < MIN_MODELS or not items or not (_differ(ours.mean(axis=1)) and _differ(theirs.mean(axis=1))):
        return Agreement(*names)
    result = pearson(ours.mean(axis=1), theirs.mean(axis=1), unit="models")
    ci95 = None if result.low is None or result.high is None else (result.low, result.high)
    return Agreement(*names, result.r, result.p, ci95)


def agreement_curve(
    matrix: Matrix, reference: Matrix, *, draws: int = DRAWS, seed: int = SEED
) -> tuple[CurvePoint, ...]:
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
    defined = _differ(a) & _differ(b)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norms = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    correlations = np.full(len(a), np.nan)
    correlations[defined] = (a * b).sum(axis=1)[defined] / norms[defined]
    return np.clip(correlations, -1, 1)


def _differ(values: np.ndarray) -> Any:
    """Whether the numbers of each row differ by more than rounding does."""
    return np.ptp(values, axis=-1) > _SAME
