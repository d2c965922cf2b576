"""What changed from one model to others, cell by cell, with intervals and p-values corrected over a table's cells.

A measure per item (question, story) is paired by items; others, such as DAT's, have no partners. Numbers that do not
rest on the same judge, items or scorer are never subtracted: the cell says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from data.errors import UserError
from eval.evaluated import Evaluated
from eval.scales import not_alike
from eval.statistics import IndependentComparison, PairedComparison, compare_independent, compare_paired, holm
from rewards.measure import Measure
from rewards.tasks import task_types


@dataclass(frozen=True, slots=True)
class Change:
    """One cell: a model's number minus the base's.

    Attributes:
        model: The model.
        base: What it is compared with.
        column: The measure's name.
        difference: Mean of the model minus mean of the base, over the items that both have a value for (of a measure
            without partners, over each one's answers that have a value); None without one.
        low: Lower end of the 95% interval. `high` likewise.
        high: Upper end.
        effect: Cohen's d: paired d_z, in standard deviations of the differences; else with the averaged variance.
        p: Two-sided, of this cell alone (paired: sign flips; else Welch).
        p_holm: The same, corrected over all cells of the table (Holm).
        n: Items that both have; without partners, the smaller number of answers that count.
        of: Items that one of them has at all; without partners, the larger number.
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


Changes = Mapping[tuple[str, str], Change]
"""By model and measure's name."""


def groups() -> dict[str, list[Measure]]:
    """The tables of changes: name -> the measures of all tasks in it, in the tasks' order.

    >>> list(groups())
    ['changes', 'task_changes']
    """
    tables: dict[str, list[Measure]] = {}
    for task in task_types().values():
        for measure in task.measures:
            if measure.group is not None:
                tables.setdefault(measure.group, []).append(measure)
    return tables


def bases(models: Sequence[Evaluated], name: str | None = None) -> dict[str, Evaluated]:
    """What each model is compared with, by its name; a base itself has none.

    Args:
        models: All.
        name: The base of all; None takes for a study's rows the study's own base, and else the first model.
    """
    if name is not None and name not in [model.name for model in models]:
        raise UserError(f"there is no model {name}; there are {', '.join(model.name for model in models)}")
    of_study = {model.study: model for model in models if model.method == "base"}
    against = {}
    for model in models:
        if name is None:
            base = of_study.get(model.study, models[0]) if model.study else models[0]
        else:
            base = next(other for other in models if other.name == name)
        if base is not model:
            against[model.name] = base
    return against


def all_changes(
    models: Sequence[Evaluated], against: Mapping[str, Evaluated]
) -> dict[str, dict[tuple[str, str], Change]]:
    """Every table of changes by its name; see `groups` and `changes`."""
    return {name: changes(models, against, measures) for name, measures in groups().items()}


def changes(
    models: Sequence[Evaluated], against: Mapping[str, Evaluated], measures: Sequence[Measure]
) -> dict[tuple[str, str], Change]:
    """The table of all changes, by model and measure's name; p-values are corrected over its cells.

    Args:
        models: The rows. One that `against` does not have is a base and has no cells.
        against: See `bases`.
        measures: The columns. One that neither side has gives no cell.
    """
    cells = [
        change(against[model.name], model, measure)
        for model in models
        for measure in measures
        if model.name in against and (against[model.name].run(measure.task) or model.run(measure.task))
    ]
    corrected = holm([cell.p for cell in cells])
    return {(cell.model, cell.column): replace(cell, p_holm=p) for cell, p in zip(cells, corrected, strict=True)}


def change(base: Evaluated, other: Evaluated, measure: Measure) -> Change:
    """One cell, its p-value not corrected."""
    cell = Change(other.name, base.name, measure.name)
    before, after = base.run(measure.task), other.run(measure.task)
    if before is None or after is None:
        lacking = base if before is None else other
        return replace(cell, reason=f"{lacking.name} has no run of it")
    if (reason := not_alike(before, after)) is not None:
        return replace(cell, reason=f"not on one scale: {reason}")
    comparison: PairedComparison | IndependentComparison
    if measure.per_item:
        comparison = paired = compare_paired(before.by_item(measure), after.by_item(measure))
        effect, n, of = paired.d_z, paired.n, paired.of
    else:
        comparison = free = compare_independent(before.by_answer(measure), after.by_answer(measure))
        effect, (n, of) = free.d_av, sorted((free.n_base, free.n_other))
    return replace(
        cell,
        difference=comparison.difference,
        low=comparison.low,
        high=comparison.high,
        effect=effect,
        p=comparison.p,
        n=n,
        of=of,
        reason=comparison.reason,
    )
