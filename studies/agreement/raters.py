"""How far raters agree, criterion by criterion: who is compared with whom, and by which numbers."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from sozo.scoring.statistics.reliability import icc
from sozo.studies.rater_agreement import LEVELS, krippendorff_alpha
from sozo.studies.ratings import UNIT
from sozo.studies.rubric import RatingRubric

ALL = "all"  # of the domains
PEOPLE, AGAIN, WORDINGS = "people", "the same judge again", "one judge in other words"
JUDGES, TWO = "judges", "each two"
_PAIR = (
    *("alpha", "jaccard", "by_chance", "spearman"),
    *("exact", "within_one", "difference", "apart"),
)
Judges = Mapping[str, dict[str, Any]]  # the settings of those raters that are judges


def by_domain(ratings: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The ratings of each domain, and of `all` where there are several."""
    parts = dict(list(ratings.groupby("domain", sort=False)))
    return parts | {ALL: ratings} if len(parts) > 1 else parts


def compared(
    ratings: pd.DataFrame,
    judges: Judges,
    rubric: RatingRubric | None,
    level: str,
    least: int,
) -> list[dict[str, Any]]:
    """How far each of the `sets_of` raters agrees, by criterion and domain: what `agreement` says of it.

    A criterion with a score that says it does not apply comes a second time without these scores (`without`). Alpha
    of people needs `least` answers that two rated.
    """
    rated = ratings.criterion.unique()
    names = [c.name for c in rubric.criteria if c.name in rated] if rubric else rated
    found, parts = [], by_domain(ratings)
    for name, (domain, part) in product(names, parts.items()):
        own = part[part.criterion == name]
        known = rubric.criterion(name) if rubric else None
        none = known.not_applicable if known else None
        for without in (None,) if none is None else (None, none):
            raters, own = own.rater.unique(), own[own.score != without]
            wide = own.pivot(index=UNIT, columns="rater", values="score")
            wide = wide.reindex(columns=raters)
            facts = {"criterion": name, "domain": domain, "without": without}
            for what, scores in sets_of(wide, judges):
                if what == TWO and domain != [*parts][-1]:
                    continue
                most = least if what == PEOPLE else 1
                between = {"what": what, "between": [*scores]}
                found.append(between | facts | agreement(scores, level, most))
    return found


def sets_of(scores: pd.DataFrame, judges: Judges) -> Iterator[tuple[str, pd.DataFrame]]:
    """Who is compared with whom, of raters with a column of `scores` each: all people, one judge's judgings, and so on.

    Judgings are one judge's if they share model, prompt and settings but for the seed. Beside others a judge that was
    asked again has the mean of its scores, and people together have theirs.
    """
    people = scores[[rater for rater in scores if rater not in judges]]
    if people.shape[1] > 1:
        yield PEOPLE, people
    settings = pd.Series({rater: judges[rater] for rater in scores if rater in judges})
    means, wordings = people.copy(), dict[str, list[str]]()
    for _, own in settings.groupby(settings.map(json.dumps), sort=False):
        name, judge = own.index[0], own.iloc[0]
        if len(own) > 1:
            yield AGAIN, scores[own.index]
            name = f"{judge.get('model')} ({judge.get('prompt')})"
        means[name] = scores[own.index].mean(axis="columns")
        wordings.setdefault(json.dumps(judge | {"prompt": ""}), []).append(name)
    others = [*means][people.shape[1] :]
    for names in wordings.values():
        if len(names) > 1:
            yield WORDINGS, means[names]
    if len(others) > 1 and len(wordings) > 1:
        yield JUDGES, means[others]
    together = means.assign(**{PEOPLE: people.mean(axis="columns")})
    for name in others if people.shape[1] > 1 else ():
        yield f"{PEOPLE} | judge", together[[PEOPLE, name]]
    for a, b in combinations(means, 2) if means.shape[1] > 2 else ():
        yield TWO, means[[a, b]]
    if people.shape[1] == 1 and len(others) == 1:
        yield f"{PEOPLE} | judge", means


def agreement(scores: pd.DataFrame, level: str, least: int) -> dict[str, Any]:
    """Agreement of raters, the columns of `scores`, on its rows, NaN where a rater gave none.

    Alpha needs `least` rows that two rated, and so does each pair of raters; in `pairs` are means over these. ICC(2,1)
    is over the rows that all rated.
    """
    matrix = scores.to_numpy(float).T
    known, pairs = ~np.isnan(matrix), []
    for a, b in combinations(range(len(matrix)), 2):
        common = known[a] & known[b]
        if common.sum() >= least:
            above = [matrix[k][common] > np.nanmedian(matrix[k]) for k in (a, b)]
            pairs.append(_pair(matrix[[a, b]][:, common], level, *above))
    means = pd.DataFrame(pairs, columns=_PAIR, dtype=float).mean()
    if len(matrix) > 2:
        means["difference"] = math.nan  # which of several would be the second
    alphas = {name: krippendorff_alpha(matrix, name, least) for name in LEVELS}
    return {
        "alphas": {name: asdict(alpha) for name, alpha in alphas.items()},
        "icc": icc(matrix[:, known.all(axis=0)].T).to_json(),
        "pairs": {"pairs": len(pairs)} | records(means.to_frame().T)[0],
    }


def _pair(
    scores: np.ndarray, level: str, ours: np.ndarray, theirs: np.ndarray
) -> tuple[float | None, ...]:
    """What `_PAIR` names, of two raters of the same answers; `ours` and `theirs` are above the own median of each."""
    from scipy.stats import spearmanr

    jaccard = by_chance = spearman = None
    if either := int((ours | theirs).sum()):
        jaccard = int((ours & theirs).sum()) / either
        by_chance = jaccard_by_chance(int(ours.sum()), int(theirs.sum()), len(ours))
    if np.ptp(scores, axis=1).all():
        spearman = spearmanr(*scores).statistic
    gap = scores[1] - scores[0]
    shares = ((np.abs(gap) <= most + 1e-9).mean() for most in (0, 1))
    alpha = krippendorff_alpha(scores, level).alpha
    return (alpha, jaccard, by_chance, spearman, *shares, gap.mean(), abs(gap.mean()))


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
    """Number, mean, spread and ends of each rater's scores by domain and criterion, in the order of the ratings."""
    groups = ratings.groupby(["rater", "domain", "criterion"], sort=False).score
    own = {"mean": "mean", "sd": "std", "lowest": "min", "highest": "max"}
    return groups.agg(scores="size", **own).reset_index()


def out_of_stage(ratings: pd.DataFrame, rubric: RatingRubric) -> pd.DataFrame:
    """Ratings that a staged protocol did not ask for, with the reason in the column `why`; they count like all others.

    They are behind a closed gate (an innovativeness of an idea too vague to be judged), with a gate that was not rated,
    or by another group's rater.
    """
    known = ratings.set_index(["rater", *UNIT, "criterion"]).score

    def why(rating: Any) -> str:
        criterion, reasons = rubric.by_name[rating.criterion], []
        for gate, most in (criterion.above or {}).items():
            score = known.get((rating.rater, *rating[UNIT], gate))
            if score is None:
                reasons.append(f"{gate} is not rated, and must be above {most}")
            elif score <= most:
                reasons.append(f"{gate} is {score:g}, and must be above {most}")
        if rating.group and criterion.groups and rating.group not in criterion.groups:
            reasons.append(f"the group {rating.group} does not rate it")
        return "; ".join(reasons)

    reasons = ratings.assign(why=ratings.apply(why, axis="columns"))
    return reasons.loc[reasons.why != "", ["rater", *UNIT, "criterion", "score", "why"]]


def apart(ratings: pd.DataFrame) -> pd.DataFrame:
    """The answers with the range of their raters' scores, its mean over criteria, those first on which it is largest."""
    ranges = ratings.groupby([*UNIT, "criterion"], sort=False).score.agg(np.ptp)
    means = ranges.groupby(UNIT, sort=False).mean().rename("range")
    return means[means > 0].sort_values(ascending=False, kind="stable").reset_index()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as a results file has them, None for NaN."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")
