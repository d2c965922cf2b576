"""Did training cost a model its understanding? A task's control measure before and after, and what can be said."""

from dataclasses import asdict, dataclass
from typing import Any

from sozo.eval.evaluated import not_alike
from sozo.scoring.measure import Estimate, Measure
from sozo.scoring.numbers import interval, number, signed
from sozo.scoring.statistics import compare_paired
from sozo.scoring.statistics.comparison import Comparison
from sozo.tasks.finished import Finished
from sozo.tasks.task import Control

_SHARE = Measure("share", 3, share=True)
KEPT, LOST, OPEN = "kept", "lost", "cannot be said"


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """What came out; `verdict` is KEPT, LOST or OPEN."""

    verdict: str
    own: Estimate  # the model's
    base: Estimate
    change: Comparison | None = None  # from the base, paired; None where they cannot be compared
    reason: str = ""  # why it cannot be said

    def text(self) -> str:
        """In one line: the verdict, the share, the difference in points with its 95% interval, and why it is open."""
        if self.own.mean is None:
            return f"{self.verdict}: {self.reason}"
        figures = number(self.own.mean, _SHARE)
        if self.change and self.change.low is not None:
            ends = interval(self.change.low, self.change.high, _SHARE, signed=True)
            figures += f", {signed(self.change.difference, _SHARE)} {ends}"
        return f"{self.verdict} ({figures}){self.reason and f': {self.reason}'}"

    def to_json(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)


def judge_control(control: Control, base: Finished, model: Finished) -> ControlVerdict:
    """Hold a model's control measure against its base's.

    Kept: the whole 95% interval of the difference is above minus the margin, and the model itself above chance. Lost:
    the whole interval is below minus the margin. Nothing can be said of a base that is not above chance, for it has
    nothing to lose, nor of too few answers.
    """
    before, own = base.estimate(control.measure), model.estimate(control.measure)
    answers = min(len(run.by_answer(control.measure)) for run in (base, model))
    reason = not_alike(base, model) or ""
    if answers < control.least:
        reason = f"{answers} controls, and it takes {control.least}"
    elif not _above_chance(before, control):
        reason = f"the base is not above chance ({control.chance:.1%})"
    if reason:
        return ControlVerdict(OPEN, own, before, None, reason)
    sides = base.by_item(control.measure), model.by_item(control.measure)
    change = compare_paired(*sides)
    if change.low is None:  # all differences are equal, mostly 0: an interval takes what is added to a share's
        change = compare_paired(*sides, share=True)
    if change.low is None or change.high is None:
        return ControlVerdict(OPEN, own, before, change, change.reason or "no interval")
    if change.high < -control.margin:
        return ControlVerdict(LOST, own, before, change)
    if change.low <= -control.margin:
        return ControlVerdict(OPEN, own, before, change, f"a loss of {100 * control.margin:g} points is possible")
    if not _above_chance(own, control):
        return ControlVerdict(OPEN, own, before, change, f"it is not above chance ({control.chance:.1%}) itself")
    return ControlVerdict(KEPT, own, before, change)


def _above_chance(estimate: Estimate, control: Control) -> bool:
    """Whether the whole interval is; without one the mean alone says too little."""
    return estimate.low is not None and estimate.low > control.chance
