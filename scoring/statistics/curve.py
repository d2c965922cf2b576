"""How far a point lies above a line, where point and line are means of pairs (across, up) of answers or of items."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sozo.scoring.measure import LEVEL, Z95, Estimate, t_test
from sozo.scoring.statistics.means import few
from sozo.scoring.translatable import translatable

_RESAMPLES = 1000
_AT_ONCE = 4_000_000  # values of resamples in memory


@dataclass(frozen=True, slots=True)
class Above:
    """A point, the line's height at its place across, and the standard errors of resamples."""

    across: float
    up: float
    line: float
    bend: float  # how far the line may be off, being straight between its points
    error: float  # of up - line
    line_error: float  # of line alone, at this place
    n: int  # answers or items of the point
    fewest: int  # those of the smallest of all points
    line_n: int | None  # those of the line; None where they are the point's own items

    def estimate(self, level: float = LEVEL) -> Estimate:
        """The difference, up - line, with Student's interval, which is wider by `bend` on both sides."""
        value = self.up - self.line
        known = Estimate(value, n=self.n, base_n=self.line_n, level=level)
        if reason := few(self.fewest) or (
            None if self.error else translatable("all scores on each side are equal")
        ):
            return replace(known, reason=reason)
        freedom = self.fewest - 1
        low, high, _ = t_test(value, self.error, freedom, level)
        beyond = max(0.0, abs(value) - self.bend)
        p = t_test(beyond, self.error, freedom, level)[2]
        return replace(known, low=low - self.bend, high=high + self.bend, p=p)


def above_line(
    model: np.ndarray, line: Sequence[np.ndarray], *, paired: bool = False
) -> Above:
    """The point `model`, and those of `line`, each the mean of its pairs (across, up), float64 of shape (n, 2).

    Between neighbours across the line is straight. Points that are not apart are one (`joined`); there must be three.
    Pairs are resampled within each point (Efron's bootstrap); where they are `paired`, the same ones of all points. A
    resample beyond the line's end takes its last piece further; the point itself must lie between its ends.
    """
    random = np.random.default_rng(0)
    groups = joined(line, paired=paired)
    line = [merged(group, paired=paired) for group in groups]
    sides = [model, *line]
    if paired:
        together = _resampled(np.concatenate(sides, axis=1), random)
        drawn = together.reshape(_RESAMPLES, len(sides), 2)
    else:
        drawn = np.stack([_resampled(side, random) for side in sides], axis=1)
    point, points = model.mean(axis=0), np.stack([side.mean(axis=0) for side in line])
    heights = drawn[:, 0, 1] - height(drawn[:, 0, 0], drawn[:, 1:])
    of_line = height(np.broadcast_to(point[0], _RESAMPLES), drawn[:, 1:])
    return Above(
        across=float(point[0]),
        up=float(point[1]),
        line=float(height(point[0], points)),
        bend=_bend(float(point[0]), points) + _apart(float(point[0]), points, groups),
        error=_spread(heights),
        line_error=_spread(of_line),
        n=len(model),
        fewest=min(map(len, sides)),
        line_n=None if paired else sum(map(len, line)),
    )


def joined(
    line: Sequence[np.ndarray], *, paired: bool = False
) -> list[list[np.ndarray]]:
    """The points by their place across; those that one cannot tell apart by it, at 95%, are together.

    Between such points the line's slope would be noise divided by nothing.

    >>> near, far = np.array([[1.0, 0.0], [3.0, 0.0]]), np.array([[10.0, 0.0], [12.0, 0.0]])
    >>> [len(group) for group in joined([far, near, near])]
    [2, 1]
    """
    groups = list[list[np.ndarray]]()
    for point in sorted(line, key=lambda point: float(point[:, 0].mean())):
        if groups and _together(groups[-1], point, paired=paired):
            groups[-1].append(point)
        else:
            groups.append([point])
    return groups


def merged(group: Sequence[np.ndarray], *, paired: bool = False) -> np.ndarray:
    """The points of a group as one: with the pairs of all; where these are `paired`, with their means."""
    return np.mean(group, axis=0) if paired else np.concatenate(group)


def _together(group: Sequence[np.ndarray], point: np.ndarray, *, paired: bool) -> bool:
    one, other = merged(group, paired=paired)[:, 0], point[:, 0]
    before, here = float(one.mean()), float(other.mean())
    sides = [other - one] if paired else [one, other]
    error = math.hypot(*map(_error, sides))
    rounding = 1e-9 * max(abs(before), abs(here))
    return here - before <= max(Z95 * error, rounding)


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def height(at: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The height at `at`, shape (...), of the line through `points`, shape (..., k, 2), straight between neighbours.

    >>> float(height(np.array(3.0), np.array([[4.0, 20.0], [2.0, 10.0], [9.0, 0.0]])))
    15.0
    """
    order = np.argsort(points[..., 0], axis=-1)[..., None]
    x, y = np.moveaxis(np.take_along_axis(points, order, axis=-2), -1, 0)
    right = np.count_nonzero(x < at[..., None], axis=-1).clip(1, x.shape[-1] - 1)
    (x0, y0), (x1, y1) = (
        [np.take_along_axis(ends, place[..., None], -1)[..., 0] for ends in (x, y)]
        for place in (right - 1, right)
    )
    gap = x1 - x0
    part = np.divide(at - x0, gap, out=np.full_like(gap, 0.5), where=gap > 0)
    return y0 + (y1 - y0) * part


def _bend(at: float, points: np.ndarray) -> float:
    """How far a parabola leaves the line at `at`: through the two neighbours and the next point, on the side that bends more.

    >>> _bend(1.0, np.array([[0.0, 0.0], [2.0, 4.0], [4.0, 16.0]]))
    1.0
    """
    x, y = points[np.argsort(points[:, 0])].T
    right = int(np.count_nonzero(x < at).clip(1, len(x) - 1))
    slopes = np.diff(y) / np.diff(x)
    curved = np.diff(slopes) / (x[2:] - x[:-2])
    near = np.abs(curved[max(0, right - 2) : right])
    return float(near.max() * (at - x[right - 1]) * (x[right] - at))


def _apart(
    at: float, points: np.ndarray, groups: Sequence[Sequence[np.ndarray]]
) -> float:
    """How high the rows of a point lie from its middle, at most, of the two points beside `at`; 0 of one row each."""
    right = int(np.count_nonzero(points[:, 0] < at).clip(1, len(points) - 1))
    beside = groups[right - 1 : right + 1]
    heights = ([float(row[:, 1].mean()) for row in group] for group in beside)
    return max((max(each) - min(each)) / 2 for each in heights)


def _resampled(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Means of resamples of rows, shape (resamples, columns)."""
    n, means = len(values), []
    step = max(1, _AT_ONCE // n)
    for start in range(0, _RESAMPLES, step):
        rows = random.integers(n, size=(min(step, _RESAMPLES - start), n))
        means.append(np.stack([of[rows].mean(axis=1) for of in values.T], axis=1))
    return np.concatenate(means)


def _spread(resamples: np.ndarray) -> float:
    """The standard error, by the middle 95%: a piece that is short across may throw single resamples far."""
    low, high = np.quantile(resamples, (0.025, 0.975))
    return float(high - low) / (2 * Z95)
