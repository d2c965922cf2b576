"""What changed from one model to others, cell by cell, with intervals and p-values corrected over a table's cells.

JCQ is paired by question and SAT by story; DAT trials have no partners. Numbers that do not rest on the same judge,
questions, stories, checker or encoder are never subtracted: the cell says why.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from data.jcq import CRITERIA, TASKS
from eval.alike import not_alike
from eval.finished import Evaluated, Finished
from eval.statistics import IndependentComparison, PairedComparison, compare_independent, compare_paired, holm

# Columns: which number of a model.
DAT, VALID, SAT, JCQ_MEAN = "dat", "dat/valid", "sat", "jcq/mean"
CRITERION_COLUMNS = tuple(f"jcq/{criterion}" for criterion in CRITERIA)
TASK_COLUMNS = tuple(f"jcq/{task}" for task in TASKS)
MAIN_COLUMNS = (DAT, VALID, JCQ_MEAN, *CRITERION_COLUMNS, SAT)


@dataclass(frozen=True, slots=True)
class Change:
    """One cell: a model's number minus the base's.

    Attributes:
        model: The model.
        base: What it is compared with.
        column: `dat`, `dat/valid` (share of valid responses), `sat`, `jcq/mean`, `jcq/CRITERION` or `jcq/TASK`.
        difference: Mean of the model minus mean of the base, over the questions or stories that both have a score for
            (DAT: over each one's valid responses; their share: over all responses); None without one.
        low: Lower end of the 95% interval. `high` likewise.
        high: Upper end.
        effect: Cohen's d: of JCQ and SAT d_z, in standard deviations of the differences; of DAT with the averaged
            variance.
        p: Two-sided, of this cell alone (sign flips; DAT: Welch).
        p_holm: The same, corrected over all cells of the table (Holm).
        n: Questions or stories that both have; of DAT, the smaller number of responses that count.
        of: Questions or stories that one of them has at all; of DAT, the larger number.
        reason: Why something of the above is None.
    """

    model: str
    base: str
    column: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    p: float | None = None
    p_holm: float | None = None
    n: int = 0
    of: int = 0
    reason: str | None = None

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm is not None and self.p_holm < 0.05


def bases(models: Sequence[Evaluated], name: str | None = None) -> dict[str, Evaluated]:
    """What each model is compared with, by its name; a base itself has none.

    Args:
        models: All.
        name: The base of all; None takes for a study's rows the study's own base, and else the first model.

    Raises:
        ValueError: There is no model `name`.
    """
    if name is not None and name not in [model.name for model in models]:
        raise ValueError(f"there is no model {name}; there are {', '.join(model.name for model in models)}")
    of_study = {model.study: model for model in models if model.method == "base"}
    found = {}
    for model in models:
        if name is None:
            base = of_study.get(model.study, models[0]) if model.study else models[0]
        else:
            base = next(other for other in models if other.name == name)
        if base is not model:
            found[model.name] = base
    return found


def changes(
    models: Sequence[Evaluated], against: Mapping[str, Evaluated], columns: Sequence[str]
) -> dict[tuple[str, str], Change]:
    """The table of all changes, by (model, column); p-values are corrected over its cells.

    Args:
        models: The rows. One that `against` does not have is a base and has no cells.
        against: See `bases`.
        columns: The columns, such as `MAIN_COLUMNS`. One that neither side has gives no cell.
    """
    cells = [
        change(against[model.name], model, column)
        for model in models
        for column in columns
        if model.name in against and (_finished(against[model.name], column) or _finished(model, column))
    ]
    corrected = holm([cell.p for cell in cells])
    return {(cell.model, cell.column): replace(cell, p_holm=p) for cell, p in zip(cells, corrected, strict=True)}


def change(base: Evaluated, other: Evaluated, column: str) -> Change:
    """One cell, its p-value not corrected."""
    runs = _finished(base, column), _finished(other, column)
    for model, run in zip((base, other), runs, strict=True):
        if run is None:
            return Change(other.name, base.name, column, reason=f"{model.name} has no run of it")
    before, after = runs
    assert before
    assert after
    if (reason := not_alike(before, after)) is not None:
        return Change(other.name, base.name, column, reason=f"not on one scale: {reason}")
    if column in (DAT, VALID):
        free = compare_independent(_dat_values(base, column), _dat_values(other, column))
        few, many = sorted((free.n_base, free.n_other))
        found: IndependentComparison | PairedComparison = free
        effect = free.d_av
    else:
        found = paired = compare_paired(item_scores(base, column), item_scores(other, column))
        few, many, effect = paired.n, paired.of, paired.d_z
    return Change(
        other.name,
        base.name,
        column,
        difference=found.difference,
        low=found.low,
        high=found.high,
        effect=effect,
        p=found.p,
        n=few,
        of=many,
        reason=found.reason,
    )


def item_scores(model: Evaluated, column: str) -> Mapping[Hashable, float | None]:
    """A model's scores by question (`jcq/...`) or story (`sat`); None where one has none."""
    if column == SAT:
        return {story.id: model.sat.scores.get(story.id) for story in model.sat.stories} if model.sat else {}
    if model.jcq is None:
        return {}
    scores, name = model.jcq.scores, column.partition("/")[2]
    values = scores.values[:, CRITERIA.index(name)] if name in CRITERIA else scores.values.mean(axis=1)
    return {
        question.id: None if math.isnan(value) else float(value)
        for question, value in zip(scores.questions, values, strict=True)
        if name not in TASKS or question.task == name
    }


def _dat_values(model: Evaluated, column: str) -> np.ndarray:
    """Scores of the valid responses, or 1 for each valid response and 0 for each other."""
    assert model.dat
    if column == DAT:
        return model.dat.scores
    summary = model.dat.summary
    return np.repeat([1.0, 0.0], [summary.valid, summary.num_responses - summary.valid])


def _finished(model: Evaluated, column: str) -> Finished | None:
    run: Finished | None = getattr(model, column.partition("/")[0])
    return run
