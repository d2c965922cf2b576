"""The curve of a model: its rows at several temperatures, and how far another model lies above the line through them.

Whoever is as high as the line at as many different words differs from the base as another temperature would.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sozo.eval.compare import Difference
from sozo.eval.evaluated import not_alike
from sozo.eval.seeds import Method
from sozo.models.sampling import Sampling
from sozo.models.settings import OF_FORM
from sozo.scoring.measure import FEWEST, Estimate, Measure
from sozo.scoring.numbers import number
from sozo.scoring.statistics.curve import Above, above_line, joined, merged
from sozo.scoring.statistics.means import few
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task

CURVE = "curve"  # the kind of number: how far above the line
# A point of a tenth of a model's answers, or less, would leave few of its words.
_LEAST = 10
_SAME = ("model", "model_revision", "base_url", *OF_FORM)


def lines(methods: Sequence[Method], task: str) -> list[list[Method]]:
    """Rows of one model that are drawn alike but for the temperature: two or more, by its number.

    Of several seeds all rows have each: then there is such a line at every seed.
    """
    found: dict[object, dict[float, Method]] = {}
    for method in methods:
        run = method.at(min(method.runs)).run(task)
        if run and run.settings.get("model") and run.temperature is not None:
            asked = (run.settings.get(name) for name in _SAME)
            sampling = Sampling.parse(run.settings.get("sampling"))
            others = replace(sampling, temperature=None)
            key = frozenset(method.runs), *asked, *run.weights, run.judge, others
            found.setdefault(key, {}).setdefault(run.temperature, method)
    return [
        [line[at] for at in sorted(line)] for line in found.values() if len(line) > 1
    ]


@dataclass(frozen=True)
class CurveGap:
    """A method beside its base's line, seed by seed; or the reason why they do not compare."""

    up: Measure
    across: Measure
    size: int = 0  # answers in which different words are counted
    found: Sequence[Above] = ()
    one_line: bool = True  # of all seeds
    reason: str = ""

    @property
    def measure(self) -> Measure:
        """What is compared: the height, with its own name."""
        return replace(self.up, name=f"{self.up.task}/curve")

    def difference(self, level: float) -> Difference:
        """How far it lies above the line."""
        if self.reason:
            return Difference(Estimate(level=level, reason=self.reason))
        if len(self.found) == 1:
            (one,) = self.found
            return Difference(one.estimate(level), one.up, one.line)
        ups = [one.up for one in self.found]
        heights = [one.line for one in self.found]
        gaps = dict(enumerate(np.subtract(ups, heights).tolist()))
        errors = [one.line_error for one in self.found]
        fewest = min(one.fewest for one in self.found)
        line = float(np.square(errors).mean()), fewest
        # Lines of their own differ as much as they err, which the spread of the gaps shows.
        shared = line if self.one_line else None
        estimate = over_seeds(gaps, shared=shared, level=level)
        if estimate.low is not None and estimate.high is not None:
            mean = math.fsum(gaps.values()) / len(gaps)
            beyond = math.copysign(min(self.bend, abs(mean)), mean)
            less = {seed: gap - beyond for seed, gap in gaps.items()}
            p = over_seeds(less, shared=shared, level=level).p
            low, high = estimate.low - self.bend, estimate.high + self.bend
            estimate = replace(estimate, low=low, high=high, p=p)
        return Difference(estimate, float(np.mean(ups)), float(np.mean(heights)))

    @property
    def bend(self) -> float:
        """How far the line may be off, being straight between its points."""
        return max(one.bend for one in self.found)

    @property
    def notes(self) -> list[str]:
        """Where on the line it is compared."""
        if not self.found:
            return []
        x = number(sum(one.across for one in self.found) / len(self.found), self.across)
        form = "at {x} {across}" + " in {n:,} answers" * (not self.across.per_item)
        name = _name(self.across)
        return [translatable(form, x=x, across=name, n=self.size)]


def curve_gap(
    base: Method, method: Method, methods: Sequence[Method], task: type[Task]
) -> CurveGap | None:
    """How a method lies beside its base's line; None where there is no line, or it is a point of it."""
    if task.curve is None or method.reference:
        return None
    runs = _at_seeds(method, method.runs, task.name)
    every = lines([base, *methods], task.name)  # of two at one temperature the base
    line = next((one for one in every if base in one), None)
    if line is None or method in line or not runs:
        return None
    up, across = task.curve
    one_line = not (base.seeds and runs.keys() <= base.runs.keys())
    nothing = CurveGap(next(iter(runs.values())).adapt(up), across, one_line=one_line)
    before = base.of_task(task.name)[0]
    for run in runs.values():
        if apart := not_alike(before, run, up):
            return replace(nothing, reason=apart)
    fewest = min(run.counts(up)[0] for run in runs.values())
    points = [runs]
    for one in line:
        point = _at_seeds(one, runs, task.name)
        alike = all(not not_alike(before, run, up) for run in point.values())
        n = min((run.counts(up)[0] for run in point.values()), default=0)
        if len(point) == len(runs) and alike and _LEAST * n > fewest:
            points.append(point)
    return _gap(nothing, points)


def _gap(nothing: CurveGap, points: Sequence[Mapping[str, RunResult]]) -> CurveGap:
    """The first of `points`, runs by seed, beside the line through the others."""
    up, across, found = nothing.up, nothing.across, list[Above]()
    size = min(run.counts(up)[0] for point in points for run in point.values())
    if reason := few(size, "answers"):
        return replace(nothing, reason=reason)
    for seed in points[0]:
        places = [point[seed].in_plane(up, across, size) for point in points]
        if up.per_item:
            common = sorted(set.intersection(*map(set, places)))
            places = [{key: each[key] for key in common} for each in places]
        own, *line = (np.array(list(each.values())) for each in places)
        if reason := few(len(own), "common items"):
            return replace(nothing, reason=reason)
        groups = joined(line, paired=up.per_item)
        said: dict[str, Any] = {"across": _name(across)}
        if len(groups) < FEWEST:
            form = "{n} of the curve's {of} temperatures differ in {across}, and it needs {least}"
            said |= {"n": len(groups), "of": len(line), "least": FEWEST}
            return replace(nothing, reason=translatable(form, **said))
        apart = [merged(group, paired=up.per_item) for group in groups]
        x, *ends = (float(side[:, 0].mean()) for side in (own, *apart))
        if not min(ends) <= x <= max(ends):
            form = "{x} {across}, where the curve has {low} to {high}"
            ends = [x, min(ends), max(ends)]
            said |= zip(
                ("x", "low", "high"), (number(end, across) for end in ends), strict=True
            )
            return replace(nothing, reason=translatable(form, **said))
        found.append(above_line(own, line, paired=up.per_item))
    return replace(nothing, size=size, found=found)


def _at_seeds(method: Method, seeds: Iterable[str], task: str) -> dict[str, RunResult]:
    return {seed: run for seed in seeds if (run := method.at(seed).run(task))}


def _name(measure: Measure) -> str:
    return translatable(measure.short.replace("_", " "))
