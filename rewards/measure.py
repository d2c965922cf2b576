"""A named value of an answer, and an estimate of its mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """A named value of an answer, and how its mean is shown and compared.

    Args:
        name: `TASK` for a task's first measure, `TASK/SHORT` for the others; the same name everywhere.
        digits: Decimals.
        share: A share, shown in percent.
        per_item: Resampled over items, and paired by them between models; else over answers, which have no partners.
        better: 1 if more is better, -1 if less is, 0 if neither.
        group: The table of changes in which it stands; None for one that is only correlated.
        paper: Its column in the papers' tables; by default the last part of its name.
    """

    name: str
    digits: int = 4
    share: bool = False
    per_item: bool = True
    better: int = 1
    group: str | None = "changes"
    paper: str = ""

    @property
    def task(self) -> str:
        """The task's name: what stands before the slash."""
        return self.name.partition("/")[0]

    @property
    def short(self) -> str:
        """Its name within its task: what follows the slash.

        >>> Measure("jcq/fluency").short, Measure("sat").short
        ('fluency', 'sat')
        """
        return self.name.partition("/")[2] or self.name


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean beside what it rests on."""

    mean: float | None  # none where nothing has a value
    low: float | None  # lower end of its 95% interval; None where there is none
    high: float | None  # upper end
    n: int  # how many have a value
    of: int  # of how many
