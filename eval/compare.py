"""What changed from one model to others; numbers that rest not on one judge, items and scorer are never subtracted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sozo.data.errors import UserError
from sozo.eval.evaluated import Evaluated, not_alike
from sozo.eval.seeds import Method, fold
from sozo.scoring.measure import Measure
from sozo.scoring.statistics import compare_independent, compare_paired, holm
from sozo.tasks import task_types


@dataclass(frozen=True, slots=True)
class Change:
    """One cell: a model's number minus the base's; other fields as in `sozo.scoring.statistics.Comparison`."""

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
    seeds: str | None = None  # of methods at several seeds, whose n are seeds: which ones were subtracted

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


def method_bases(methods: Sequence[Method], name: str | None = None) -> dict[str, Method]:
    """What each method but a base is compared with: that of this name, else its study's base or the first one."""
    by_name = {method.name: method for method in methods}
    if name is not None and name not in by_name:
        raise UserError(f"there is no model {name}; there are {', '.join(by_name)}")
    of_study = {method.first.study: method for method in methods if method.first.method == "base"}
    against = {m.name: of_study.get(m.first.study, methods[0]) if name is None else by_name[name] for m in methods}
    return {method.name: against[method.name] for method in methods if against[method.name] is not method}


def bases(models: Sequence[Evaluated], name: str | None = None) -> dict[str, Evaluated]:
    """What each model but a base's is compared with: the base of its method, of the same seed if it has that."""
    methods = fold(models)
    against = method_bases(methods, name)
    trained = [method for method in methods if method.name in against]
    return {model.name: against[m.name].at(seed) for m in trained for seed, model in m.runs.items()}


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
            own = corrected([cell for cell in cells if cell.model == model])
            tables[name] |= {(model, cell.column): cell for cell in own}
    return tables


def corrected(cells: Sequence[Change]) -> list[Change]:
    """The cells of one model in one table with their p-values corrected for their number."""
    return [replace(cell, p_holm=p) for cell, p in zip(cells, holm([cell.p for cell in cells]), strict=True)]


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
