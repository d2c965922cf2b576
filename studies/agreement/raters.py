"""How far raters agree, criterion by criterion and domain by domain: alpha, pairs of raters, each rater's habits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from sozo.studies.rater_agreement import LEVELS, Alpha, krippendorff_alpha
from sozo.studies.rubric import RatingRubric

ALL = "all"  # of the domains


@dataclass(frozen=True, slots=True)
class RatingPairs:
    """What the pairs of raters say that have enough units in common; means over these pairs, None without one."""

    pairs: int
    alpha: float | None  # of those pairs that have one
    jaccard: float | None  # common part of the units above each one's own median
    by_chance: float | None  # what that would be of random sets as large as these


@dataclass(frozen=True, slots=True)
class RatersAgreement:
    """Agreement on one criterion in one domain."""

    criterion: str
    domain: str  # `all` over several
    without: (
        int | None
    )  # the score that was left out: that the criterion does not apply
    alphas: dict[str, Alpha]  # by level
    pairs: RatingPairs


def by_domain(ratings: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The ratings of each domain, and of `all` where there are several."""
    parts = dict(list(ratings.groupby("domain", sort=False)))
    return parts | {ALL: ratings} if len(parts) > 1 else parts


def raters_agreement(
    ratings: pd.DataFrame, rubric: RatingRubric | None, level: str, least: int
) -> list[RatersAgreement]:
    """Agreement on each criterion that anybody rated, in each domain and over all of them.

    `ratings` has the columns of `sozo.studies.ratings.Rating`. A criterion with a score that says it does not apply
    comes a second time without these scores. `level` is that of the pairs.
    """
    rated = ratings.criterion.unique()
    criteria = (
        [criterion.name for criterion in rubric.criteria if criterion.name in rated]
        if rubric
        else list(rated)
    )
    results = []
    for criterion, (domain, part) in product(criteria, by_domain(ratings).items()):
        scores = part[part.criterion == criterion]
        known = rubric.criterion(criterion) if rubric else None
        not_applicable = known.not_applicable if known else None
        for without in (None,) if not_applicable is None else (None, not_applicable):
            if without is not None:
                scores = scores[scores.score != without]
            matrix = scores.pivot(
                index="rater", columns=["model", "item"], values="score"
            ).to_numpy()
            alphas = {name: krippendorff_alpha(matrix, name, least) for name in LEVELS}
            results.append(
                RatersAgreement(
                    criterion, domain, without, alphas, pairs_of(matrix, level, least)
                )
            )
    return results


def pairs_of(scores: np.ndarray, level: str, least: int) -> RatingPairs:
    """Agreement of each two raters with `least` common units or more, of scores of shape (raters, units)."""
    pairs = 0
    alphas, jaccards, by_chance = list[float](), list[float](), list[float]()
    above = [row > np.nanmedian(row) for row in scores]
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
            by_chance.append(jaccard_by_chance(int(ours.sum()), int(theirs.sum()), n))
    return RatingPairs(pairs, _mean(alphas), _mean(jaccards), _mean(by_chance))


def jaccard_by_chance(a: int, b: int, n: int) -> float:
    """Expected Jaccard index of two random sets of `a` and `b` of `n` things, not both empty.

    >>> round(jaccard_by_chance(1, 1, 2), 9), jaccard_by_chance(2, 0, 5)
    (0.5, 0.0)
    """
    total = 0.0
    for shared in range(max(0, a + b - n), min(a, b) + 1):
        ways = math.comb(a, shared) * math.comb(n - a, b - shared)
        total += ways * shared / (a + b - shared)
    return total / math.comb(n, b)


def habits(ratings: pd.DataFrame) -> pd.DataFrame:
    """Number, mean and spread of each rater's scores by domain and criterion, in the order of the ratings.

    The columns are rater, domain, criterion, scores, mean and sd (NaN of one score).
    """
    groups = ratings.groupby(["rater", "domain", "criterion"], sort=False).score
    return groups.agg(scores="size", mean="mean", sd="std").reset_index()


def out_of_stage(ratings: pd.DataFrame, rubric: RatingRubric) -> pd.DataFrame:
    """Ratings that a staged protocol did not ask for, with the reason in the column `why`; they count like all others.

    They are behind a closed gate (an innovativeness of an idea too vague to be judged), with a gate that was not rated,
    or by another group's rater.
    """
    scores = ratings.set_index(["rater", "model", "item", "criterion"]).score.to_dict()

    def why(rating: Any) -> str:
        criterion = rubric.by_name[rating.criterion]
        reasons = []
        for gate, most in (criterion.above or {}).items():
            score = scores.get((rating.rater, rating.model, rating.item, gate))
            if score is None:
                reasons.append(f"{gate} is not rated, and must be above {most}")
            elif score <= most:
                reasons.append(f"{gate} is {score:g}, and must be above {most}")
        if rating.group and criterion.groups and rating.group not in criterion.groups:
            reasons.append(f"the group {rating.group} does not rate it")
        return "; ".join(reasons)

    reasons = [why(rating) for rating in ratings.itertuples()]
    columns = ["rater", "model", "item", "criterion", "score", "why"]
    return ratings.assign(why=reasons).loc[np.array(reasons) != "", columns]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as a results file has them, None for NaN."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")
