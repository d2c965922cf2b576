"""Does an evaluation agree with people (paper, Table 24), and how many stories does it take to see that (Figure 1)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eval.matrix import Matrix, aligned
from eval.statistics.correlation import few, pearson

MIN_MODELS = 3
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Agreement:
    """Pearson's correlation of the models' mean scores in two evaluations, over the stories that both have whole.

    Attributes:
        evaluation: The one that is tested.
        reference: What it is tested against: people.
        models: Models that both have.
        stories: Stories on which all those models have a score in both: the means are over these.
        pearson: In [-1, 1]; None with fewer than three models, no story, or the same mean for all models.
        p: Two-sided p-value of no correlation; None where `pearson` is.
        ci95: Fisher's 95% interval; None where `pearson` is, or with fewer than four models. Eleven still make it wide.
    """

    evaluation: str
    reference: str
    models: int
    stories: int
    pearson: float | None
    p: float | None
    ci95: tuple[float, float] | None

    @property
    def reason(self) -> str | None:
        """Why there is no correlation, or else why it says little; None if neither."""
        if self.pearson is not None:
            return few(self.models, "models")
        if self.models < MIN_MODELS:
            return f"{self.models} models have both: a correlation needs {MIN_MODELS}"
        return "all models have the same mean" if self.stories else "no story has scores of all models in both"

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        return {**asdict(self), "ci95": list(self.ci95) if self.ci95 else None, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Correlation with people over random subsets of so many stories."""

    stories: int  # size of the subsets
    mean: float | None  # mean correlation; None if no subset has one
    low: float | None  # 2.5th percentile
    high: float | None  # 97.5th percentile. At the number of all stories there is one subset, so both are the mean.
    subsets: int  # how many subsets have a correlation
    undefined: int  # how many have none (all models with the same mean); they are left out of the three numbers

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        return asdict(self)


def agreement(matrix: Matrix, reference: Matrix) -> Agreement:
    """How far `matrix` agrees with `reference` over models: a cell of Table 24.

    >>> scores = Matrix.of("encoder", {"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}})
    >>> people = Matrix.of("human", {"A": {"1": 1.0}, "B": {"1": 0.0}, "C": {"1": 0.5}})
    >>> round(agreement(scores, people).pearson, 3)
    0.5
    """
    ours, theirs = aligned(matrix, reference)
    models, items = ours.shape
    r = p = ci95 = None
    if models >= MIN_MODELS and items and _differ(ours.mean(axis=1)) and _differ(theirs.mean(axis=1)):
        result = pearson(ours.mean(axis=1), theirs.mean(axis=1), unit="models")
        r, p = result.r, result.p
        ci95 = None if result.low is None or result.high is None else (result.low, result.high)
    return Agreement(matrix.name, reference.name, models, items, r, p, ci95)


def agreement_curve(
    matrix: Matrix, reference: Matrix, sizes: Sequence[int] | None = None, *, draws: int = 1000, seed: int = 0
) -> tuple[CurvePoint, ...]:
    """Figure 1: correlation with `reference` against the number of stories, over random subsets without replacement.

    One shuffle of the stories gives a subset of every size, its first so many. So a point does not depend on which
    other sizes are asked for.

    Args:
        matrix: The evaluation that is tested.
        reference: What it is tested against: people.
        sizes: Numbers of stories; None takes every one from 1.
        draws: Shuffles.
        seed: Of the shuffles.

    Raises:
        ValueError: A size is not in 1..stories (both evaluations, all models), or there are fewer than three models.
    """
    ours, theirs = aligned(matrix, reference)
    models, n = ours.shape
    if models < MIN_MODELS or not n:
        raise ValueError(
            f"{matrix.name} and {reference.name} share {models} models and {n} stories; 3 and 1 are needed"
        )
    sizes = list(sizes) if sizes is not None else list(range(1, n + 1))
    if not all(1 <= size <= n for size in sizes) or draws < 1:
        raise ValueError(f"cannot draw {draws} subsets of {sizes} stories: there are {n} that all models have")
    rng = np.random.default_rng(seed)
    orders = np.stack([rng.permutation(n) for _ in range(draws)])
    return tuple(_point(ours, theirs, orders[:, :size] if size < n else np.arange(n)[None]) for size in sizes)


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
