"""What changed from one model to others; numbers that rest not on one judge, items and scorer are never subtracted.

Of a method that was trained at several seeds changes are over the seeds: about the method, and not about one training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from sozo.data.errors import UserError
from sozo.eval.evaluated import Evaluated, not_alike
from sozo.eval.seeds import Method, fold
from sozo.scoring.measure import LEVEL, Measure
from sozo.scoring.statistics.comparison import Comparison
from sozo.scoring.statistics.seeds import difference
from sozo.scoring.translatable import translatable
from sozo.tasks import task_types
from sozo.tasks.task import Task

PAIRED, APART, FROM_ONE = map(translatable, ("paired", "not paired", "from one run"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Comparison):
    """One cell: a model's number minus the base's, or a method's over its seeds (then `n` counts seeds)."""

    model: str
    base: str  # what it is compared with
    column: str  # the measure's name
    seeds: str | None = None  # of a method of several seeds: which ones were subtracted


Changes = Mapping[tuple[str, str], Change]  # by model and measure's name


@dataclass(frozen=True, slots=True)
class Compared:
    """Models, and what changed from the base of each."""

    methods: Sequence[Method]
    against: Mapping[str, Method]  # what each method but a base is compared with
    changes: Changes  # of methods: that of a method of one model is the model's
    each: Changes  # of models, over their answers

    @property
    def models(self) -> list[Evaluated]:
        """All models, method by method."""
        return [model for method in self.methods for model in method.runs.values()]

    @property
    def trained(self) -> bool:
        """Whether all that is compared with a base was trained by sozo: only then is asked whether training helped."""
        contestants = [model for _, model in self.pairs if not model.reference]
        return bool(contestants) and all(model.trained for model in contestants)

    @property
    def pairs(self) -> list[tuple[Evaluated, Evaluated]]:
        """Each model but a base's after what it is compared with: of the same seed, if its base has that."""
        trained = [method for method in self.methods if method.name in self.against]
        return [(self.against[of.name].at(seed), model) for of in trained for seed, model in of.runs.items()]


def compare_models(models: Sequence[Evaluated], base: str | None = None) -> Compared:
    """Compare models with the one called `base`, else with the base of their study, or the first one."""
    methods = fold(models)
    compared = Compared(methods, _bases(methods, base), {}, {})
    each, changes = dict[tuple[str, str], Change](), dict[tuple[str, str], Change]()
    for measure in (measure for task in task_types().values() for measure in compared_measures(task)):
        for before, after in compared.pairs:
            if before.run(measure.task) or after.run(measure.task):  # one that neither side has gives no cell
                each[after.name, measure.name] = _change(before, after, measure)
        for method in (method for method in methods if method.name in compared.against):
            if any((run.name, measure.name) in each for run in method.runs.values()):
                changes[method.name, measure.name] = _over_seeds(method, compared.against[method.name], measure, each)
    return replace(compared, changes=changes, each=each)


def change_at(compared: Compared, method: Method, measure: Measure, level: float) -> Change:
    """The change of a method that is compared, with an interval of another level than 95%."""
    base = compared.against[method.name]
    if method.several:
        return _over_seeds(method, base, measure, compared.each, level)
    ((seed, model),) = method.runs.items()
    return _change(base.at(seed), model, measure, level)


def compared_measures(task: type[Task]) -> list[Measure]:
    """The task's first measure, those of its bounds, and the others that are compared, once each."""
    first, *others = task.measures
    bounds = [bound.measure for bound in task.bounds()]
    measures = [first, *bounds, *(measure for measure in others if measure.compared)]
    return list({measure.name: measure for measure in measures}.values())


def _bases(methods: Sequence[Method], name: str | None) -> dict[str, Method]:
    by_name = {method.name: method for method in methods}
    if name is not None and name not in by_name:
        raise UserError(f"there is no model {name}; there are {', '.join(by_name)}")
    of_study = {method.first.study: method for method in methods if method.first.method == "base"}
    first = next((method for method in methods if not method.reference), methods[0])
    against = {m.name: of_study.get(m.first.study, first) if name is None else by_name[name] for m in methods}
    return {method.name: against[method.name] for method in methods if against[method.name] is not method}


def _change(base: Evaluated, other: Evaluated, measure: Measure, level: float = LEVEL) -> Change:
    change = Change(model=other.name, base=base.name, column=measure.name)
    before, after = base.run(measure.task), other.run(measure.task)
    if before is None or after is None:
        return replace(change, reason=_no_run(base if before is None else other))
    if (reason := not_alike(before, after)) is not None:
        return replace(change, reason=translatable("not on one scale: {reason}", reason=reason))
    return replace(change, **asdict(after.against(before, measure, level)))


def _over_seeds(method: Method, base: Method, measure: Measure, each: Changes, level: float = LEVEL) -> Change:
    """Of the differences at the seeds that the base has too, or from its one run; else of two samples of seeds."""
    if not method.several:
        return each[method.first.name, measure.name]
    own = {seed: each.get((run.name, measure.name)) for seed, run in method.runs.items()}
    change = Change(model=method.name, base=base.name, column=measure.name, of=len(own))
    for seed, cell in own.items():
        if cell is None or cell.difference is None:
            return replace(change, reason=cell.reason if cell else _no_run(method.runs[seed]))
    gaps = {seed: cell.difference for seed, cell in own.items() if cell and cell.difference is not None}
    shared = [seed for seed in gaps if seed in base.runs]
    if not base.several:
        result, how = difference(gaps, dict.fromkeys(gaps, 0.0), level=level), FROM_ONE
    elif len(shared) > 1:
        result, how = difference({seed: gaps[seed] for seed in shared}, dict.fromkeys(shared, 0.0), level=level), PAIRED
    else:
        sides = [_means(side, measure) for side in (method, base)]
        if not all(sides):
            return replace(change, reason="no values")
        result, how = difference(*sides, level=level), APART
    effects = [cell.effect for cell in own.values() if cell and cell.effect is not None]
    effect = sum(effects) / len(effects) if len(effects) == len(own) else None
    return replace(
        change,
        difference=result.mean,
        low=result.low,
        high=result.high,
        effect=effect,
        p=result.p,
        n=result.n,
        reason=result.reason,
        seeds=how,
    )


def _means(method: Method, measure: Measure) -> dict[str, float]:
    runs = {seed: run for seed, model in method.runs.items() if (run := model.run(measure.task))}
    return {seed: mean for seed, run in runs.items() if (mean := run.estimate(measure).mean) is not None}


def _no_run(model: Evaluated) -> str:
    return translatable("{model} has no run of it", model=model.name)
