"""A named value of an answer, an estimate of its mean, and the intervals of means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

DASH = "–"
LEVEL = 0.95  # coverage of intervals unless another level is asked for
Z95 = 1.959963984540054  # of a normal 95% interval
FEWEST = 3  # values: of fewer there is no interval
# Kinds of numbers; no difference is 0, and a ratio of 1
MEAN = "mean"
DIFFERENCE = "difference"
RATIO = "ratio"


@dataclass(frozen=True, slots=True)
class Measure:
    """A named value of an answer, and how its mean is shown and compared.

    >>> Measure("jcq/fluency").task, Measure("jcq/fluency").short, Measure("sat").short
    ('jcq', 'fluency', 'sat')
    """

    name: str  # `TASK` for a task's first measure, `TASK/SHORT` for the others; the same name everywhere
    digits: int = 4  # decimals
    unit: str = ""  # of its values, where they are no scores: `words`, `sd` (standard deviations of the base's scores)
    # A share of answers, shown in percent: each has 0 or 1, and the intervals are those of counts. A fraction that an
    # answer has by itself is no share; `scale=(0, 1)` is for it.
    share: bool = False
    together: bool = False  # an answer has it only among the other answers to its item (`Task.score_together`)
    per_item: bool = True  # resampled over items, and paired by them; else over answers, which have no partners
    better: int = 1  # 1 if more is better, -1 if less is, 0 if neither
    compared: bool = True  # between models; else it is only correlated
    ratio: bool = False  # whether models are compared by the ratio model / base, shown in percent more or less
    # The least and the most it can be; of a share 0 and 1
    scale: tuple[float, float] | None = None
    # The kinds of items (`Item.group`) that it is about; empty for all
    kinds: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """The task's name: what stands before the slash."""
        return self.name.partition("/")[0]

    @property
    def short(self) -> str:
        """Its name within its task: what follows the slash."""
        return self.name.partition("/")[2] or self.name

    def by(self, judge: str) -> "Measure":
        """It by a further judge, under a name of its own.

        >>> Measure("jcq/mean").by("j").short
        'mean by j'
        """
        return replace(self, name=f"{self.name} by {judge}")

    @property
    def needs_scorer(self) -> bool:
        """Whether somebody scores it; of `TASK/complete` nobody does: whether an answer came to its end.

        >>> Measure("jcq").needs_scorer, Measure("jcq/complete").needs_scorer
        (True, False)
        """
        return not self.name.endswith("/complete")

    def inside(self, estimate: "Estimate", kind: str) -> "Estimate":
        """An estimate of it with an interval that does not leave its scale, or that of its differences.

        >>> share = Measure("a", share=True).inside(Estimate(0.9, -0.1, 1.2), MEAN)
        >>> share.low, share.high
        (0.0, 1.0)
        """
        scale = (0.0, 1.0) if self.share else self.scale
        if (
            estimate.low is None
            or estimate.high is None
            or scale is None
            or kind == RATIO
        ):
            return estimate
        least, most = scale
        if kind != MEAN:
            least, most = least - most, most - least
        return replace(
            estimate, low=max(estimate.low, least), high=min(estimate.high, most)
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and how far it may be off: a mean, a share, a difference, a ratio, a gain in standard deviations.

    Which of these, of what and against whom, stands beside it (`sozo.eval.findings.Finding`). What cannot be known is
    None, with the reason.

    >>> Estimate(0.4, 0.1, 0.7).sign, Estimate(0.9, 0.8, 1.1).sign_of_ratio, Estimate(0.4).sign
    (1, 0, 0)
    """

    value: float | None = None
    # With `high` its interval, of `level`; None where there is none
    low: float | None = None
    high: float | None = None
    n: int = 0  # values that it rests on: answers, items, pairs of items, or seeds
    # Of a difference without pairs: how many the base has; `n` are the model's
    base_n: int | None = None
    level: float = LEVEL  # how often such an interval holds the true number
    # Two-sided, that nothing differs: below 1 - level exactly where the interval says so
    p: float | None = None
    reason: str | None = None  # why there is no number, or no interval

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        return self._side(0.0)

    @property
    def sign_of_ratio(self) -> int:
        """The same of 1."""
        return self._side(1.0)

    def to_json(self) -> dict[str, Any]:
        """For a JSON file: value, ends and n, and what else it has."""
        known: dict[str, Any] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
        }
        others = {"base_n": self.base_n, "p": self.p, "reason": self.reason}
        known |= {name: value for name, value in others.items() if value is not None}
        return known | ({"level": self.level} if self.level != LEVEL else {})

    def _side(self, none: float) -> int:
        if self.low is None or self.high is None:
            return 0
        return int(self.low > none) - int(self.high < none)


def normal_interval(
    mean: float | None, std: float | None, n: int
) -> tuple[float, float] | None:
    """The normal 95% interval of a mean, mean -+ 1.96 std / sqrt(n); None where there is no deviation."""
    if mean is None or std is None:
        return None
    margin = Z95 * std / math.sqrt(n)
    return mean - margin, mean + margin


def t_interval(
    mean: float | None, std: float | None, n: int, level: float = LEVEL
) -> tuple[float, float] | None:
    """Student's interval of a mean of n values, mean -+ t std / sqrt(n); None without a deviation above 0, or of two.

    >>> [round(end, 3) for end in t_interval(2.0, 1.0, 3)]
    [-0.484, 4.484]
    """
    if mean is None or not std or n < FEWEST:
        return None
    return t_test(mean, std / math.sqrt(n), n - 1, level)[:2]


def t_test(
    mean: float, error: float, freedom: float, level: float = LEVEL
) -> tuple[float, float, float]:
    """Student's interval of a mean with a standard error above 0, and the two-sided p-value that the mean is 0.

    P is below 1 - level exactly where the interval leaves out 0.

    >>> [round(value, 3) for value in t_test(2.0, 3**-0.5, 2)]
    [-0.484, 4.484, 0.074]
    """
    from scipy.special import stdtr, stdtrit

    margin = float(stdtrit(freedom, (1 + level) / 2)) * error
    return mean - margin, mean + margin, 2 * float(stdtr(freedom, -abs(mean) / error))


def t_test_of_both(
    mean: float, errors: Sequence[tuple[float, float]], level: float = LEVEL
) -> tuple[float, float, float]:
    """The same of a mean with several independent errors, each with its degrees of freedom; one is above 0.

    The interval's half is the root of the sum of the squares of Student's of each error: it holds the truth as often as
    it says, or more often, where one error is known from few values. Welch's would not: of five values beside many, up
    to 2.6 times as many intervals of 99.7% miss it as may.

    >>> [round(value, 3) for value in t_test_of_both(2.0, [(3**-0.5, 2), (0.5, 100)])]
    [-0.675, 4.675, 0.089]
    """
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    def half(p: float) -> float:
        return math.hypot(
            *(error * float(stdtrit(freedom, 1 - p / 2)) for error, freedom in errors)
        )

    margin = half(1 - level)
    gap = abs(mean)
    p = (
        float(brentq(lambda p: half(p) - gap, 1e-12, 1.0))
        if half(1e-12) > gap > 0
        else float(not gap)
    )
    return mean - margin, mean + margin, p
