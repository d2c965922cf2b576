"""Correlations between tasks across models: Tables 9 and 10 (paper, sections 4.3.2 to 4.3.4), and all other pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from sozo.data.published import CORRELATIONS
from sozo.eval.correlate.people import PEOPLE, Cell, complete_table
from sozo.eval.correlate.scores import ModelRow
from sozo.scoring.statistics.correlation import Correlation, correlate_models
from sozo.tasks.task import Task

ENOUGH = 3  # models, for a correlation


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks across models, or a task's judge and people across answers."""

    first: str  # a task; if one of the two has a grid, this one has
    second: str  # another task, of which the first measure counts, or `people`
    models: int = 0  # how many have both
    cells: tuple[Cell, ...] | None = None  # for each of the first one's grid; None without one, or below `ENOUGH`
    correlation: Correlation | None = None  # of the first measures, where there is no grid; None likewise

    @property
    def both(self) -> str:
        """The two for people."""
        if self.second == PEOPLE:
            return f"{self.first.upper()}'s judge and people"
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

    A model counts where it has both tasks, so random nouns do not. Tasks with a grid come first
    (`sozo.eval.correlate.scores.correlated_tasks`).
    """
    pairs = []
    for first, second in combinations(tasks, 2):
        rows_of_both = [row for row in rows if row.scores[first.name] and row.scores[second.name]]
        if rows_of_both or (first.name, second.name) in CORRELATIONS:
            pairs.append(_pair(first, second, rows_of_both))
    return tuple(pairs)


def _pair(first: type[Task], second: type[Task], rows: Sequence[ModelRow]) -> Pair:
    if len(rows) < ENOUGH:
        return Pair(first.name, second.name, len(rows))
    means = _means(rows, second.name)
    if not first.Finished.grid:
        correlation = correlate_models(_means(rows, first.name), means)
        return Pair(first.name, second.name, len(rows), correlation=correlation)
    # A run can be finished and have no mean: it has no pair in any cell.
    known = [row for row in rows if means[row.model] is not None]
    cells = []
    for name in first.Finished.grid:
        column = {row.model: row.grids[first.name][name] for row in known}
        cells.append(Cell(*name, correlate_models(column, means), len(known)))
    return Pair(first.name, second.name, len(rows), complete_table(cells, first.name, second.name))


def _means(rows: Sequence[ModelRow], task: str) -> dict[str, float | None]:
    return {row.model: scored.mean for row in rows if (scored := row.scores[task])}
