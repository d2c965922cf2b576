"""The transfer matrix of a study: what each arm's training does to every task, against training for valid form alone.

A row is an arm, a column a task, which the arm's model answers at each seed. A column's value is the mean of the task's
first measure over equally many valid answers of every row. Every effect is a difference from the arm `against` at the
same seed. Trainings differ by chance: how much is the standard deviation that is left in a column of the trained rows'
values once the rows' and the seeds' means are taken out, with (rows - 1)(seeds - 1) degrees of freedom.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pydantic
from pydantic import ConfigDict, Field

from sozo.data.errors import UserError
from sozo.data.settings import hint, settings_of
from sozo.scoring.measure import LEVEL, Measure, t_test
from sozo.scoring.statistics.means import Interval, mean_interval
from sozo.tasks import task_type
from study.claims import FAILED, HELD, OPEN

POWER = 0.8
Names = Annotated[list[str], Field(min_length=1)]
FEWEST = 50  # valid answers of a row at a seed: with fewer it has no value in that column


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TransferClaim:
    """The one claim: the mean effect over cells is above 0, each in its column's standard deviations of an answer."""

    name: str  # in words
    rows: Names  # arms
    columns: Names  # tasks; a row's own column is no cell of the claim

    @property
    def cells(self) -> list[tuple[str, str]]:
        """(row, column) of each cell."""
        return [(row, column) for column in self.columns for row in self.rows if row != column]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Transfer:
    """A YAML's `transfer`: which tasks every arm's model answers, and what is claimed of the answers."""

    columns: dict[str, dict[str, Any]]  # tasks with their settings
    against: str  # the arm from which every difference is taken
    claim: TransferClaim
    measures: dict[str, str] = Field(default_factory=dict)  # of a task, instead of its first
    notes: list[str] = Field(default_factory=list)  # what the page says first
    # Least values of the untrained arm: with a lower one nothing can be claimed.
    controls: dict[str, float] = Field(default_factory=dict)

    def measure(self, task: str) -> Measure:
        """What a column's values are."""
        return task_type(task).measure_named(self.measures.get(task))

    def check(self, arms: Sequence[str], seeds: Sequence[int]) -> None:
        """Refuse what is no arm, task or setting of a task, and a single seed."""
        for task, settings in self.columns.items():
            settings_of(task_type(task).Settings, settings)
            self.measure(task)
        rows, columns = [self.against, *self.claim.rows], [*self.claim.columns, *self.controls]
        for name, known in (*((row, arms) for row in rows), *((column, self.columns) for column in columns)):
            if name not in known:
                raise UserError(f"transfer: {name} is not one of {', '.join(known)}" + hint(name, known))
        if len(seeds) < 2 or self.against in self.claim.rows:
            raise UserError("transfer needs two seeds at least, and a claim about other arms than the one in `against`")


@dataclass(frozen=True)
class Column:
    """A task's numbers; shape (rows, seeds)."""

    values: np.ndarray  # means over `n` valid answers; NaN where there are fewer than `FEWEST`
    valid: np.ndarray  # share of the answers that are valid
    n: int  # valid answers that every value is made of
    measure: Measure
    sd: float  # standard deviation of the value of one answer among those of its row and seed; NaN if all are equal


@dataclass(frozen=True)
class Effect:
    """What a row's training does to a column more than training for form alone."""

    interval: Interval
    smallest: float  # the true effect that such an interval leaves 0 out for in 80% of all studies
    of_diagonal: float | None  # of another row: a share of what the column's own row gains, if that is above 0


@dataclass(frozen=True)
class Matrix:
    """All columns, and the claim about some of their cells."""

    rows: Sequence[str]  # the first is the untrained one
    seeds: Sequence[int]
    against: str
    columns: Mapping[str, Column]
    claim: TransferClaim
    controls: Mapping[str, float] = field(default_factory=dict)

    def row(self, column: str, name: str) -> np.ndarray:
        """A row's values in a column, shape (seeds,)."""
        return self.columns[column].values[self.rows.index(name)]

    def differences(self, row: str, column: str) -> np.ndarray:
        """How much more a row has in a column than the row `against`, shape (seeds,)."""
        return self.row(column, row) - self.row(column, self.against)

    def spread(self, column: str) -> tuple[float, int]:
        """Standard deviation of a training's value in a column, and its degrees of freedom."""
        values = self.columns[column].values[1:]
        values = values[np.isfinite(values).all(axis=1)]
        residuals = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
        freedom = (len(values) - 1) * (values.shape[1] - 1)
        return float(np.sqrt((residuals**2).sum() / freedom)), freedom

    def effect(self, row: str, column: str) -> Effect | None:
        """Of a row's training on a column; None where one of the two rows has too few valid answers."""
        differences = self.differences(row, column)
        if row == self.against or np.isnan(differences).any():
            return None
        (spread, freedom), mean = self.spread(column), float(differences.mean())
        error = spread * math.sqrt(2 / len(self.seeds))
        low, high, p = t_test(mean, error, freedom) if error else (None, None, None)
        own = self.effect(column, column) if column in self.rows and column != row else None
        share = float(mean / self.differences(column, column).mean()) if own and (own.interval.low or 0) > 0 else None
        return Effect(Interval(mean, low, high, len(self.seeds), p=p, paired=True), error * _reach(freedom), share)

    @cached_property
    def by_seed(self) -> dict[int, float]:
        """Of each seed the mean effect over the claim's cells, each in its column's standard deviations of an answer.

        Not of a training: where few trainings differ little by chance, that unit would make the effect large.
        """
        effects = [self.differences(row, column) / self.columns[column].sd for row, column in self.claim.cells]
        return dict(zip(self.seeds, np.mean(effects, axis=0).tolist(), strict=True))

    @cached_property
    def found(self) -> Interval:
        """What the claim is about, over the seeds: Student's, two-sided."""
        return mean_interval(list(self.by_seed.values()))

    @property
    def smallest(self) -> float:
        """The mean effect that the claim would have held for in 80% of all studies."""
        freedom = len(self.seeds) - 1
        return float(np.std(list(self.by_seed.values())) / math.sqrt(freedom)) * _reach(freedom)

    @property
    def verdict(self) -> tuple[str, str]:
        """Whether the claim held, and why nothing can be said if so."""
        for column, least in self.controls.items():
            untrained = float(self.row(column, self.rows[0]).mean())
            if column in self.claim.columns and not untrained >= least:
                return OPEN, f"the untrained row has {column} {untrained:.4g}; below {least:g} it is no control"
        for row, column in self.claim.cells:
            for name in (row, self.against):
                if np.isnan(self.row(column, name)).any():
                    return OPEN, f"{name} has too few valid answers to {column}"
        if self.found.low is None or self.found.high is None:
            return OPEN, self.found.reason or ""
        return (HELD if self.found.low > 0 else FAILED if self.found.high <= 0 else OPEN), ""


def _reach(freedom: int) -> float:
    """Standard errors between 0 and the effect whose 95% interval leaves out 0 in 80% of all studies."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2) + stdtrit(freedom, POWER))


def make_column(measure: Measure, scores: Mapping[tuple[int, int], np.ndarray], valid: np.ndarray) -> Column:
    """Of each (row, seed) the mean of equally many values of valid answers, which are drawn from its `scores`."""
    enough = {place: own for place, own in scores.items() if len(own) >= FEWEST}
    n, values = min(map(len, enough.values()), default=0), np.full(valid.shape, np.nan)
    for place, own in enough.items():
        values[place] = np.random.default_rng(place).choice(own, n, replace=False).mean()
    variance = np.mean([own.var(ddof=1) for own in enough.values()]) if enough else 0.0
    return Column(values, valid, n, measure, math.sqrt(variance) or math.nan)
