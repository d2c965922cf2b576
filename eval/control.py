"""Did training cost a model its understanding? A task's control measure before and after, and what can be said."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import interval, number, signed
from sozo.scoring.statistics import compare_paired
from sozo.scoring.statistics.comparison import Comparison
from sozo.tasks.finished import Finished
from sozo.tasks.task import Control

_SHARE = Measure("share", 3, share=True)
_ERRORS = "wrong by both readings"
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

    def text(self) -> str:
        """In one line: the verdict, the share, the differences in points with their 95% intervals, why it is open."""
        if self.own.mean is None:
            return f"{self.verdict}: {self.reason}"
        figures = number(self.own.mean, _SHARE)
        for change, name in ((self.change, ", "), (self.errors, f"; {_ERRORS} ")):
            if change and change.low is not None:
                ends = interval(change.low, change.high, _SHARE, signed=True)
                figures += f"{name}{signed(change.difference, _SHARE)} {ends}"
        return f"{self.verdict} ({figures}){self.reason and f': {self.reason}'}"

    def to_json(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)


def judge_control(control: Control, base: Finished, model: Finished) -> ControlVerdict:
    """Hold a model's control measure against its base's.

    Kept: the whole 95% interval of the difference is above minus the margin, that of the errors below the margin, and
    the model itself above chance. Lost: a whole interval is beyond its margin. Nothing can be said of a base that is
    not above chance, for it has nothing to lose, nor of too few answers.
    """
    before, own = base.estimate(control.measure), model.estimate(control.measure)
    answers = min(len(run.by_answer(control.measure)) for run in (base, model))
    reason = not_alike(base, model) or ""
    if answers < control.least:
        reason = f"{answers} controls, and it takes {control.least}"
    elif not _above_chance(before, control):
        reason = f"the base is not above chance ({control.chance:.1%})"
    if reason:
        return ControlVerdict(OPEN, own, before, None, None, reason)
    change, errors = _change(base, model, control.measure), None
    points = f"{100 * control.margin:g} points"
    falls = [(change, f"a loss of {points} is possible")]
    if control.errors and base.by_item(control.errors):
        errors = _change(base, model, control.errors)
        falls.append((_change(model, base, control.errors), f"{points} more that are {_ERRORS} are possible"))
    said = partial(ControlVerdict, own=own, base=before, change=change, errors=errors)
    ends = [(fall.low, fall.high, fall.reason or possible) for fall, possible in falls]
    if any(high is not None and high < -control.margin for _, high, _ in ends):
        return said(LOST)
    for low, _, reason in ends:
        if low is None or low <= -control.margin:
            return said(OPEN, reason=reason)
    if not _above_chance(own, control):
        return said(OPEN, reason=f"it is not above chance ({control.chance:.1%}) itself")
    return said(KEPT)


def _change(base: Finished, model: Finished, measure: Measure) -> Comparison:
    sides = base.by_item(measure), model.by_item(measure)
    change = compare_paired(*sides)
    # Where all differences are equal, mostly 0, an interval takes what is added to a share's.
    return compare_paired(*sides, share=True) if change.low is None else change


def _above_chance(estimate: Estimate, control: Control) -> bool:
    """Whether the whole interval is; without one the mean alone says too little."""
    return estimate.low is not None and estimate.low > control.chance
