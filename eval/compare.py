"""What a model has more or less of than its base; numbers of different judges, items or scorers are not compared.

Of a method that was trained at several seeds differences are over the seeds: about the method, not about one training.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from sozo.data.errors import UserError
from sozo.eval.evaluated import Evaluated, not_alike
from sozo.eval.seeds import Method, fold
from sozo.scoring.measure import FEWEST, LEVEL, Estimate, Measure
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.scoring.translatable import translatable

_PAIRED, _APART, _FROM_ONE = map(translatable, ("paired", "not paired", "from one run"))


@dataclass(frozen=True, slots=True)
class Difference:
    """A model's number against the base's, beside the two numbers that it is made of."""

    estimate: Estimate  # model - base, or model / base; without a value, but with a reason, if they do not compare
    # The model's number: of pairs over the common items, of words at equal n.
    value: float | None = None
    base_value: float | None = None
    # Of pairs: items that one of them has; of words: answers of each side that hold them.
    of: int | None = None
    effect: float | None = None  # Cohen's d
    seeds: str = ""  # of a method of several seeds: which ones were subtracted


@dataclass(frozen=True, slots=True)
class Compared:
    """Models, and which is held against which."""

    methods: Sequence[Method]
    pairs: Sequence[tuple[Method, Method]]  # a base, and what is held against it

    @property
    def models(self) -> list[Evaluated]:
        """All models, method by method."""
        return [model for method in self.methods for model in method.runs.values()]

    @property
    def base_names(self) -> list[str]:
        """The names of all bases, once each."""
        return list(dict.fromkeys(base.name for base, _ in self.pairs))

    @property
    def bases(self) -> dict[str, Method]:
        """What each method is held against, of `compare_models`."""
        return {method.name: base for base, method in self.pairs}


def compare_models(models: Sequence[Evaluated], base: str | None = None) -> Compared:
    """Hold models against the one called `base`, else the base of their study, or the first that is no drawn list."""
    methods = _methods(models)
    return Compared(methods, _with_base(methods, base))


def all_pairs(models: Sequence[Evaluated]) -> Compared:
    """Hold each model against each one before it, drawn lists left out."""
    methods = _methods(models)
    writers = [method for method in methods if not method.reference]
    return Compared(methods, list(combinations(writers, 2)))


def _methods(models: Sequence[Evaluated]) -> list[Method]:
    methods = fold(models)
    names = [method.name for method in methods]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(
            f"two models are called {twice}; name one of their folders otherwise: NAME=DIR"
        )
    return methods


def _with_base(
    methods: Sequence[Method], name: str | None
) -> list[tuple[Method, Method]]:
    by_name = {method.name: method for method in methods}
    if name is not None and name not in by_name:
        raise UserError(f"there is no model {name}; there are {', '.join(by_name)}")
    of_study = {one.first.study: one for one in methods if one.first.method == "base"}
    first = next((method for method in methods if not method.reference), methods[0])
    if name is not None:
        of_study, first = {}, by_name[name]
    bases = [of_study.get(method.first.study, first) for method in methods]
    pairs = zip(bases, methods, strict=True)
    return [(base, method) for base, method in pairs if base is not method]


def compare(
    base: Method, method: Method, measure: Measure, level: float = LEVEL
) -> Difference | None:
    """What a method has more or less of a measure than its base, with an interval; None if neither has a run of it."""
    pairs = {seed: (base.at(seed), model) for seed, model in method.runs.items()}
    if not any(model.run(measure.task) for pair in pairs.values() for model in pair):
        return None
    each = {
        seed: _compare_models(*pair, measure, level) for seed, pair in pairs.items()
    }
    if not (method.seeds or base.seeds):
        return each[next(iter(each))]
    return _without(each) or _over_seeds(base, method, measure, each, level)


def _without(each: Mapping[str, Difference]) -> Difference | None:
    return next((one for one in each.values() if one.estimate.value is None), None)


def _compare_models(
    base: Evaluated, model: Evaluated, measure: Measure, level: float
) -> Difference:
    before, after = base.run(measure.task), model.run(measure.task)
    if before is None or after is None:
        lacking = base if before is None else model
        reason = translatable("{model} has no run of it", model=lacking.name)
        return Difference(Estimate(level=level, reason=reason))
    if (apart := not_alike(before, after, measure)) is not None:
        if before.scorer != after.scorer:
            form = "scored by {own}, {base} by {other}"
            scorers = {"own": after.scorer, "other": before.scorer}
            apart = translatable(form, base=base.name, **scorers)
        return Difference(Estimate(level=level, reason=apart))
    found = after.against(before, measure, level)
    of = found.n if measure.ratio else None
    if measure.per_item:
        of = len({*before.by_item(measure), *after.by_item(measure)})
    sides, effect = after.sides(before, measure), after.effect(before, measure)
    return Difference(found, *sides, of, effect)


def _over_seeds(
    base: Method,
    method: Method,
    measure: Measure,
    each: Mapping[str, Difference],
    level: float,
) -> Difference:
    """Of the differences at the seeds that the base has too, or from its one run; else of two samples of seeds."""

    def scaled(value: float | None) -> float:
        assert value is not None
        return math.log(value) if measure.ratio else value

    # Else a model of one training has no spread, and so no interval.
    one_base = not base.seeds
    ours = {seed: one for seed, one in each.items() if one_base or seed in base.runs}
    if one_base or len(ours) >= FEWEST:
        how, theirs = _FROM_ONE if one_base else _PAIRED, ours
        runs = [
            (base.at(seed).run(measure.task), method.runs[seed].run(measure.task))
            for seed in ours
        ]
        pairs = [(before, after) for before, after in runs if before and after]
        shared = pairs[0][1].shared(pairs, measure, one_base=one_base)
        gaps = {seed: scaled(one.estimate.value) for seed, one in ours.items()}
        found = over_seeds(gaps, shared=shared, level=level)
    else:
        how, ours = _APART, dict(each)
        theirs = {
            seed: _compare_models(model, method.first, measure, level)
            for seed, model in base.runs.items()
        }
        if missing := _without(theirs):
            return missing
        values = {seed: scaled(one.value) for seed, one in ours.items()}
        base_values = {seed: scaled(one.base_value) for seed, one in theirs.items()}
        found = difference(values, base_values, level=level)
    of = None
    if measure.ratio:
        of = min(one.of or 0 for one in (*ours.values(), *theirs.values()))
        ends = {name: getattr(found, name) for name in ("low", "value", "high")}
        known: Any = {name: math.exp(x) for name, x in ends.items() if x is not None}
        found = replace(found, **known)
    value = _average([one.value for one in ours.values()])
    base_value = _average([one.base_value for one in theirs.values()])
    effect = _average([one.effect for one in ours.values()])
    return Difference(found, value, base_value, of, effect, how)


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
