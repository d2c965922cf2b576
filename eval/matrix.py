"""Models x items: what one evaluation (a run's own scorer, an encoder, people, a judge) gives several models."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Scores of models on items."""

    name: str  # which evaluation: an encoder's name, `human`, a judge's
    models: tuple[str, ...]  # of the rows
    items: tuple[str, ...]  # of the columns
    values: np.ndarray  # float64, shape (models, items); NaN where there is no score

    @classmethod
    def of(cls, name: str, scores: Mapping[str, Mapping[str, float | None]]) -> Self:
        """From each model's scores by item; None is no score.

        >>> Matrix.of("human", {"A": {"1": 1.0, "2": 0.5}, "B": {"1": 0.0}}).values.tolist()
        [[1.0, 0.5], [0.0, nan]]
        """
        scored = (item for by_item in scores.values() for item, score in by_item.items() if score is not None)
        items = tuple(dict.fromkeys(scored))
        # None becomes NaN.
        rows = np.array([[by_item.get(item) for item in items] for by_item in scores.values()], np.float64)
        return cls(name, tuple(scores), items, rows.reshape(len(scores), len(items)))

    def mean(self, model: str) -> tuple[float | None, int]:
        """A model's mean over the items where it has a score, and how many these are; None and 0 without any."""
        row = self.values[self.models.index(model)] if model in self.models else np.array([])
        scored = row[~np.isnan(row)]
        return (float(scored.mean()) if len(scored) else None), len(scored)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Model -> item -> score, without what has none."""
        rows = (dict(zip(self.items, row, strict=True)) for row in self.values.tolist())
        scored = ({item: value for item, value in row.items() if not math.isnan(value)} for row in rows)
        return dict(zip(self.models, scored, strict=True))

    def only(self, models: Sequence[str], items: Sequence[str]) -> "Matrix":
        """The part of these models and items, in their order; it must have them all."""
        rows, columns = [self.models.index(m) for m in models], [self.items.index(i) for i in items]
        return Matrix(self.name, tuple(models), tuple(items), self.values[np.ix_(rows, columns)])


def aligned(matrix: Matrix, reference: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Both evaluations' scores of the models they share, on the items where all of these have one in both."""
    models = [model for model in matrix.models if model in reference.models]
    items = [item for item in matrix.items if item in reference.items]
    ours, theirs = matrix.only(models, items).values, reference.only(models, items).values
    scored = ~(np.isnan(ours) | np.isnan(theirs)).any(axis=0)
    return ours[:, scored], theirs[:, scored]


@dataclass(frozen=True, slots=True)
class Placed:
    """A model in one evaluation."""

    mean: float | None  # None without a score, and so is `place`
    stories: int  # that have a score
    place: int | None  # from 1


def above(value: float, other: float) -> bool:
    """Whether a mean is greater by more than the order of a sum can make it.

    >>> above(0.1 + 0.2, 0.3), above(0.31, 0.3)
    (False, True)
    """
    return value > other and not math.isclose(value, other, rel_tol=1e-12, abs_tol=1e-12)


def rank_models(matrices: Sequence[Matrix]) -> dict[str, dict[str, Placed]]:
    """Table 23: model -> evaluation -> its place there, in the first's order. Equal means share the better place.

    >>> matrices = [Matrix.of("e", {"A": {"1": 0.2}, "B": {"1": 0.6}}), Matrix.of("human", {"A": {"1": 1.0}})]
    >>> {model: [placed.place for placed in row.values()] for model, row in rank_models(matrices).items()}
    {'B': [1, None], 'A': [2, 1]}
    """
    ranked: dict[str, dict[str, Placed]] = {model: {} for matrix in matrices for model in matrix.models}
    for matrix in matrices:
        means = {model: matrix.mean(model) for model in ranked}
        for model, (mean, n) in means.items():
            better = [m for m, _ in means.values() if m is not None and mean is not None and above(m, mean)]
            place = None if mean is None else 1 + len(better)
            ranked[model][matrix.name] = Placed(mean, n, place)
    return dict(sorted(ranked.items(), key=lambda row: row[1][matrices[0].name].place or math.inf))
