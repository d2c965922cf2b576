"""Which scored examples a judge is shown before it predicts an expert's score: the rules that keep the answer out."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sozo.data.errors import UserError
from sozo.tasks.pbig.experts import Rated

HISTORIES = ("zero", "diff", "same")


@dataclass(frozen=True, slots=True)
class Condition:
    """What a judge is shown: nothing, other experts' examples (diff) or the expert's own (same)."""

    history: str  # one of HISTORIES
    shots: int = 0  # examples at most

    @property
    def name(self) -> str:
        """As tables call it."""
        return f"{self.history} {self.shots}" if self.shots else self.history


def conditions_of(histories: Sequence[str], shots: Sequence[int]) -> tuple[Condition, ...]:
    """All conditions, zero once.

    >>> [condition.name for condition in conditions_of(["zero", "same"], [1, 5])]
    ['zero', 'same 1', 'same 5']
    """
    for history in histories:
        if history not in HISTORIES:
            raise UserError(f"--history must be of {', '.join(HISTORIES)}, not {history}")
    if not histories or (set(histories) != {"zero"} and not shots) or min(shots, default=1) < 1:
        raise UserError("give a --history, and --shots of 1 or more examples")
    conditions: list[Condition] = []
    for history in dict.fromkeys(histories):
        conditions += [Condition(history, n) for n in (dict.fromkeys(shots) if history != "zero" else (0,))]
    return tuple(conditions)


class Pools:
    """What examples may be drawn from.

    Never the idea that is to be predicted, nor another one of its patent; of the same criterion; `same` by the same
    expert, `diff` by others of the same domain.
    """

    def __init__(self, ratings: Iterable[Rated]) -> None:
        self._by_criterion: dict[str, list[Rated]] = {}
        for rating in ratings:
            self._by_criterion.setdefault(rating.criterion, []).append(rating)

    def pool(self, target: Rated, history: str) -> list[Rated]:
        """The examples that a target's history may hold, in the order of the ratings."""
        return [
            other
            for other in self._by_criterion[target.criterion]
            if other.patent != target.patent
            and other.item != target.item
            and (other.rater == target.rater) == (history == "same")
            and (history == "same" or other.domain == target.domain)
        ]

    def examples(self, target: Rated, condition: Condition, seed: int) -> list[Rated]:
        """The examples of one prompt: a function of seed, target and condition; `diff` and `same` draw alike."""
        if condition.history == "zero":
            return []
        pool = self.pool(target, condition.history)
        draw = random.Random(f"{seed}\0{target.id}\0{condition.shots}")
        return draw.sample(pool, min(condition.shots, len(pool)))


def sample_ratings(ratings: Sequence[Rated], most: int) -> list[Rated]:
    """At most so many ratings, as alike as possible from each expert and criterion, in their order."""
    shuffled = random.Random(0).sample(ratings, len(ratings))
    count: Counter[tuple[str, str]] = Counter()
    turn = {}
    for rating in shuffled:
        group = (rating.rater, rating.criterion)
        count[group] += 1
        turn[rating.id] = count[group]
    kept = {rating.id for rating in sorted(shuffled, key=lambda rating: turn[rating.id])[:most]}
    return [rating for rating in ratings if rating.id in kept]
