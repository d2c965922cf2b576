"""The curve of a model: its rows at several temperatures, and how far another model lies above the line through them.

Whoever is as high as the line at as many different words differs from the base as another temperature would.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sozo.eval.compare import Difference
from sozo.eval.evaluated import not_alike
from sozo.eval.seeds import Method
from sozo.models.sampling import Sampling
from sozo.models.settings import OF_FORM
from sozo.scoring.measure import FEWEST, Estimate, Measure
from sozo.scoring.numbers import number
from sozo.scoring.statistics.curve import Above, above_line
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Task

TEMPERATURE, MIN_P = "temperature", "min_p"
_LEAST = 10  # a point of a tenth of a model's answers, or less, would leave few of its words
_SAME = ("model", "model_revision", "base_url", *OF_FORM)


def lines(
    methods: Sequence[Method], task: str, varied: str = TEMPERATURE
) -> list[list[Method]]:
    """Rows of one model that are drawn alike but for the temperature, or for `min_p`: two or more, by its number."""
    found: dict[object, dict[float, Method]] = {}
    for method in methods:
        runs = method.of_task(task)
        if runs and not method.several and (place := _place(runs[0], varied)):
            key, at = place
            found.setdefault(key, {}).setdefault(at, method)
    return [
        [line[at] for at in sorted(line)] for line in found.values() if len(line) > 1
    ]


def _place(run: RunResult, varied: str) -> tuple[object, float] | None:
    """What a run's line has in common, and where on it the run lies."""
    sampling = Sampling.parse(run.settings.get("sampling"))
    if run.settings.get("model") is None or run.temperature is None:
        return None
    kept = replace(sampling, temperature=None, **{varied: None})
    common = [run.settings.get(name) for name in _SAME]
    if varied == MIN_P:
        return (*common, run.judge, kept, run.temperature), sampling.min_p or 0.0
    return (*common, run.judge, kept), run.temperature


@dataclass(frozen=True)
class BesideLine:
    """A method beside its base's line, seed by seed; or the reason why they do not compare."""

    task: type[Task]
    size: int = 0  # answers in which different words are counted
    found: Sequence[Above] = ()
    reason: str = ""

    @property
    def measure(self) -> Measure:
        """What is compared: the height, with its own name."""
        assert self.task.curve is not None
        return replace(self.task.curve[0], name=f"{self.task.name}/curve")

    def difference(self, level: float) -> Difference:
        """How far it lies above the line."""
        if self.reason:
            return Difference(Estimate(level=level, reason=self.reason))
        ups, heights, errors = (
            [getattr(one, name) for one in self.found]
            for name in ("up", "line", "line_error")
        )
        if len(self.found) == 1:
            return Difference(self.found[0].estimate(level), ups[0], heights[0])
        bend = max(one.bend for one in self.found)
        gaps = dict(enumerate(np.subtract(ups, heights).tolist()))
        fewest = min(one.fewest for one in self.found)
        shared = float(np.square(errors).mean()), fewest
        estimate = over_seeds(gaps, shared=shared, level=level)
        if estimate.low is not None and estimate.high is not None:
            mean = math.fsum(gaps.values()) / len(gaps)
            beyond = math.copysign(min(bend, abs(mean)), mean)
            less = {seed: gap - beyond for seed, gap in gaps.items()}
            p = over_seeds(less, shared=shared, level=level).p
            low, high = estimate.low - bend, estimate.high + bend
            estimate = replace(estimate, low=low, high=high, p=p)
        return Difference(estimate, float(np.mean(ups)), float(np.mean(heights)))

    @property
    def notes(self) -> list[str]:
        """Where on the line it is compared, and by how much its interval is wider since lines bend."""
        if not self.found:
            return []
        assert self.task.curve is not None
        across = self.task.curve[1]
        places = [one.across for one in self.found]
        said = {"x": number(sum(places) / len(places), across), "across": _name(across)}
        at = translatable("at {x} {across}", **said)
        if not across.per_item:
            at = translatable("at {x} {across} in {n:,} answers", **said, n=self.size)
        bend = number(max(one.bend for one in self.found), self.measure)
        return [at, translatable("{bend} of the interval for the line's bend", bend=bend)]


def beside_line(
    base: Method, method: Method, methods: Sequence[Method], task: type[Task]
) -> BesideLine | None:
    """How a method lies beside its base's line; None where there is no line, or it is a point of it."""
    line = next((one for one in lines(methods, task.name) if base in one), [])
    runs = method.of_task(task.name)
    if task.curve is None or not (line and runs) or method.reference or method in line:
        return None
    up, _ = task.curve
    before = base.of_task(task.name)[0]
    if apart := next(filter(None, (not_alike(before, run, up) for run in runs)), None):
        return BesideLine(task, reason=apart)
    fewest = min(run.counts(up)[0] for run in runs)
    points = [
        point
        for point in (one.of_task(task.name)[0] for one in line)
        if not not_alike(before, point, up) and _LEAST * point.counts(up)[0] > fewest
    ]
    if len(points) < FEWEST:
        form = "the curve has {n} temperatures, and needs {least}"
        return BesideLine(
            task, reason=translatable(form, n=len(points), least=FEWEST)
        )
    return _beside(task, runs, points)


def _beside(
    task: type[Task], runs: Sequence[RunResult], points: Sequence[RunResult]
) -> BesideLine:
    assert task.curve is not None
    up, across = task.curve
    size = min(run.counts(up)[0] for run in (*runs, *points))
    found = []
    for run in runs if size > 1 else ():
        places = [one.in_plane(up, across, size) for one in (run, *points)]
        if up.per_item:
            common = set.intersection(*map(set, places))
            places = [{key: each[key] for key in sorted(common)} for each in places]
        own, *line = (np.array(list(each.values())) for each in places)
        ends = [float(side[:, 0].mean()) for side in line if len(side)]
        x = float(own[:, 0].mean()) if len(own) else math.nan
        if not (ends and min(ends) <= x <= max(ends) and min(ends) < max(ends)):
            form = "{x} {across}, where the curve has {low} to {high}"
            numbers = {"x": x, "low": min(ends, default=x), "high": max(ends, default=x)}
            shown = {name: number(value, across) for name, value in numbers.items()}
            reason = translatable(form, across=_name(across), **shown)
            return BesideLine(task, reason=reason)
        found.append(above_line(own, line, paired=up.per_item))
    if not found:
        return BesideLine(task, reason=translatable("no {name}", name=_name(across)))
    return BesideLine(task, size, found)


def _name(measure: Measure) -> str:
    return translatable(measure.short.replace("_", " "))
