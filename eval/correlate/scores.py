"""The scores of models in all tasks, from their finished runs: what Tables 9 and 10 correlate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sozo.data.published import CORRELATIONS
from sozo.eval.evaluated import Evaluated, check_alike
from sozo.eval.summary import estimate_of
from sozo.scoring.measure import Estimate
from sozo.tasks import task_types
from sozo.tasks.finished import Finished
from sozo.tasks.task import Task


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model's scores."""

    model: str
    scores: Mapping[str, Estimate | None]  # task -> its first measure's mean; None without a finished run
    grids: Mapping[str, Mapping[tuple[str, str], float | None]]  # task with a grid -> cell -> mean; {} without a run

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        values: dict[str, Any] = {"model": self.model}
        # A task with a grid after the others, and its cells after it.
        for task, score in sorted(self.scores.items(), key=lambda item: item[0] in self.grids):
            values[task] = score and {"mean": score.mean, "n": score.n, "of": score.of}
        for task, grid in self.grids.items():
            values[f"{task}_cells"] = [{"task": kind, "criterion": name, "mean": m} for (kind, name), m in grid.items()]
        return values


def correlated_tasks(models: Sequence[Evaluated]) -> list[type[Task]]:
    """The tasks of the papers' correlations and those that any model has a run of; tasks with a grid first."""
    published = {name for pair in CORRELATIONS for name in pair}
    tasks = [t for t in task_types().values() if t.name in published or any(model.run(t.name) for model in models)]
    return sorted(tasks, key=lambda task: not task.Finished.grid)


def model_rows(models: Sequence[Evaluated]) -> tuple[ModelRow, ...]:
    """A row for each model with runs of two tasks or more; the others have nothing to correlate."""
    tasks, kept = correlated_tasks(models), _with_two(models)
    for task in sorted(tasks, key=lambda task: bool(task.Finished.grid)):
        check_task_alike(task, kept)
    rows = []
    for model in kept:
        runs = {task.name: model.run(task.name) for task in tasks}
        grids = {t.name: run.grid_means() if (run := runs[t.name]) else {} for t in tasks if t.Finished.grid}
        scores = {name: _score(run, grids.get(name, {})) if run else None for name, run in runs.items()}
        rows.append(ModelRow(model.name, scores, grids))
    return tuple(rows)


def check_task_alike(task: type[Task], models: Sequence[Evaluated]) -> None:
    """Refuse models whose scores in a task are on different scales."""
    runs = [(model.name, run) for model in models if (run := model.run(task.name))]
    check_alike(task.name.upper(), runs, "score one of them again as the other, or leave it out")


def scales(models: Sequence[Evaluated]) -> tuple[str, ...]:
    """What the scores of runs that are alike rest on, a sentence for each task, to stand beside them."""
    models = _with_two(models) or models  # without any, only the judge and people are compared
    sentences = []
    for task in correlated_tasks(models):
        runs = [run for model in models if (run := model.run(task.name))]
        if runs and (text := task.view.scale_text(runs[0])):
            sentences.append(f"{task.name.upper()}: {text}.")
    return tuple(sentences)


def _with_two(models: Sequence[Evaluated]) -> list[Evaluated]:
    return [model for model in models if len({task for task, _ in model.runs}) > 1]


def _score(run: Finished, grid: Mapping[tuple[str, str], float | None]) -> Estimate:
    if not grid:
        return estimate_of(run, run.main)
    # Its n of N is of answers elsewhere; here models are compared over items.
    values = run.by_item(run.main).values()
    return Estimate(grid[run.grid[-1]], None, None, sum(value is not None for value in values), len(run.prompts))
