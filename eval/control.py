"""Did training cost a model its understanding? A task's control measure before and after, and what can be said."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import interval, number, signed
from sozo.scoring.statistics import compare_paired
from sozo.scoring.statistics.comparison import Comparison
from sozo.scoring.translatable import translatable
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Control

_SHARE = Measure("share", 3, share=True)
_ERRORS = "wrong by both readings"
_MORE_ERRORS = "{points} points more that are wrong by both readings are possible"
KEPT, LOST, OPEN = "kept", "lost", "cannot be said"


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """What came out; `verdict` is KEPT, LOST or OPEN."""

    verdict: str
    own: Estimate  # the model's
    base: Estimate
    change: Comparison | None = None  # from the base, paired; None where they cannot be compared
    errors: Comparison | None = None  # the same of the control's errors; None where nothing was asked for them
    reason: str = ""  # why it cannot be said

    @property
    def figures(self) -> list[tuple[str, str]]:
        """The share with its difference, and that of the errors with their name: points with 95% intervals."""
        if self.own.mean is None:
            return []
        share, errors = (change and _points(change) for change in (self.change, self.errors))
        own = number(self.own.mean, _SHARE) + (f", {share}" if share else "")
        return [("right", own), *([(_ERRORS, errors)] if errors else [])]

    def text(self) -> str:
        """In one line: the verdict, its figures, why it is open."""
        figures = "; ".join(f"{name} {text}" for name, text in self.figures)
        return f"{self.verdict}{figures and f' ({figures})'}{self.reason and f': {self.reason}'}"

    def to_json(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)


def _points(change: Comparison) -> str:
    if change.low is None:
        return ""
    return f"{signed(change.difference, _SHARE)} {interval(change.low, change.high, _SHARE, signed=True)}"


def judge_control(control: Control, base: RunResult, model: RunResult) -> ControlVerdict:
    """Hold a model's control measure against its base's.

    Kept: the whole 95% interval of the difference is above minus the margin, that of the errors below the margin, and
    the model itself above chance. Lost: a whole interval is beyond its margin. Nothing can be said of a base that is
    not above chance, for it has nothing to lose, nor of too few answers.
    """
    before, own = base.estimate(control.measure), model.estimate(control.measure)
    answers = min(len(run.by_answer(control.measure)) for run in (base, model))
    reason = not_alike(base, model) or ""
    if answers < control.least:
        reason = translatable("{n} controls, and it takes {least}", n=answers, least=control.least)
    elif not _above_chance(before, control):
        reason = translatable("the base is not above chance ({chance:.1%})", chance=control.chance)
    if reason:
        return ControlVerdict(OPEN, own, before, None, None, reason)
    change, errors = _change(base, model, control.measure), None
    points = f"{100 * control.margin:g}"
    falls = [(change, translatable("a loss of {points} points is possible", points=points))]
    if control.errors and base.by_item(control.errors):
        errors = _change(base, model, control.errors)
        falls.append((_change(model, base, control.errors), translatable(_MORE_ERRORS, points=points)))
    verdict = partial(ControlVerdict, own=own, base=before, change=change, errors=errors)
    ends = [(fall.low, fall.high, fall.reason or possible) for fall, possible in falls]
    if any(high is not None and high < -control.margin for _, high, _ in ends):
        return verdict(LOST)
    for low, _, reason in ends:
        if low is None or low <= -control.margin:
            return verdict(OPEN, reason=reason)
    if not _above_chance(own, control):
        return verdict(OPEN, reason=translatable("it is not above chance ({chance:.1%}) itself", chance=control.chance))
    return verdict(KEPT)


def _change(base: RunResult, model: RunResult, measure: Measure) -> Comparison:
    sides = base.by_item(measure), model.by_item(measure)
    change = compare_paired(*sides)
    # Where all differences are equal, mostly 0, an interval takes what is added to a share's.
    return compare_paired(*sides, share=True) if change.low is None else change


def _above_chance(estimate: Estimate, control: Control) -> bool:
    """Whether the whole interval is; without one the mean alone says too little."""
    return estimate.low is not None and estimate.low > control.chance
