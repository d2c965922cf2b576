"""What a study says beforehand that it will show, and whether it did."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import hint
from sozo.scoring.statistics.seeds import SeedInterval, difference, over_seeds
from study.measures import MEASURES

HELD, FAILED, OPEN = "held", "failed", "cannot be said"
Values = Mapping[str, Mapping[int, float | None]]  # of a measure, by arm and seed


@dataclass(frozen=True)
class Claim:
    """One line of a YAML's `claims`: over the seeds an arm is at least, or above, so far from another or a number."""

    name: str  # the claim in words
    arm: str
    measure: str  # one of MEASURES
    against: str | float = 0.0  # another arm, or a number
    at_least: float | None = None  # of the difference; this or `above`
    above: float | None = None

    @property
    def asked(self) -> str:
        """What must hold, in words."""
        measure, bound = MEASURES[self.measure], self.above if self.at_least is None else self.at_least
        to = f" minus {self.against}" if isinstance(self.against, str) else f" minus {measure.show(self.against)}"
        by = f"{'above' if self.at_least is None else 'at least'} {measure.show(bound)}"
        return f"{self.measure} of {self.arm}{to if self.against else ''} {by}"


@dataclass(frozen=True)
class Verdict:
    """What came out."""

    claim: Claim
    verdict: str  # HELD, FAILED or OPEN
    interval: SeedInterval | None  # of the difference over seeds
    reason: str = ""  # why nothing can be said


def read_claims(given: Any, arms: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims of a YAML; what cannot be judged later is refused."""
    if not isinstance(given, list):
        raise UserError("claims must be a list of lines such as {name: more words, arm: A, measure: mean, above: 0.9}")
    known, claims = [f.name for f in fields(Claim)], []
    for values in given:
        if not isinstance(values, dict) or set(values) - set(known):
            raise UserError(f"claim {values}: takes {', '.join(known)}")
        where = f"claim {values.get('name')!r}: "
        if missing := [key for key in known[:3] if not isinstance(values.get(key), str)]:
            raise UserError(f"{where}{missing[0]} is missing")
        claim = Claim(**values)
        for arm in (claim.arm, claim.against):
            if isinstance(arm, str) and arm not in arms:
                raise UserError(f"{where}no arm {arm}" + hint(arm, arms))
        if claim.measure not in MEASURES:
            raise UserError(f"{where}no measure {claim.measure}; there are {', '.join(MEASURES)}")
        bounds = [bound for bound in (claim.at_least, claim.above) if bound is not None]
        if len(bounds) != 1 or not all(isinstance(n, int | float) for n in bounds):
            raise UserError(f"{where}give one number, at_least or above")
        claims.append(claim)
    return tuple(claims)


def judge(claim: Claim, values: Values) -> Verdict:
    """Hold a claim against the interval over seeds of the difference: all beyond the bound, all short of it, or not."""
    sides = [values[name] for name in (claim.arm, claim.against) if isinstance(name, str)]
    given = [{seed: value for seed, value in side.items() if value is not None} for side in sides]
    if any(len(kept) < len(side) for kept, side in zip(given, sides, strict=True)):
        return Verdict(claim, OPEN, None, "a seed has no such number")
    if isinstance(claim.against, str):
        interval = difference(*given)
    else:
        interval = over_seeds({seed: value - claim.against for seed, value in given[0].items()})
    low, high = interval.low, interval.high
    if low is None or high is None:
        return Verdict(claim, OPEN, interval, interval.reason)
    if claim.at_least is not None:
        held, failed = low >= claim.at_least, high < claim.at_least
    else:
        assert claim.above is not None
        held, failed = low > claim.above, high <= claim.above
    if held or failed:
        return Verdict(claim, HELD if held else FAILED, interval)
    return Verdict(claim, OPEN, interval, "the interval reaches to both sides")
