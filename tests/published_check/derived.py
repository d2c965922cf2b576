"""One number that a paper derived from its own tables, beside what the printed digits give."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from published_check.rounding import Printed

TOLERANCE = 0.01
DETERMINED_WIDTH = 0.02  # then the value in the middle is within TOLERANCE of every value that rounding allows
_ROUNDING = 1e-9  # of float arithmetic: 3.645 and 3.64 + 0.005 are the same number


class Verdict(StrEnum):
    """How a printed number stands to the recomputed one."""

    AGREES = "agrees"
    WITHIN_ROUNDING = "within rounding"
    DIFFERS = "differs"
    NOT_PRINTED = "not printed"
    CANNOT = "cannot be recomputed"


@dataclass(frozen=True, slots=True)
class Derived:
    """One derived number.

    Attributes:
        table: Where it stands: `ACL 9`, `ACL 4.3.4`, `NLP 2025 9`.
        cell: Which one it is there: `All, fluency`.
        kind: `mean`, `correlation` or `p`.
        source: From which printed numbers it was recomputed, or which are missing.
        printed: The paper's figure with its rounding; None if the paper gives none.
        recomputed: From the digits as they stand; None if they do not stand anywhere.
        low: The lowest value that the rounding of the inputs allows. `high` likewise.
        high: The highest.
        n: Pairs of a correlation.
        ci95: 95% interval of a recomputed correlation: what n models say of others, a question apart.
        why: What else there is to say.
    """

    table: str
    cell: str
    kind: str
    source: str
    printed: Printed | None
    recomputed: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    ci95: tuple[float, float] | None = None
    why: str | None = None

    @property
    def difference(self) -> float | None:
        """Recomputed minus printed."""
        return (
            None
            if self.printed is None or self.recomputed is None
            else self.recomputed - self.printed.value
        )

    @property
    def attainable(self) -> bool | None:
        """Whether some inputs that round to the printed ones give a number that rounds to the printed one."""
        if self.printed is None or self.low is None or self.high is None:
            return None
        return (
            self.low - _ROUNDING <= self.printed.high
            and self.printed.low <= self.high + _ROUNDING
        )

    @property
    def determined(self) -> bool | None:
        """Whether the inputs' rounding leaves it less than `DETERMINED_WIDTH` of room."""
        return (
            None
            if self.low is None or self.high is None
            else self.high - self.low < DETERMINED_WIDTH
        )

    @property
    def verdict(self) -> Verdict:
        """`agrees` within 0.01; else `within rounding` if it is attainable, and `differs` if not.

        >>> Derived("ACL 9", "All, fluency", "correlation", "", Printed(0.916, 0.0005), 0.917, 0.90, 0.93).verdict
        <Verdict.AGREES: 'agrees'>
        """
        if self.recomputed is None:
            return Verdict.CANNOT
        if self.printed is None or self.difference is None:
            return Verdict.NOT_PRINTED
        if abs(self.difference) <= TOLERANCE + _ROUNDING:
            return Verdict.AGREES
        return Verdict.WITHIN_ROUNDING if self.attainable else Verdict.DIFFERS


@dataclass(frozen=True, slots=True)
class Significance:
    """A correlation that a paper marks as significant (p < 0.05, in bold) or not, against its own p-value.

    Attributes:
        table: Where it stands.
        cell: Which one it is there.
        printed: The correlation.
        n: Pairs behind it.
        marked: Whether the paper says p < 0.05.
        p: Of the printed correlation.
        low: The lowest p that the correlation's rounding allows. `high` likewise.
        high: The highest.
    """

    table: str
    cell: str
    printed: Printed
    n: int
    marked: bool
    p: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """`within rounding` where the correlation's rounding leaves both open."""
        if self.low < 0.05 <= self.high:
            return Verdict.WITHIN_ROUNDING
        return Verdict.AGREES if self.marked == (self.p < 0.05) else Verdict.DIFFERS
