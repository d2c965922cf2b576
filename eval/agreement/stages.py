"""Ratings that a staged protocol did not ask for, such as an innovativeness of an idea too vague to be judged."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sozo.data.ratings import Rating
from sozo.data.rubrics import RatingRubric


@dataclass(frozen=True, slots=True)
class Violation:
    """A rating with what of the protocol it does not keep to; it counts like every other rating."""

    rater: str
    model: str
    item: str
    criterion: str
    score: float
    why: str


def violations(ratings: Sequence[Rating], rubric: RatingRubric) -> list[Violation]:
    """All such ratings, in order: behind a closed gate, with a gate that was not rated, by another group's rater."""
    given = {(rating.rater, rating.unit, rating.criterion): rating.score for rating in ratings}
    result = []
    for rating in ratings:
        criterion = rubric.criterion(rating.criterion)
        reasons = []
        for gate, most in ((criterion and criterion.above) or {}).items():
            score = given.get((rating.rater, rating.unit, gate))
            if score is None:
                reasons.append(f"{gate} is not rated, and must be above {most}")
            elif score <= most:
                reasons.append(f"{gate} is {score:g}, and must be above {most}")
        if criterion and rating.group and criterion.groups and rating.group not in criterion.groups:
            reasons.append(f"the group {rating.group} does not rate it")
        if reasons:
            what = (rating.rater, rating.model, rating.item, rating.criterion, rating.score)
            result.append(Violation(*what, "; ".join(reasons)))
    return result


def counted(found: Sequence[Violation]) -> dict[tuple[str, str], int]:
    """How many there are of each criterion and reason."""
    return dict(Counter((violation.criterion, violation.why) for violation in found))
