"""What an idea's scores are worth, by the measures of the task."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean

from sozo.scoring.measure import Measure
from sozo.suite.rubrics import Criterion, criteria_of

CRITERIA = criteria_of("pbig")
# Shares of ideas that pass a gate, by the criterion that it is: what an idea must have to be rated further.
GATES = {"specificity": "pbig/specific", "technical_validity": "pbig/feasible"}
WORTH, DISTANCE, SAME_TITLE = "pbig/worth", "pbig/distance", "pbig/same_title"
BY_CRITERION = {criterion.name: f"pbig/{criterion.name}" for criterion in CRITERIA}
SERVED = {
    market: f"pbig/{market}" for market in ("b2b", "b2c")
}  # shares of the rated ideas that are for a market
MEASURES = (
    Measure(WORTH, 3, scale=(0, 1)),
    *(Measure(name, share=True) for name in GATES.values()),
    *(
        Measure(BY_CRITERION[axis.name], 2, scale=(axis.lowest, axis.highest))
        for axis in CRITERIA
    ),
    *(Measure(name, share=True, better=0) for name in SERVED.values()),
    Measure(DISTANCE, together=True, scale=(0, 2)),
    Measure(SAME_TITLE, together=True, share=True, better=-1),
)


def gate(criterion: Criterion, scores: Mapping[str, int]) -> bool | None:
    """Whether the scores let a criterion be rated; None while a score that decides it is missing."""
    above = criterion.above or {}
    known = [scores[name] > least for name, least in above.items() if name in scores]
    if not all(known):
        return False
    return True if len(known) == len(above) else None


def in_stages(criteria: Iterable[Criterion]) -> list[Criterion]:
    """The criteria in the order in which they can be asked: first those without a gate, then what is behind these.

    >>> [criterion.name for criterion in in_stages(CRITERIA)][-2:]
    ['innovativeness', 'competitive_advantage']
    """
    stage: dict[str, int] = {}
    for criterion in criteria:
        stage[criterion.name] = max(
            (stage[name] + 1 for name in criterion.above or ()), default=0
        )
    return sorted(criteria, key=lambda criterion: stage[criterion.name])


def worth(scores: Mapping[str, int]) -> float | None:
    """The mean over `CRITERIA` of how far up its scale each score is, 0 to 1; behind a closed gate 0.

    Need and market size count once, for the better served market: of scores of 0 to 3 as (need + market size) / 6. A
    market with a 0, "not a product for this market", is not served, and none served counts 0. So naming a second
    market never lowers the worth. None if a score that should be there is missing: a judgement failed, which is not
    the idea's fault.

    >>> worth({"specificity": 1}), worth({"specificity": 4})
    (0.0, None)
    """
    terms: list[float] = []  # how far up
    markets: defaultdict[str, list[float]] = defaultdict(list)
    for criterion in CRITERIA:
        place = 0.0
        if gate(criterion, scores) is not False:
            if criterion.name not in scores:
                return None
            place = (scores[criterion.name] - criterion.lowest) / (
                criterion.highest - criterion.lowest
            )
        (markets[_market(criterion)] if _market(criterion) else terms).append(place)
    served = max(fmean(of) * all(of) for of in markets.values())
    return fmean([*terms, served])


def _market(criterion: Criterion) -> str:
    """B2b or b2c, of a criterion that can be beside the point; empty for what every idea has.

    >>> [_market(criterion) for criterion in CRITERIA[3:5]]
    ['', 'b2b']
    """
    return "" if criterion.not_applicable is None else criterion.name.rpartition("_")[2]


def values_of(scores: Mapping[str, int]) -> dict[str, float]:
    """What an idea with these scores is worth, by the measures' names; no worth where a score that decides is missing."""
    values: dict[str, float] = {}
    for criterion in CRITERIA:
        if (score := scores.get(criterion.name)) is None:
            continue
        if score != criterion.not_applicable:  # which is no grade
            values[BY_CRITERION[criterion.name]] = float(score)
        if criterion.name in GATES:
            values[GATES[criterion.name]] = float(score > _passing(criterion.name))
    for market, name in SERVED.items():
        of_market = [
            scores.get(rated.name) for rated in CRITERIA if _market(rated) == market
        ]
        if None not in of_market:
            values[name] = float(all(of_market))
    return values if (own := worth(scores)) is None else values | {WORTH: own}


def _passing(gate: str) -> int:
    """The score above which an idea is rated further."""
    return min(
        criterion.above[gate]
        for criterion in CRITERIA
        if criterion.above and gate in criterion.above
    )
