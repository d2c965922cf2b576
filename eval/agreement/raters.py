"""How far raters agree, criterion by criterion and domain by domain: alpha, pairs of raters, each rater's habits."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sozo.data.ratings import Rating
from sozo.data.rubrics import RatingRubric
from sozo.scoring.statistics.agreement import LEVELS, Alpha, krippendorff_alpha

ALL = "all"  # of the domains
LEAST = 10


@dataclass(frozen=True, slots=True)
class Pairs:
    """What the pairs of raters say that have enough units in common; means over these pairs, None without one."""

    pairs: int
    alpha: float | None  # of those pairs that have one
    jaccard: float | None  # common part of the units above each one's own median
    by_chance: float | None  # what that would be of random sets as large as these


@dataclass(frozen=True, slots=True)
class Cell:
    """Agreement on one criterion in one domain."""

    criterion: str
    domain: str  # `all` over several
    without: int | None  # the score that was left out: that the criterion does not apply
    alphas: dict[str, Alpha]  # by level
    pairs: Pairs

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Habit:
    """How one rater uses one criterion's scale."""

    rater: str
    domain: str
    criterion: str
    scores: int
    mean: float
    sd: float | None  # None of one score


def score_matrix(ratings: Sequence[Rating]) -> np.ndarray:
    """Scores of one criterion, shape (raters, units), NaN where there is none."""
    raters = {name: k for k, name in enumerate(dict.fromkeys(r.rater for r in ratings))}
    units = {unit: k for k, unit in enumerate(dict.fromkeys(r.unit for r in ratings))}
    scores = np.full((len(raters), len(units)), np.nan)
    for rating in ratings:
        scores[raters[rating.rater], units[rating.unit]] = rating.score
    return scores


def agreement_cells(
    ratings: Sequence[Rating], rubric: RatingRubric | None, level: str = "ordinal", least: int = LEAST
) -> list[Cell]:
    """A cell for each criterion that anybody rated, in each domain and over all of them.

    A criterion with a score that says it does not apply has a second cell without these. `level` is that of the pairs.
    """
    rated = dict.fromkeys(rating.criterion for rating in ratings)
    criteria = [criterion.name for criterion in rubric.criteria if criterion.name in rated] if rubric else list(rated)
    domains = list(dict.fromkeys(rating.domain for rating in ratings))
    cells = []
    for criterion in criteria:
        of_criterion = [rating for rating in ratings if rating.criterion == criterion]
        known = rubric.criterion(criterion) if rubric else None
        none = known.not_applicable if known else None
        for domain in [*domains, ALL] if len(domains) > 1 else domains:
            part = [rating for rating in of_criterion if domain in (rating.domain, ALL)]
            cells.append(_cell(criterion, domain, None, part, level, least))
            if none is not None:
                applies = [rating for rating in part if rating.score != none]
                cells.append(_cell(criterion, domain, none, applies, level, least))
    return cells


def _cell(criterion: str, domain: str, without: int | None, part: Sequence[Rating], level: str, least: int) -> Cell:
    scores = score_matrix(part)
    alphas = {name: krippendorff_alpha(scores, name, least) for name in LEVELS}
    return Cell(criterion, domain, without, alphas, pairs_of(scores, level, least))


def pairs_of(scores: np.ndarray, level: str = "ordinal", least: int = LEAST) -> Pairs:
    """Agreement of each two raters with `least` common units or more, of scores of shape (raters, units)."""
    pairs = 0
    alphas, jaccards, chances = list[float](), list[float](), list[float]()
    with np.errstate(invalid="ignore"):
        above = [row > np.median(row[~np.isnan(row)]) for row in scores]
    for a, b in combinations(range(len(scores)), 2):
        common = ~np.isnan(scores[a]) & ~np.isnan(scores[b])
        if (n := int(common.sum())) < least:
            continue
        pairs += 1
        if (alpha := krippendorff_alpha(scores[[a, b]], level).alpha) is not None:
            alphas.append(alpha)
        ours, theirs = above[a] & common, above[b] & common
        if either := int((ours | theirs).sum()):
            jaccards.append(int((ours & theirs).sum()) / either)
            chances.append(jaccard_by_chance(int(ours.sum()), int(theirs.sum()), n))
    return Pairs(pairs, *(_mean(values) for values in (alphas, jaccards, chances)))


def jaccard_by_chance(a: int, b: int, n: int) -> float:
    """Expected Jaccard index of two random sets of `a` and `b` of `n` things, not both empty.

    >>> jaccard_by_chance(1, 1, 2), jaccard_by_chance(2, 0, 5)
    (0.5, 0.0)
    """
    shared = range(max(0, a + b - n), min(a, b) + 1)
    ways = [math.comb(a, k) * math.comb(n - a, b - k) for k in shared]
    return sum(way * k / (a + b - k) for way, k in zip(ways, shared, strict=True)) / math.comb(n, b)


def habits(ratings: Iterable[Rating]) -> list[Habit]:
    """Mean, spread and number of each rater's scores by domain and criterion, in the order of the ratings."""
    scores: dict[tuple[str, str, str], list[float]] = {}
    for rating in ratings:
        scores.setdefault((rating.rater, rating.domain, rating.criterion), []).append(rating.score)
    return [
        Habit(*key, len(of), float(np.mean(of)), float(np.std(of, ddof=1)) if len(of) > 1 else None)
        for key, of in scores.items()
    ]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
