"""From an idea's scores to one number, in the stages in which they were given."""

from collections.abc import Mapping, Sequence

from sozo.data.rubrics import Criterion


def gate(criterion: Criterion, scores: Mapping[str, int]) -> bool | None:
    """Whether the scores let a criterion be rated; None while a score that decides it is missing."""
    above = criterion.above or {}
    known = [scores[name] > least for name, least in above.items() if name in scores]
    if not all(known):
        return False
    return True if len(known) == len(above) else None


def stages(criteria: Sequence[Criterion]) -> list[list[Criterion]]:
    """The criteria in the order in which they can be asked: each stage needs scores of earlier ones only.

    >>> from sozo.data.rubrics import load_rubric
    >>> [len(stage) for stage in stages(load_rubric("pbig").criteria)]
    [1, 5, 2]
    """
    depth: dict[str, int] = {}
    for criterion in criteria:
        depth[criterion.name] = max((depth[name] + 1 for name in criterion.above or ()), default=0)
    return [[c for c in criteria if depth[c.name] == d] for d in sorted(set(depth.values()))]


def worth(
    scores: Mapping[str, int], criteria: Sequence[Criterion], weights: Mapping[str, float] | None = None
) -> float | None:
    """The weighted mean over `criteria` of how far up its scale each score is, 0 to 1; behind a closed gate 0.

    None if a score that should be there is missing: a judgement failed, which is not the idea's fault. `weights` are
    by criterion, 1 where they say nothing.

    >>> from sozo.data.rubrics import load_rubric
    >>> first, second = load_rubric("pbig").criteria[:2]
    >>> worth({"specificity": 3, "technical_validity": 4}, [first, second])
    0.8333333333333333
    >>> worth({"specificity": 1}, [first, second]), worth({"specificity": 4}, [first, second])
    (0.0, None)
    """
    total = share = 0.0
    for criterion in criteria:
        weight = (weights or {}).get(criterion.name, 1.0)
        total += weight
        if gate(criterion, scores) is False:
            continue
        if criterion.name not in scores:
            return None
        share += weight * (scores[criterion.name] - criterion.lowest) / (criterion.highest - criterion.lowest)
    return share / total
