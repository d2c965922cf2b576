"""A named value of an answer, an estimate of its mean, what the tasks' summaries share, and how numbers are read."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

DASH = "–"
Ends = tuple[float | None, float | None]  # of an interval; None where there is none
_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Measure:
    """A named value of an answer, and how its mean is shown and compared.

    >>> Measure("jcq/fluency").task, Measure("jcq/fluency").short, Measure("sat").short
    ('jcq', 'fluency', 'sat')
    """

    name: str  # `TASK` for a task's first measure, `TASK/SHORT` for the others; the same name everywhere
    digits: int = 4  # decimals
    share: bool = False  # a share, shown in percent
    per_item: bool = True  # resampled over items, and paired by them; else over answers, which have no partners
    better: int = 1  # 1 if more is better, -1 if less is, 0 if neither
    group: str | None = "changes"  # the table of changes in which it stands; None for one that is only correlated
    paper: str = ""  # its column in the papers' tables; by default the last part of its name

    @property
    def task(self) -> str:
        """The task's name: what stands before the slash."""
        return self.name.partition("/")[0]

    @property
    def short(self) -> str:
        """Its name within its task: what follows the slash."""
        return self.name.partition("/")[2] or self.name


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean beside what it rests on."""

    mean: float | None  # none where nothing has a value
    low: float | None  # lower end of its 95% interval; None where there is none
    high: float | None  # upper end
    n: int  # how many have a value
    of: int  # of how many


@dataclass(frozen=True, slots=True)
class Summary:
    """Base of a task's row in the paper's tables, which is the content of its `metrics.json`; it has a `ci95`."""

    def to_json(self) -> dict[str, Any]:
        """As it is read back: JSON knows no tuples."""
        values = asdict(self)
        return values | {"ci95": values["ci95"] and list(values["ci95"])}

    @classmethod
    def from_json(cls, metrics: Mapping[str, Any]) -> Self:
        """The summary that `to_json` wrote; what stands beside it in `metrics.json` is left alone.

        What has a default may be missing: it was not measured then.
        """
        own = {field.name: metrics[field.name] for field in fields(cls) if field.name in metrics}
        return cls(**{**own, "ci95": own["ci95"] and tuple(own["ci95"])})


def normal_interval(mean: float | None, std: float | None, n: int) -> tuple[float, float] | None:
    """The normal 95% interval of a mean, mean -+ 1.96 std / sqrt(n); None where there is no deviation."""
    if mean is None or std is None:
        return None
    margin = _Z95 * std / math.sqrt(n)
    return mean - margin, mean + margin


def t_interval(mean: float | None, std: float | None, n: int) -> tuple[float, float] | None:
    """Student's 95% interval of a mean of n values, mean -+ t std / sqrt(n); None where there is no deviation.

    >>> [round(end, 3) for end in t_interval(2.0, 1.0, 3)]
    [-0.484, 4.484]
    """
    if mean is None or std is None or n < 2:
        return None
    from scipy.special import stdtrit

    margin = float(stdtrit(n - 1, 0.975)) * std / math.sqrt(n)
    return mean - margin, mean + margin


@dataclass(frozen=True, slots=True)
class Cell:
    """What a reader sees in one place of a table."""

    value: str  # the number, or a dash
    small: tuple[str, ...] = ()  # lines below it: its 95% interval, what it rests on (n of N)
    paper: str = ""  # the paper's figure
    change: str = ""  # the difference from the base model with its interval
    mark: str = (
        ""  # of a significant difference `up` or `down`; and, if it is not negligible, `good` or `bad`, and how much
    )
    heat: float | None = None  # the number, where the table is a heat map
    hover: str = ""  # what stands behind the number of a heat map: intervals
    why: str = ""  # why there is no number: a label or a text
    # The same with all digits, shares from 0 to 1: `value`, `low`, `high`, `n`, `of` and what else it has, by its name.
    exact: Mapping[str, float | str] = field(default_factory=dict)


def number(value: float | None, measure: Measure) -> str:
    """A measure's value; a dash for none.

    >>> number(0.5, Measure("a", share=True)), number(0.5, Measure("b", digits=2)), number(None, Measure("c"))
    ('50.00%', '0.50', '–')
    """
    if value is None:
        return DASH
    return f"{value:.2%}" if measure.share else f"{value:.{measure.digits}f}"


def ends_text(ends: Ends | None, measure: Measure) -> str:
    """An interval; nothing where there is none."""
    return "" if ends is None or None in ends else f"{number(ends[0], measure)} – {number(ends[1], measure)}"


def estimate_text(measure: Measure, estimate: Estimate) -> str:
    """An estimate in one line of the terminal's table.

    >>> estimate_text(Measure("a", 2), Estimate(0.5, 0.4, 0.6, n=3, of=4))
    '0.50 (0.40 – 0.60), 3 of 4'
    """
    interval = ends_text((estimate.low, estimate.high), measure)
    return f"{number(estimate.mean, measure)}{interval and f' ({interval})'}, {estimate.n:,} of {estimate.of:,}"


def mean_cell(
    value: float | None, measure: Measure, ends: Ends | None = None, counts: tuple[int, int] | None = None
) -> Cell:
    """A measure's value with its interval and its n of N, if it has them, below it.

    >>> cell = mean_cell(0.5, Measure("a", 2), (0.4, 0.6), (3, 4))
    >>> cell.small, cell.exact
    (('0.40 – 0.60', '3 / 4'), {'value': 0.5, 'low': 0.4, 'high': 0.6, 'n': 3, 'of': 4})
    """
    low, high = ends or (None, None)
    n, of = counts or (None, None)
    small = filter(None, (ends_text(ends, measure), n_of(*counts) if counts else ""))
    exact = known(value=value, low=low, high=high, n=n, of=of)
    return Cell(number(value, measure), tuple(small), exact=exact)


def count_cell(count: float | None, *small: str) -> Cell:
    """How many; `small` below it.

    >>> count_cell(1234).value
    '1,234'
    """
    return Cell(DASH if count is None else f"{count:,.0f}", small, exact=known(value=count))


def share_cell(part: int, total: int) -> Cell:
    """A share in percent, and n of N below it.

    >>> share_cell(1, 4).value, share_cell(1, 4).small
    ('25.00%', ('1 / 4',))
    """
    value = part / total if total else None
    return Cell(percent(part, total), (n_of(part, total),), exact=known(value=value, n=part, of=total))


def known(**numbers: float | str | None) -> dict[str, float | str]:
    """What is not None."""
    return {name: value for name, value in numbers.items() if value is not None}


def n_of(part: int, total: int) -> str:
    """n of N, in a cell."""
    return f"{part:,} / {total:,}"


def percent(part: int, total: int) -> str:
    """`part` of `total` in percent, a dash of nothing."""
    return f"{part / total:.2%}" if total else DASH
