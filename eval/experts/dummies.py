"""Predictions that ask nobody: what a judge must beat before it has learned more than a habit."""

import math
from collections.abc import Mapping, Sequence

from sozo.eval.experts.histories import Condition, Pools, Rated

Scores = Mapping[str, int]  # by rating id


def lower_median(scores: Sequence[int]) -> int:
    """The middle score, of an even number the lower one of two.

    >>> lower_median([4, 1, 2, 3])
    2
    """
    return sorted(scores)[(len(scores) - 1) // 2]


def own_median(ratings: Sequence[Rated], pools: Pools, shots: int) -> dict[str, int]:
    """The expert's median over the same examples that a judge with her own history is shown (of the first seed)."""
    drawn = {r.id: pools.examples(r, Condition("same", shots), 0) for r in ratings}
    return {name: lower_median([one.score for one in examples]) for name, examples in drawn.items() if examples}


def others_median(ratings: Sequence[Rated], pools: Pools) -> dict[str, int]:
    """The median over all other experts' scores of the criterion, of other patents' ideas in the domain."""
    drawn = {r.id: pools.pool(r, "diff") for r in ratings}
    return {name: lower_median([one.score for one in pool]) for name, pool in drawn.items() if pool}


def shifted(ratings: Sequence[Rated], zero: Scores, scales: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """The zero-shot prediction moved by the expert's mean distance from it on her other ideas, within the `scales`."""
    groups: dict[tuple[str, str], list[Rated]] = {}
    for rating in ratings:
        if rating.id in zero:
            groups.setdefault((rating.rater, rating.criterion), []).append(rating)
    result = {}
    for (_, criterion), group in groups.items():
        low, high = scales[criterion]
        for rating in group:
            gaps = [
                one.score - zero[one.id] for one in group if one.patent != rating.patent and one.item != rating.item
            ]
            if gaps:
                moved = math.floor(zero[rating.id] + math.fsum(gaps) / len(gaps) + 0.5)
                result[rating.id] = min(high, max(low, moved))
    return result
