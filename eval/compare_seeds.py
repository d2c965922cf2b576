"""What changed from a method to another over training seeds: about the methods, and not about single trainings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sozo.eval.compare import Change, Changes, corrected, groups
from sozo.eval.seeds import Method
from sozo.scoring.measure import Measure
from sozo.scoring.statistics.seeds import difference

PAIRED, APART, FROM_ONE = "paired", "not paired", "from one run"


def method_changes(
    methods: Sequence[Method], against: Mapping[str, Method], each: Mapping[str, Changes]
) -> dict[str, dict[tuple[str, str], Change]]:
    """Every table of changes, by methods' names; `each` are the changes of their models (`eval.compare.all_changes`).

    That of a method of one model is the model's, over its answers. Of one with several seeds it is over the seeds:
    of the differences at the seeds that its base has too, or from its base's one run; with no two seeds in common,
    of two samples of seeds (Welch).
    """
    tables: dict[str, dict[tuple[str, str], Change]] = {}
    for name, measures in groups().items():
        tables[name] = {}
        for method in (method for method in methods if method.name in against):
            shown = [m for m in measures if any((run.name, m.name) in each[name] for run in method.runs.values())]
            if method.several:
                cells = corrected([_over_seeds(method, against[method.name], m, each[name]) for m in shown])
            else:
                cells = [each[name][method.first.name, m.name] for m in shown]
            tables[name] |= {(method.name, cell.column): cell for cell in cells}
    return tables


def _over_seeds(method: Method, base: Method, measure: Measure, each: Changes) -> Change:
    own = {seed: each.get((run.name, measure.name)) for seed, run in method.runs.items()}
    change = Change(method.name, base.name, measure.name, of=len(own))
    for seed, cell in own.items():
        if cell is None or cell.difference is None:
            return replace(change, reason=cell.reason if cell else f"{method.runs[seed].name} has no run of it")
    gaps = {seed: cell.difference for seed, cell in own.items() if cell and cell.difference is not None}
    shared = [seed for seed in gaps if seed in base.runs]
    if not base.several:
        result, how = difference(gaps, dict.fromkeys(gaps, 0.0)), FROM_ONE
    elif len(shared) > 1:
        result, how = difference({seed: gaps[seed] for seed in shared}, dict.fromkeys(shared, 0.0)), PAIRED
    else:
        sides = [_means(side, measure) for side in (method, base)]
        if not all(sides):
            return replace(change, reason="no values")
        result, how = difference(*sides), APART
    effects = [cell.effect for cell in own.values() if cell and cell.effect is not None]
    return replace(
        change,
        difference=result.mean,
        low=result.low,
        high=result.high,
        effect=sum(effects) / len(effects) if len(effects) == len(own) else None,
        p=result.p,
        n=result.seeds,
        reason=result.reason or None,
        seeds=how,
    )


def _means(method: Method, measure: Measure) -> dict[str, float]:
    runs = {seed: run for seed, model in method.runs.items() if (run := model.run(measure.task))}
    return {seed: mean for seed, run in runs.items() if (mean := run.estimate(measure).mean) is not None}
