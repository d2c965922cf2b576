"""What a study claims beforehand that it will show: the measures, the claims, when each was written, its verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field, StrictFloat

from sozo.data.errors import UserError
from sozo.data.record import read_json, write_json
from sozo.data.settings import hint
from sozo.scoring.measure import DIFFERENCE, MEAN, Estimate, Measure
from sozo.scoring.numbers import COUNT, number
from sozo.scoring.statistics.proportions import holm
from sozo.scoring.statistics.seeds import difference, over_seeds
from sozo.scoring.table import Cell
from sozo.studies.study.table11 import Table11Row
from sozo.tasks import task_type
from sozo.tasks.dat.view import INSTRUMENTS, DatView

SCORE = "score"
DIFFERENT = "different words"
SECOND = "second encoder"
SHUFFLED = (
    " shuffled"  # of a measure: what it is of the same words, shuffled among the lists
)
HELD = "held"
FAILED = "failed"
OPEN = "cannot be said"
MOST_CLAIMS = 5
ONE_SIDED = 0.025
Values = Mapping[
    str, Mapping[int, float | None]
]  # of a measure, by arm and seed; None where nobody measured it
_CLAIMS = "claims.json"


@dataclass(frozen=True, slots=True)
class RowMeasure:
    """What is measured of a row: a column of a study's table."""

    heading: str
    sentence: str  # what it says, for somebody new
    measure: Measure  # how a number is written
    # None where nobody measured it
    value: Callable[[Table11Row], Estimate | float | None] = lambda _: None
    kind: str = MEAN  # or DIFFERENCE, if it is one itself

    def show(self, value: float | None) -> str:
        """A number as the page shows it."""
        return number(value, self.measure, self.kind)


def seeds_cell(
    mean: Estimate | None, measure: Measure, kind: str = MEAN, below: Sequence[str] = ()
) -> Cell:
    """A mean over seeds with its 95% interval; how many there are stands elsewhere in a table, and in its files."""
    if mean is None:
        return Cell(below=tuple(below))
    shown = replace(measure.inside(mean, kind), n=0, base_n=None)
    return Cell(shown, measure, kind, below=tuple(below), more={"n": mean.n})


def _instrument(name: str) -> RowMeasure:
    labels = DatView().labels()
    sentence = labels[f"{name}_says"][0].partition(": ")[2]
    sentence = sentence[:1].upper() + sentence[1:]
    return RowMeasure(
        labels[name][0],
        sentence,
        INSTRUMENTS[name],
        lambda row: row.summary.instruments.get(name),
    )


def _gain(number: int) -> Callable[[Table11Row], Estimate | None]:
    return lambda row: row.gains[number]


def _gain_part(name: str) -> Callable[[Table11Row], Estimate | None]:
    """Of a part of the second encoder's gain."""
    return lambda row: getattr(row.parts, name) if row.parts else None


DEVIATIONS = Measure("deviations", 2, unit="sd")
MEASURES = {
    "usable": RowMeasure(
        "Usable",
        "Share of the answers that are ten different nouns.",
        Measure("usable", share=True),
        lambda row: row.summary.usable_share,
    ),
    SCORE: RowMeasure(
        "Mean",
        "DAT score of the usable answers, 0 to 2: how far apart the ten words of a list are for the encoder.",
        Measure("score"),
        lambda row: row.summary.score,
    ),
    DIFFERENT: RowMeasure(
        "Different words",
        "Different words in equally many usable answers of every row.",
        COUNT,
        lambda row: row.equal_size_words,
    ),
    "pairing": _instrument("pairing"),
    "categories": _instrument("categories"),
    f"categories{SHUFFLED}": _instrument("categories_shuffled"),
    "domains": _instrument("domains"),
    f"domains{SHUFFLED}": _instrument("domains_shuffled"),
    "glued words": _instrument("glued_share"),
    "gain": RowMeasure(
        "Gain",
        "The mean minus the base's of the same seed, in standard deviations of the base's scores.",
        DEVIATIONS,
        _gain(0),
        kind=DIFFERENCE,
    ),
    SECOND: RowMeasure(
        "Gain by the second encoder",
        "The same gain by an encoder that no arm was trained on. A choice of words can raise it too.",
        DEVIATIONS,
        _gain(1),
        kind=DIFFERENCE,
    ),
    f"{SECOND}{SHUFFLED}": RowMeasure(
        "The same, words shuffled among the lists",
        "What would be left of the gain by the second encoder if the words of the arm were shuffled among its lists.",
        DEVIATIONS,
        _gain_part("shuffled"),
        kind=DIFFERENCE,
    ),
    "second encoder pairing": RowMeasure(
        "Pairing by the centred second encoder",
        "What pairing gains by the second encoder's vectors without their mean: no choice of words can raise it.",
        DEVIATIONS,
        _gain_part("pairing"),
        kind=DIFFERENCE,
    ),
    "known pairs": RowMeasure(
        "Pairs that the second encoder knows",
        "Share of the pairs of words of a list for which the second encoder has both vectors.",
        Measure("known", share=True),
        lambda row: row.parts.known_pairs if row.parts else None,
    ),
}


def measured(name: str) -> RowMeasure:
    """One of MEASURES, or a control task's measure, such as `sentences/usable`."""
    if name in MEASURES:
        return MEASURES[name]
    return RowMeasure(name, "", task_type(name.partition("/")[0]).measure_named(name))


@pydantic.dataclasses.dataclass(
    frozen=True, kw_only=True, config=ConfigDict(extra="forbid")
)
class Difference:
    """One line of a YAML's `exploratory`: how far an arm is from another, or from a number, over the seeds."""

    arm: str
    measure: str  # one of MEASURES, or of a control task
    against: str | StrictFloat = 0.0  # another arm, or a number

    def __post_init__(self) -> None:
        try:
            kind = measured(self.measure).kind
        except UserError:
            raise ValueError(
                f"no measure {self.measure}; there are {', '.join(MEASURES)}, and those of control tasks"
            ) from None
        if self.against == "base" and kind == DIFFERENCE:
            raise ValueError(
                f"{self.title}: {self.measure} is a difference from base already; leave out against: base"
            )

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"exploratory, {self.formula}"

    @property
    def formula(self) -> str:
        """Whose difference, in words: `score of A minus B`."""
        other = (
            self.against
            if isinstance(self.against, str)
            else measured(self.measure).show(self.against)
        )
        return f"{self.measure} of {self.arm}" + (
            f" minus {other}" if self.against else ""
        )

    def interval(self, values: Values, shift: float = 0.0) -> Estimate | str:
        """The difference minus `shift` over the seeds, of `values` of its measure; or why there is none."""
        sides = []
        for name in (self.arm, self.against):
            if isinstance(name, str):
                measured = {
                    seed: value
                    for seed, value in values[name].items()
                    if value is not None
                }
                if len(measured) < len(values[name]):
                    return "a seed has no such number"
                sides.append(measured)
        if isinstance(self.against, str):
            ours, against = sides
            return difference(
                {seed: value - shift for seed, value in ours.items()}, against
            )
        return over_seeds(
            {seed: value - self.against - shift for seed, value in sides[0].items()}
        )


@pydantic.dataclasses.dataclass(
    frozen=True, kw_only=True, config=ConfigDict(extra="forbid")
)
class Claim(Difference):
    """One line of a YAML's `claims`: a difference is at least, or above, a number, or `within` a margin of 0."""

    name: str  # the claim in words
    at_least: StrictFloat | None = None  # one of these three
    above: StrictFloat | None = None
    within: Annotated[StrictFloat, Field(gt=0)] | None = (
        None  # the claim of an equivalence
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self._bounds) != 1:
            raise ValueError(
                f"{self.title}: give one number, at_least, above or within"
            )

    @property
    def _bounds(self) -> dict[str, float]:
        bounds = {"at least": self.at_least, "above": self.above, "within": self.within}
        return {
            relation: bound for relation, bound in bounds.items() if bound is not None
        }

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"claim {self.name!r}"

    @property
    def needs(self) -> str:
        """What must hold, in words."""
        ((relation, bound),) = self._bounds.items()
        sign = "±" * (relation == "within")
        limit = measured(self.measure).show(bound).lstrip("+")
        return f"{self.formula} {relation} {sign}{limit}"

    def chances(self, values: Values) -> tuple[float, float] | None:
        """One-sided p of two t-tests: that it does not hold, and that it holds; None where there is no interval.

        An equivalence does not hold on one of two sides: the larger p of the two counts (Schuirmann, 1987), and for the
        opposite the smaller one.
        """
        ((_, bound),) = self._bounds.items()
        p = _one_sided(self.interval(values, bound))
        if self.within is None or p is None:
            return None if p is None else (p, 1 - p)
        above = _one_sided(self.interval(values, -bound))
        return None if above is None else (max(above, 1 - p), min(1 - above, p))


def _one_sided(interval: Estimate | str) -> float | None:
    """P of the test that a mean is not above 0; None without one."""
    if isinstance(interval, str) or interval.p is None or interval.value is None:
        return None
    return interval.p / 2 if interval.value > 0 else 1 - interval.p / 2


CLAIM_KEYS = [f.name for f in fields(Claim)]


def check_claims(
    claims: Sequence[Claim],
    exploratory: Sequence[Difference],
    arms: Mapping[str, object],
) -> None:
    """Refuse a line about an arm that the study does not have, and more claims than can be shown by few seeds."""
    for line in (*claims, *exploratory):
        for arm in (line.arm, line.against):
            if isinstance(arm, str) and arm not in arms:
                raise UserError(f"{line.title}: no arm {arm}" + hint(arm, arms))
    if len(claims) > MOST_CLAIMS:
        raise UserError(
            f"{len(claims)} claims: at most {MOST_CLAIMS}, since each makes the others harder to show; put the others"
            " under `exploratory`, which shows differences without a verdict"
        )


@dataclass(frozen=True)
class ClaimVerdict:
    """What came out."""

    claim: Claim
    verdict: str  # HELD, FAILED or OPEN
    interval: Estimate | None  # of the difference over seeds, 95%
    p: float | None = (
        None  # that it does not hold: one-sided, corrected by Holm for all claims of the study
    )
    p_opposite: float | None = None  # that it holds, corrected likewise
    reason: str = ""  # why nothing can be said


def judge(claims: Sequence[Claim], values: Mapping[str, Values]) -> list[ClaimVerdict]:
    """Hold all claims of a study against what was measured: measure -> arm -> seed -> value.

    One held if its one-sided p, corrected by Holm for all of them, is at most 2.5%: then its 95% interval lies beyond
    the bound, too. It failed if the p of the opposite, corrected likewise, is. Else it cannot be said.
    """
    chances = [claim.chances(values[claim.measure]) for claim in claims]
    corrected = [
        holm([1.0 if pair is None else pair[side] for pair in chances])
        for side in (0, 1)
    ]
    return [
        _verdict(
            claim,
            claim.interval(values[claim.measure]),
            (None, None) if pair is None else both,
        )
        for claim, pair, *both in zip(claims, chances, *corrected, strict=True)
    ]


def _verdict(
    claim: Claim, interval: Estimate | str, both: Sequence[float | None]
) -> ClaimVerdict:
    if isinstance(interval, str):
        return ClaimVerdict(claim, OPEN, None, reason=interval)
    p, opposite = both
    if p is None or opposite is None or interval.low is None:
        return ClaimVerdict(claim, OPEN, interval, reason=interval.reason or "")
    verdict = HELD if p <= ONE_SIDED else FAILED if opposite <= ONE_SIDED else OPEN
    return ClaimVerdict(claim, verdict, interval, p, opposite)


def note_claims(folder: Path, claims: Sequence[Claim]) -> None:
    """Write down those claims that are new, with the time and how many steps were finished by then."""
    noted = _noted(folder)
    known = [entry["claim"] for entry in noted]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    finished = len(list(folder.glob("*/metrics.json")))
    new = [
        {"claim": asdict(c), "since": now, "finished": finished}
        for c in claims
        if asdict(c) not in known
    ]
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
    return (
        list(read_json(folder / _CLAIMS)["claims"])
        if (folder / _CLAIMS).is_file()
        else []
    )
