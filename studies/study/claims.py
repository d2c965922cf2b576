"""What a study claims beforehand that it will show: the claims, whether each was written before, its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field, StrictFloat

from sozo.data.errors import UserError
from sozo.data.record import read_json, write_json
from sozo.data.settings import hint
from sozo.scoring.measure import DIFFERENCE, Estimate
from sozo.scoring.numbers import number
from sozo.scoring.statistics.proportions import holm
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.scoring.table import Cell
from sozo.studies.study.table11 import MEASURES, RowMeasure
from sozo.tasks import task_type

HELD = "held"
FAILED = "failed"
OPEN = "cannot be said"
ONE_SIDED = 0.025
# Of a measure, by arm and seed; None where nobody measured it.
Values = Mapping[str, Mapping[str, float | None]]
_CLAIMS = "claims.json"


def measured(name: str) -> RowMeasure:
    """One of MEASURES, or a control task's measure, such as `sentences/usable`; a UserError for any other."""
    if name in MEASURES:
        return MEASURES[name]
    task, slash, _ = name.partition("/")
    if not slash:
        raise UserError(
            f"no measure {name}; there are {', '.join(MEASURES)}, and those of control tasks"
        )
    return RowMeasure(task_type(task).measure_named(name), name)


@pydantic.dataclasses.dataclass(
    frozen=True, kw_only=True, config=ConfigDict(extra="forbid")
)
class Difference:
    """One line of a YAML's `exploratory`: what an arm has, or how far it is from another, over the seeds."""

    name: str = "exploratory"
    arm: str
    measure: str  # one of MEASURES, or of a control task
    against: str | None = None  # another arm

    @property
    def formula(self) -> str:
        """Whose difference, in words: `score of A minus B`."""
        of = f"{self.measure} of {self.arm}"
        return f"{of} minus {self.against}" if self.against else of

    @property
    def needs(self) -> str:
        """What must hold, in words; of what is exploratory nothing must."""
        return self.formula

    def interval(self, values: Values, shift: float = 0.0) -> Estimate:
        """The difference minus `shift` over the seeds, of `values` of its measure; or why there is none."""
        sides = [values[arm] for arm in (self.arm, self.against) if arm]
        known = [{k: v for k, v in side.items() if v is not None} for side in sides]
        if known != sides:
            return Estimate(reason="a seed has no such number")
        ours = {seed: value - shift for seed, value in known[0].items()}
        return difference(ours, known[1]) if known[1:] else over_seeds(ours)


@pydantic.dataclasses.dataclass(
    frozen=True, kw_only=True, config=ConfigDict(extra="forbid")
)
class Claim(Difference):
    """One line of a YAML's `claims`: a difference is at least, or above, a number, or `within` a margin of 0."""

    name: str  # the claim in words
    at_least: StrictFloat | None = None  # one of these three
    above: StrictFloat | None = None
    # The claim of an equivalence.
    within: Annotated[StrictFloat, Field(gt=0)] | None = None

    def __post_init__(self) -> None:
        if [self.at_least, self.above, self.within].count(None) != 2:
            raise ValueError("give one number, at_least, above or within")

    @property
    def _bound(self) -> tuple[str, float]:
        named = {
            "at least ": self.at_least,
            "above ": self.above,
            "within ±": self.within,
        }
        ((how, at),) = ((how, at) for how, at in named.items() if at is not None)
        return how, at

    @property
    def needs(self) -> str:
        """What must hold, in words."""
        relation, bound = self._bound
        known = measured(self.measure)
        written = number(bound, known.measure, known.kind).lstrip("+")
        return f"{self.formula} {relation}{written}"

    def chance(self, values: Values) -> float | None:
        """One-sided p of a t-test that it does not hold; None where there is no interval.

        An equivalence does not hold on one of two sides: the larger p of the two counts (Schuirmann, 1987).
        """
        _, bound = self._bound
        chances = []
        for limit, sign in ((-bound, 1), (bound, -1)) if self.within else ((bound, 1),):
            found = self.interval(values, limit)
            if found.p is None or found.value is None:
                return None
            beyond = sign * found.value > 0
            chances.append(found.p / 2 if beyond else 1 - found.p / 2)
        return max(chances)


CLAIM_KEYS = [f.name for f in fields(Claim)]


def check_claims(
    claims: Sequence[Claim],
    exploratory: Sequence[Difference],
    arms: Mapping[str, object],
) -> None:
    """Refuse a line about a measure that there is not, or about an arm that the study does not have."""
    for line in (*claims, *exploratory):
        measured(line.measure)
        for arm in (line.arm, line.against):
            if arm and arm not in arms:
                raise UserError(f"{line.formula}: no arm {arm}" + hint(arm, arms))


@dataclass(frozen=True)
class ClaimVerdict:
    """What came out."""

    claim: Difference
    interval: Estimate  # of the difference over seeds, 95%; or why there is none
    verdict: str = ""  # HELD, FAILED or OPEN; of what is exploratory nothing
    p: float | None = None  # that it does not hold, by Holm for the study's claims
    p_opposite: float | None = None  # that it holds, corrected likewise

    @property
    def cell(self) -> Cell:
        """The difference, of how many seeds, and why it has no interval."""
        known, reason = measured(self.claim.measure), self.interval.reason
        kind = DIFFERENCE if self.claim.against else known.kind
        found = known.measure.inside(self.interval, kind)
        return Cell(found, known.measure, kind, below=(reason,) if reason else ())


def judge(claims: Sequence[Claim], values: Mapping[str, Values]) -> list[ClaimVerdict]:
    """Hold all claims of a study against what was measured: measure -> arm -> seed -> value.

    One held if its one-sided p, corrected by Holm for all of them, is at most 2.5%: then its 95% interval lies beyond
    the bound, too. It failed if the p of the opposite, corrected likewise, is. Else it cannot be said.
    """
    chances = [claim.chance(values[claim.measure]) for claim in claims]
    # One that nobody could test counts as one of them, too.
    held, failed = (
        [p or 0.0 for p in holm([1.0 if p is None else abs(p - side) for p in chances])]
        for side in (0, 1)
    )
    verdicts = []
    for claim, chance, p, opposite in zip(claims, chances, held, failed, strict=True):
        found = claim.interval(values[claim.measure])
        said = HELD if p <= ONE_SIDED else FAILED if opposite <= ONE_SIDED else OPEN
        tested = [] if chance is None else [p, opposite]
        verdicts.append(ClaimVerdict(claim, found, said, *tested))
    return verdicts


def note_claims(folder: Path, claims: Sequence[Difference]) -> None:
    """Write down what is claimed, as long as no step is finished."""
    if claims and not any(folder.glob("*/metrics.json")):
        write_json(folder / _CLAIMS, {"claims": list(map(repr, claims))})


def when_noted(folder: Path, claim: Difference) -> str:
    """When a claim was written down, in words; one that was changed since is a new one."""
    path = folder / _CLAIMS
    known = read_json(path)["claims"] if path.is_file() else ()
    return "before the first run" if repr(claim) in known else "later"
