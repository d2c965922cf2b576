"""What predictions are worth: alphas with the experts, dummies that ask nobody, and differences on common ratings.

A prediction and the expert's score are two raters of one unit. Pooled over all experts, a prediction that only knows
how strict each expert is agrees with them; within each expert it does not.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median_low

import numpy as np

from sozo.scoring.statistics import holm
from sozo.scoring.statistics.means import mean_interval
from sozo.studies.experts.asks import Predictions
from sozo.studies.experts.histories import Condition, Plan
from sozo.studies.experts.rated import Rated
from sozo.studies.experts.reasons import Reasons
from sozo.studies.experts.settings import ExpertSettings
from sozo.studies.rater_agreement import (
    coincidences,
    disagreement,
    jackknife_interval,
    krippendorff_alpha,
)
from sozo.suite.rubrics import Criterion

FEWEST_EXPERTS = 5  # for an interval
PERMUTATIONS = 2000
OTHERS, SHIFTED = "others' median", "zero, shifted"  # dummies
OWN = "own median"  # and how many of the expert's own scores a dummy repeats the median of
Scores = Mapping[str, int]  # predicted, by rating id


@dataclass(frozen=True, slots=True)
class Value:
    """An alpha with its 95% interval over experts; None where there is none."""

    alpha: float | None
    low: float | None
    high: float | None
    experts: int  # within: those with an alpha
    n: int  # predictions


@dataclass(slots=True)
class VoteDifference:
    """What one prediction's alphas within experts are above another's, on the ratings that both predict."""

    mean: float | None
    low: float | None
    high: float | None
    p: (
        float | None
    )  # two-sided: how often a difference as large comes of swapping the two within ratings
    experts: int
    n: int
    of: int  # ratings
    p_holm: float | None = None  # corrected for all differences of a run


@dataclass(frozen=True, slots=True)
class ExpertsRow:
    """One way of predicting the scores of one criterion."""

    criterion: str
    name: str  # a condition's, or a dummy's
    dummy: bool  # asks nobody
    within: Value
    pooled: Value
    n: int  # predictions
    of: int  # ratings
    exact: float | None  # share of predictions that are the expert's score
    within_one: float | None
    error: float | None  # mean absolute difference
    kept: float | None  # share of the votes that counted; None of a dummy
    unparseable: float | None  # share of the votes that could not be read


@dataclass(frozen=True, slots=True)
class ComparedVotes:
    """Two ways of predicting one criterion, on what both predict."""

    criterion: str
    first: str
    second: str
    within: VoteDifference


@dataclass(frozen=True, slots=True)
class ExpertsResult:
    """The tables of `sozo agreement --experts`."""

    rows: list[ExpertsRow]
    compared: list[ComparedVotes]
    level: str
    min_confidence: int
    reasons: list[Reasons] = field(default_factory=list)  # Figure 3, of each history

    def row(self, criterion: str, name: str) -> ExpertsRow | None:
        """The row of that name."""
        return next(
            (
                row
                for row in self.rows
                if (row.criterion, row.name) == (criterion, name)
            ),
            None,
        )


def own_median(ratings: Sequence[Rated], plan: Plan, shots: int) -> dict[str, int]:
    """The expert's median over the same examples that a judge with her own history is shown (of the first seed)."""
    return _medians(
        {
            rating.id: plan.examples(rating, Condition("same", shots), 0)
            for rating in ratings
        }
    )


def others_median(ratings: Sequence[Rated], plan: Plan) -> dict[str, int]:
    """The median over all other experts' scores of the criterion, of other patents' ideas in the domain."""
    return _medians({rating.id: plan.pool(rating, "diff") for rating in ratings})


def _medians(examples: Mapping[str, Sequence[Rated]]) -> dict[str, int]:
    """Of an even number the lower one of the two in the middle; none without examples."""
    return {
        name: median_low(rating.score for rating in shown)
        for name, shown in examples.items()
        if shown
    }


def shifted(
    ratings: Sequence[Rated], zero: Scores, criterion: Criterion
) -> dict[str, int]:
    """The zero-shot prediction moved by the expert's mean distance from it on her other ideas, within the scale."""
    predicted = [rating for rating in ratings if rating.id in zero]
    result = {}
    for rating in predicted:
        own = [
            r
            for r in predicted
            if r.rater == rating.rater
            and r.patent != rating.patent
            and r.item != rating.item
        ]
        if own:
            moved = math.floor(
                zero[rating.id] + fmean(r.score - zero[r.id] for r in own) + 0.5
            )
            result[rating.id] = min(criterion.highest, max(criterion.lowest, moved))
    return result


def by_expert(ratings: Sequence[Rated], predicted: Scores) -> dict[str, np.ndarray]:
    """Expert -> her scores and the predictions of them, shape (2, ratings with a prediction)."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for rating in ratings:
        if rating.id in predicted:
            pairs.setdefault(rating.rater, []).append(
                (rating.score, predicted[rating.id])
            )
    return {
        rater: np.array(of_rater, np.float64).T for rater, of_rater in pairs.items()
    }


def within(
    ratings: Sequence[Rated], predicted: Scores, level: str, least: int
) -> Value:
    """The mean of the experts' alphas, of those with `least` predictions or more, and Student's interval over them."""
    pairs = by_expert(ratings, predicted)
    alphas = [krippendorff_alpha(pair, level, least).alpha for pair in pairs.values()]
    known = [alpha for alpha in alphas if alpha is not None]
    return Value(
        *_over_experts(known), len(known), sum(pair.shape[1] for pair in pairs.values())
    )


def _over_experts(
    values: Sequence[float],
) -> tuple[float | None, float | None, float | None]:
    """Mean with the ends of its interval, which needs five experts."""
    interval = mean_interval(values)
    if len(values) < FEWEST_EXPERTS:
        return interval.value, None, None
    return interval.value, interval.low, interval.high


def pooled(
    ratings: Sequence[Rated], predicted: Scores, level: str, least: int
) -> Value:
    """Alpha of all ratings at once, with a jackknife over experts: another set of experts could give another one."""
    pairs = by_expert(ratings, predicted)
    if not pairs:
        return Value(None, None, None, 0, 0)
    every = np.concatenate(list(pairs.values()), axis=1)
    alpha = krippendorff_alpha(every, level, least).alpha
    low = high = None
    if alpha is not None and len(pairs) >= FEWEST_EXPERTS:
        values = np.unique(every)
        sums = np.stack(
            [coincidences(pair, values).sum(axis=0) for pair in pairs.values()]
        )
        low, high = jackknife_interval(
            alpha, 1 - disagreement(sums.sum(axis=0) - sums, values, level), 2.0
        )
    return Value(alpha, low, high, len(pairs), every.shape[1])


def difference(
    ratings: Sequence[Rated], first: Scores, second: Scores, level: str, least: int
) -> VoteDifference:
    """The mean over experts of alpha of `first` minus that of `second`, Student's interval, and a permutation p."""
    common = [
        rating for rating in ratings if rating.id in first and rating.id in second
    ]
    rng = np.random.default_rng(0)
    gaps, permuted = list[float](), np.zeros(PERMUTATIONS)
    ours, theirs = by_expert(common, first), by_expert(common, second)
    for rater, pair in ours.items():
        if pair.shape[1] < least:
            continue
        values = np.unique(np.concatenate([pair, theirs[rater]]))
        units = [
            coincidences(side, values).reshape(pair.shape[1], -1)
            for side in (pair, theirs[rater])
        ]
        swap = (rng.random((PERMUTATIONS + 1, pair.shape[1])) < 0.5).astype(np.float64)
        swap[0] = 0  # as it is
        moved = swap @ (units[1] - units[0])
        shape = (PERMUTATIONS + 1, len(values), len(values))
        sums = [
            (units[0].sum(axis=0) + moved).reshape(shape),
            (units[1].sum(axis=0) - moved).reshape(shape),
        ]
        gap = disagreement(sums[1], values, level) - disagreement(
            sums[0], values, level
        )
        if not np.isnan(gap[0]):  # else one of the two has no alpha
            gaps.append(float(gap[0]))
            permuted += np.nan_to_num(gap[1:])
    counts = (len(gaps), len(common), len(ratings))
    if not gaps:
        return VoteDifference(None, None, None, None, *counts)
    as_far = int((np.abs(permuted / len(gaps)) >= abs(fmean(gaps)) - 1e-12).sum())
    return VoteDifference(
        *_over_experts(gaps), (1 + as_far) / (1 + PERMUTATIONS), *counts
    )


def analyse(
    plan: Plan, predictions: Predictions, seeds: int, settings: ExpertSettings
) -> ExpertsResult:
    """Alphas of every condition and dummy on a plan's ratings, and the differences that the paper's claim is about."""
    rows, compared = list[ExpertsRow](), list[ComparedVotes]()
    level, least = settings.level, settings.least
    for criterion, part in plan.parts:
        ways: dict[str, Scores] = {}
        votes: dict[
            str, tuple[float, float]
        ] = {}  # of all that were to be asked, those that counted, and unread ones
        for condition in plan.conditions:
            predicted = {
                rating.id: predictions[condition.ask_id(rating)] for rating in part
            }
            ways[condition.name] = {
                name: p.score for name, p in predicted.items() if p.score is not None
            }
            total = len(part) * seeds
            kept = sum(prediction.kept for prediction in predicted.values())
            unread = sum(prediction.unread for prediction in predicted.values())
            votes[condition.name] = (kept / total, unread / total)
        for n in plan.shots or (1,):
            ways[f"{OWN} {n}"] = own_median(part, plan, n)
        ways[OTHERS] = others_median(part, plan)
        if ways.get("zero"):
            ways[SHIFTED] = shifted(part, ways["zero"], criterion)
        for name, scores in ways.items():
            gaps = np.array(
                [
                    abs(rating.score - scores[rating.id])
                    for rating in part
                    if rating.id in scores
                ]
            )
            shares = [
                float(np.mean(values)) if len(gaps) else None
                for values in (gaps == 0, gaps <= 1, gaps)
            ]
            alphas = (
                within(part, scores, level, least),
                pooled(part, scores, level, least),
            )
            counted = votes.get(name, (None, None))
            rows.append(
                ExpertsRow(
                    criterion.name,
                    name,
                    name not in votes,
                    *alphas,
                    len(gaps),
                    len(part),
                    *shares,
                    *counted,
                )
            )
        for n in plan.shots:
            first = f"same {n}"
            for second in (f"diff {n}", "zero", f"{OWN} {n}"):
                if first in ways and second in ways:
                    gap = difference(part, ways[first], ways[second], level, least)
                    compared.append(ComparedVotes(criterion.name, first, second, gap))
    for pair, p in zip(
        compared, holm([pair.within.p for pair in compared]), strict=True
    ):
        pair.within.p_holm = p
    return ExpertsResult(rows, compared, level, settings.min_confidence)
