"""Correlations between tasks across models: Tables 9 and 10 (paper, sections 4.3.2 to 4.3.4), and all other pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sozo.data.published import CORRELATIONS
from sozo.eval.evaluated import Evaluated
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.table import Cell
from sozo.studies.alike import check_alike
from sozo.studies.correlate.people import (
    PEOPLE,
    CorrelationCell,
    complete_table,
    grid_of,
)
from sozo.studies.correlation import correlate_models
from sozo.tasks import task_types
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task

ENOUGH = 3  # models, for a correlation
_MEAN = Measure("mean")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model's scores."""

    model: str
    scores: Mapping[
        str, Cell | None
    ]  # task -> its first measure's mean, with n of N; None without a finished run
    grids: Mapping[
        str, Mapping[tuple[str, str], float | None]
    ]  # task with a grid -> cell -> mean; {} without a run

    def mean(
        self, task: type[Task], cell: tuple[str, str] | None = None
    ) -> float | None:
        """A task's score, or that in a cell of its grid; the model has a finished run of it."""
        if cell is not None:
            return self.grids[task.name][cell]
        score = self.scores[task.name]
        return None if score is None else score.estimate.value

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        values: dict[str, Any] = {"model": self.model}
        # A task with a grid after the others, and its cells after it.
        for task, score in sorted(
            self.scores.items(), key=lambda item: item[0] in self.grids
        ):
            values[task] = score and {
                "value": score.value,
                "n": score.estimate.n,
                "of": score.of,
            }
        for task, grid in self.grids.items():
            values[f"{task}_cells"] = [
                {"task": kind, "criterion": name, "mean": m}
                for (kind, name), m in grid.items()
            ]
        return values


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks across models, or a task's judge and people across answers."""

    first: str  # a task; if one of the two has a grid, this one has
    second: str  # another task, of which the first measure counts, or `people`
    models: int = 0  # how many have both
    # For each of the first one's grid, or one of the first measures without a grid; None below `ENOUGH` models, or
    # without ratings.
    cells: tuple[CorrelationCell, ...] | None = None

    @property
    def title(self) -> str:
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

    @property
    def has_grid(self) -> bool:
        """Whether it has a table of cells."""
        return bool(grid_of(task_types()[self.first]))


def _means(
    grid: Mapping[tuple[str, str], Measure], run: RunResult | None
) -> dict[tuple[str, str], float | None]:
    return (
        {cell: run.estimate(measure).value for cell, measure in grid.items()}
        if run
        else {}
    )


def correlated_tasks(models: Sequence[Evaluated]) -> list[type[Task]]:
    """The tasks of the papers' correlations and those that any model has a run of; tasks with a grid first."""
    published = {name for pair in CORRELATIONS for name in pair}
    tasks = [
        t
        for t in task_types().values()
        if t.name in published or any(model.run(t.name) for model in models)
    ]
    return sorted(tasks, key=lambda task: not grid_of(task))


def model_rows(models: Sequence[Evaluated]) -> tuple[ModelRow, ...]:
    """A row for each model with runs of two tasks or more; the others have nothing to correlate."""
    tasks, kept = correlated_tasks(models), _with_two(models)
    for task in reversed(tasks):
        check_task_alike(task, kept)
    rows = []
    for model in kept:
        runs = {task.name: model.run(task.name) for task in tasks}
        grids = {
            t.name: _means(grid, runs[t.name]) for t in tasks if (grid := grid_of(t))
        }
        scores = {
            name: _score(run, grids.get(name, {})) if run else None
            for name, run in runs.items()
        }
        rows.append(ModelRow(model.name, scores, grids))
    return tuple(rows)


def _score(run: RunResult, grid: Mapping[tuple[str, str], float | None]) -> Cell:
    if not grid:
        mean, n, of = (
            run.metrics["measures"][run.main.name][key] for key in ("value", "n", "of")
        )
    else:
        # Its n of N is of answers elsewhere; here models are compared over items.
        values = run.by_item(run.main).values()
        mean, n, of = (
            list(grid.values())[-1],
            sum(value is not None for value in values),
            len(run.prompts),
        )
    return Cell(Estimate(mean, n=n), _MEAN, of=of)


def check_task_alike(task: type[Task], models: Sequence[Evaluated]) -> None:
    """Refuse models whose scores in a task are on different scales."""
    runs = [(model.name, run) for model in models if (run := model.run(task.name))]
    check_alike(
        task.name.upper(), runs, "score one of them again as the other, or leave it out"
    )


def scales(models: Sequence[Evaluated]) -> list[str]:
    """What the scores of runs that are alike rest on, a sentence for each task, to stand beside them."""
    models = (
        _with_two(models) or models
    )  # without any, only the judge and people are compared
    sentences = []
    for task in correlated_tasks(models):
        runs = [run for model in models if (run := model.run(task.name))]
        if runs:
            scale = runs[0].scale | runs[0].scale.get("judge", {})
            named = [
                f"{name} {value}"
                for name, value in scale.items()
                if isinstance(value, str)
            ]
            said = (
                *runs[0].other_items(),
                *(pair for pair in named if "sha256" not in pair),
            )
            sentences.append(f"{task.name.upper()}: {', '.join(said)}.")
    return sentences


def _with_two(models: Sequence[Evaluated]) -> list[Evaluated]:
    return [model for model in models if len({task for task, _ in model.runs}) > 1]


def across_models(
    rows: Sequence[ModelRow],
    tasks: Sequence[type[Task]],
    families: Mapping[str, str] | None = None,
) -> tuple[Pair, ...]:
    """Every pair of tasks that the papers correlate or that a model has both of, with what the models allow.

    `families` are those of the models, if they are known. A model counts where it has both tasks, so random nouns do
    not. Tasks with a grid come first (`correlated_tasks`).
    """
    pairs = []
    for first, second in combinations(tasks, 2):
        rows_of_both = [
            row for row in rows if row.scores[first.name] and row.scores[second.name]
        ]
        if rows_of_both or (first.name, second.name) in CORRELATIONS:
            enough = len(rows_of_both) >= ENOUGH
            cells = _cells(first, second, rows_of_both, families) if enough else None
            pairs.append(Pair(first.name, second.name, len(rows_of_both), cells))
    return tuple(pairs)


def _cells(
    first: type[Task],
    second: type[Task],
    rows: Sequence[ModelRow],
    families: Mapping[str, str] | None,
) -> tuple[CorrelationCell, ...]:
    # A run can be finished and have no mean: it has no pair in any cell.
    means = {row.model: mean for row in rows if (mean := row.mean(second)) is not None}
    cells = []
    for cell in grid_of(first) or (None,):
        column = {row.model: row.mean(first, cell) for row in rows}
        cells.append(
            CorrelationCell(
                *(cell or ("", "")),
                correlate_models(column, means, families),
                len(means),
            )
        )
    return complete_table(cells, first.name, second.name)
