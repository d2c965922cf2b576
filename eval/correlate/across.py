"""Correlations between tasks across models: Tables 9 and 10 (paper, sections 4.3.2 to 4.3.4), and all other pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from data.published import CORRELATIONS, correlations
from eval.correlate.scores import ModelRow
from eval.statistics import Correlation, correlate_models, holm
from rewards.task import Task

ENOUGH = 3  # models, for a correlation


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of Table 8, 9 or 10."""

    task: str  # kind of item, or `All`
    criterion: str  # criterion, or `mean` of them
    correlation: Correlation  # over the pairs that both sides have
    p_holm: float | None  # its p-value corrected for the number of the table's cells; None where it has none
    of: int  # pairs that there could be; some may lack a score
    paper: float | None  # the paper's correlation in this cell

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        own = {"p_holm": self.p_holm, "of": self.of, "paper": self.paper}
        return {"task": self.task, "criterion": self.criterion, **asdict(self.correlation), **own}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks across models.

    Attributes:
        first: A task. If one of the two has a grid, this one has.
        second: Another task, of which the first measure counts.
        models: How many models have both.
        cells: A cell for each of the first one's grid; None if it has none, or fewer than three models have both.
        correlation: Of the first measures, where there is no grid; None likewise.
        grid: Whether the first one has a grid.
    """

    first: str
    second: str
    models: int
    cells: tuple[Cell, ...] | None
    correlation: Correlation | None
    grid: bool

    @property
    def both(self) -> str:
        """The two tasks for people."""
        return f"{self.first.upper()} and {self.second.upper()}"

    @property
    def table(self) -> str:
        """The paper's table; empty if it is none."""
        return CORRELATIONS.get((self.first, self.second), "")

    @property
    def key(self) -> str:
        """In results files."""
        return self.table.lower().replace(" ", "_") or f"{self.first}_{self.second}"


def across_models(rows: Sequence[ModelRow], tasks: Sequence[type[Task]]) -> tuple[Pair, ...]:
    """Every pair of tasks that the papers correlate or that a model has both of, with what the models allow.

    A model counts where it has both tasks, so random nouns do not.

    Args:
        rows: The models.
        tasks: Those with a grid first (`eval.correlate.scores.correlated_tasks`).
    """
    pairs = []
    for first, second in combinations(tasks, 2):
        rows_of_both = [row for row in rows if row.scores[first.name] and row.scores[second.name]]
        if rows_of_both or (first.name, second.name) in CORRELATIONS:
            pairs.append(_pair(first, second, rows_of_both))
    return tuple(pairs)


def _pair(first: type[Task], second: type[Task], rows_of_both: Sequence[ModelRow]) -> Pair:
    grid, cells, correlation = first.Finished.grid, None, None
    means = _means(rows_of_both, second.name)
    # A run can be finished and have no mean: it has no pair in any cell.
    known = [row for row in rows_of_both if means[row.model] is not None]
    if len(rows_of_both) >= ENOUGH and grid:
        columns = [{row.model: row.grids[first.name][name] for row in known} for name in grid]
        correlated = [correlate_models(column, means) for column in columns]
        cells = make_cells(grid, correlated, [len(known)] * len(grid), first.name, second.name)
    elif len(rows_of_both) >= ENOUGH:
        correlation = correlate_models(_means(rows_of_both, first.name), means)
    return Pair(first.name, second.name, len(rows_of_both), cells, correlation, bool(grid))


def _means(rows: Sequence[ModelRow], task: str) -> dict[str, float | None]:
    return {row.model: scored.mean for row in rows if (scored := row.scores[task])}


def make_cells(
    names: Sequence[tuple[str, str]], correlated: Sequence[Correlation], of: Sequence[int], first: str, second: str
) -> tuple[Cell, ...]:
    """The cells of one table, their p-values corrected together, beside the paper's (`data.published.correlations`)."""
    published = correlations(first, second)
    paper: Mapping[tuple[str, str], float] = {
        (row["task"].lower(), row["criterion"]): float(row["pearson"]) for row in published
    }
    corrected = holm([correlation.p for correlation in correlated])
    return tuple(
        Cell(task, criterion, correlation, p_holm, pairs, paper.get((task.lower(), criterion)))
        for (task, criterion), correlation, p_holm, pairs in zip(names, correlated, corrected, of, strict=True)
    )
