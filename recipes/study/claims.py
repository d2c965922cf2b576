"""What a study claims beforehand that it will show: the measures, the claims, when each was written, its verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import pydantic
from pydantic import ConfigDict, StrictFloat

from sozo.data.errors import UserError
from sozo.data.record import read_json, write_json
from sozo.data.settings import hint
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import COUNT, number
from sozo.scoring.statistics.means import Interval
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.scoring.table import Cell
from sozo.tasks.dat.instrument_cells import MEASURES as INSTRUMENTS
from sozo.tasks.dat.table11 import Table11Row
from sozo.tasks.dat.view import DatView

MEAN, UNIQUE, GUARD = "mean", "unique words", "guard"
HELD, FAILED, OPEN = "held", "failed", "cannot be said"
Values = Mapping[str, Mapping[int, float | None]]  # of a measure, by arm and seed; None where nobody measured it
_CLAIMS = "claims.json"


@dataclass(frozen=True, slots=True)
class RowMeasure:
    """What is measured of a row: a column of a study's table."""

    heading: str
    sentence: str  # what it says, for somebody new
    measure: Measure  # how a number is written
    value: Callable[[Table11Row], float | None]  # None where nobody measured it
    signed: bool = False  # whether it is a difference itself

    def show(self, value: float | None) -> str:
        """A number as the page shows it."""
        return number(value, self.measure, signed=self.signed)

    def cell(self, interval: Interval | None, *, signed: bool = False, below: Sequence[str] = ()) -> Cell:
        """A mean over seeds with its 95% interval; `signed` if it is a difference."""
        if interval is None:
            return Cell(below=tuple(below))
        ends, seeds = (interval.low, interval.high), {"n": interval.n}
        return Cell(interval.mean, self.measure, *ends, signed=signed or self.signed, below=tuple(below), more=seeds)


def _instrument(name: str) -> RowMeasure:
    labels = DatView().labels()
    sentence = labels[f"{name}_says"][0].partition(": ")[2]
    sentence = sentence[:1].upper() + sentence[1:]
    return RowMeasure(labels[name][0], sentence, INSTRUMENTS[name], lambda row: row.summary.instruments.get(name))


def _gain(number: int) -> Callable[[Table11Row], float | None]:
    return lambda row: gain.deviations if (gain := row.gains[number]) else None


_DEVIATIONS = Measure("deviations", 2)
MEASURES = {
    "valid": RowMeasure(
        "Valid",
        "Share of the responses that are ten different nouns.",
        Measure("valid", share=True),
        lambda row: row.summary.valid_rate,
    ),
    MEAN: RowMeasure(
        "Mean",
        "DAT score of the valid responses, 0 to 2: how far apart the ten words of a list are for the encoder.",
        Measure("mean"),
        lambda row: row.summary.mean,
    ),
    UNIQUE: RowMeasure(
        "Unique words",
        "Different words in equally many valid responses of every row.",
        COUNT,
        lambda row: row.equal_size_words,
    ),
    "combination": _instrument("combination"),
    "categories": _instrument("categories"),
    "glued words": _instrument("glued_share"),
    "gain": RowMeasure(
        "Gain",
        "The mean minus the base's of the same seed, in standard deviations of the base's scores.",
        _DEVIATIONS,
        _gain(0),
        signed=True,
    ),
    GUARD: RowMeasure(
        "Gain by the guard",
        "The same gain by an encoder that no arm was trained on. A choice of words can raise it too.",
        _DEVIATIONS,
        _gain(1),
        signed=True,
    ),
}


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Claim:
    """One line of a YAML's `claims`: over the seeds an arm is at least, or above, so far from another or a number."""

    name: str  # the claim in words
    arm: str
    measure: str  # one of MEASURES
    against: str | StrictFloat = 0.0  # another arm, or a number
    at_least: StrictFloat | None = None  # of the difference; this or `above`
    above: StrictFloat | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise ValueError(f"claim {self.name!r}: no measure {self.measure}; there are {', '.join(MEASURES)}")
        if (self.at_least is None) == (self.above is None):
            raise ValueError(f"claim {self.name!r}: give one number, at_least or above")

    @property
    def needs(self) -> str:
        """What must hold, in words."""
        measure, bound = MEASURES[self.measure], self.above if self.at_least is None else self.at_least
        other = self.against if isinstance(self.against, str) else measure.show(self.against)
        minus = f" minus {other}" if self.against else ""
        relation = "above" if self.at_least is None else "at least"
        return f"{self.measure} of {self.arm}{minus} {relation} {measure.show(bound)}"


CLAIM_KEYS = [f.name for f in fields(Claim)]


def check_arms(claims: Sequence[Claim], arms: Mapping[str, object]) -> None:
    """Refuse a claim about an arm that the study does not have."""
    for claim in claims:
        for arm in (claim.arm, claim.against):
            if isinstance(arm, str) and arm not in arms:
                raise UserError(f"claim {claim.name!r}: no arm {arm}" + hint(arm, arms))


@dataclass(frozen=True)
class ClaimVerdict:
    """What came out."""

    claim: Claim
    verdict: str  # HELD, FAILED or OPEN
    interval: Interval | None  # of the difference over seeds
    reason: str = ""  # why nothing can be said


def judge(claim: Claim, values: Values) -> ClaimVerdict:
    """Hold a claim against the interval over seeds of the difference: all beyond the bound, all short of it, or not."""
    sides = []
    for name in (claim.arm, claim.against):
        if isinstance(name, str):
            measured = {seed: value for seed, value in values[name].items() if value is not None}
            if len(measured) < len(values[name]):
                return ClaimVerdict(claim, OPEN, None, "a seed has no such number")
            sides.append(measured)
    if isinstance(claim.against, str):
        interval = difference(*sides)
    else:
        interval = over_seeds({seed: value - claim.against for seed, value in sides[0].items()})
    low, high = interval.low, interval.high
    if low is None or high is None:
        return ClaimVerdict(claim, OPEN, interval, interval.reason or "")
    if claim.at_least is not None:
        held, failed = low >= claim.at_least, high < claim.at_least
    else:
        assert claim.above is not None
        held, failed = low > claim.above, high <= claim.above
    if held or failed:
        return ClaimVerdict(claim, HELD if held else FAILED, interval)
    return ClaimVerdict(claim, OPEN, interval, "the interval reaches to both sides")


def note_claims(folder: Path, claims: Sequence[Claim]) -> None:
    """Write down those claims that are new, with the time and how many steps were finished by then."""
    noted = _noted(folder)
    known = [entry["claim"] for entry in noted]
    now, finished = datetime.now(UTC).isoformat(timespec="seconds"), len(list(folder.glob("*/metrics.json")))
    new = [{"claim": asdict(c), "since": now, "finished": finished} for c in claims if asdict(c) not in known]
    if new:
        write_json(folder / _CLAIMS, {"claims": [*noted, *new]})


def when_noted(folder: Path, claim: Claim) -> str:
    """When a claim was first written down, in words; one that was changed since is a new one."""
    for entry in _noted(folder):
        if entry["claim"] == asdict(claim):
            if not entry["finished"]:
                return "before the first run"
            return f"{entry['since'][:16].replace('T', ' ')} UTC, when {entry['finished']} steps were finished"
    return "not written down before"


def _noted(folder: Path) -> list[dict]:
    return list(read_json(folder / _CLAIMS)["claims"]) if (folder / _CLAIMS).is_file() else []
