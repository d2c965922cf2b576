"""What changed from one model to others; numbers that rest not on one judge, items and scorer are never subtracted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from data.errors import UserError
from eval.evaluated import Evaluated, not_alike
from eval.statistics import compare_independent, compare_paired, holm
from rewards.measure import Measure
from rewards.tasks import task_types


@dataclass(frozen=True, slots=True)
class Change:
    """One cell: a model's number minus the base's; other fields as in `eval.statistics.Comparison`."""

    model: str
    base: str  # what it is compared with
    column: str  # the measure's name
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    p: float | None = None  # of this cell alone
    p_at_most: bool = False  # whether p, and so p_holm, is a bound
    p_holm: float | None = None  # corrected over all cells of the model in the table
    n: int = 0
    of: int = 0
    reason: str | None = None

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 0.05."""
        return self.p_holm is not None and self.p_holm < 0.05


Changes = Mapping[tuple[str, str], Change]  # by model and measure's name


def groups() -> dict[str, list[Measure]]:
    """The tables of changes: name -> the measures of all tasks in it, in the tasks' order."""
    tables: dict[str, list[Measure]] = {}
    for task in task_types().values():
        for measure in task.measures:
            if measure.group is not None:
                tables.setdefault(measure.group, []).append(measure)
    return tables


def bases(models: Sequence[Evaluated], name: str | None = None) -> dict[str, Evaluated]:
    """What each model but a base is compared with: the model of this name, else its study's base or the first model."""
    by_name = {model.name: model for model in models}
    if name is not None and name not in by_name:
        raise UserError(f"there is no model {name}; there are {', '.join(by_name)}")
    of_study = {model.study: model for model in models if model.method == "base"}
    against = {m.name: of_study.get(m.study, models[0]) if name is None else by_name[name] for m in models}
    return {model.name: against[model.name] for model in models if against[model.name] is not model}


def all_changes(models: Sequence[Evaluated], against: Mapping[str, Evaluated]) -> Mapping[str, Changes]:
    """Every table of changes by its name (`groups`); `against` is what each model is compared with (`bases`)."""
    tables: dict[str, dict[tuple[str, str], Change]] = {}
    pairs = [(against[model.name], model) for model in models if model.name in against]
    for name, measures in groups().items():
        # A measure that neither side has gives no cell.
        shown = [(*pair, m) for pair in pairs for m in measures if any(model.run(m.task) for model in pair)]
        cells = [_change(*cell) for cell in shown]
        # Corrected model by model: that others are on the page makes this one no less certain.
        tables[name] = {}
        for model in dict.fromkeys(cell.model for cell in cells):
            own = [cell for cell in cells if cell.model == model]
            for cell, p in zip(own, holm([cell.p for cell in own]), strict=True):
                tables[name][model, cell.column] = replace(cell, p_holm=p)
    return tables


def _change(base: Evaluated, other: Evaluated, measure: Measure) -> Change:
    cell = Change(other.name, base.name, measure.name)
    before, after = base.run(measure.task), other.run(measure.task)
    if before is None or after is None:
        lacking = base if before is None else other
        return replace(cell, reason=f"{lacking.name} has no run of it")
    if (reason := not_alike(before, after)) is not None:
        return replace(cell, reason=f"not on one scale: {reason}")
    if measure.per_item:
        paired = compare_paired(before.by_item(measure), after.by_item(measure), share=measure.share)
        return replace(cell, **asdict(paired))
    sides = before.by_answer(measure), after.by_answer(measure)
    return replace(cell, **asdict(compare_independent(*sides, share=measure.share)))
