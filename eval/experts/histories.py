"""Which scored examples a judge is shown before it predicts an expert's score: the rules that keep the answer out."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sozo.data.errors import UserError

HISTORIES = ("zero", "diff", "same")


@dataclass(frozen=True, slots=True)
class Rated:
    """One score that an expert gave, which a judge is to predict."""

    rater: str
    item: str
    patent: str
    domain: str
    criterion: str
    score: int
    text: str  # what was rated, as a prompt shows it

    @property
    def id(self) -> str:
        """Unique among the ratings."""
        return f"{self.item} {self.criterion} {self.rater}"


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
    made = [Condition(h, n) for h in dict.fromkeys(histories) for n in (dict.fromkeys(shots) if h != "zero" else (0,))]
    return tuple(made)


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
            and (other.rater == target.rater if history == "same" else _is_colleague(other, target))
        ]

    def examples(self, target: Rated, condition: Condition, seed: int) -> list[Rated]:
        """The examples of one prompt: a function of seed, target and condition; `diff` and `same` draw alike."""
        if condition.history == "zero":
            return []
        pool = self.pool(target, condition.history)
        draw = random.Random(f"{seed}\0{target.id}\0{condition.shots}")
        return draw.sample(pool, min(condition.shots, len(pool)))


def _is_colleague(other: Rated, target: Rated) -> bool:
    return other.rater != target.rater and other.domain == target.domain


def sample_ratings(ratings: Sequence[Rated], most: int, seed: int = 0) -> list[Rated]:
    """At most so many ratings, as alike as possible from each expert and criterion, in their order."""
    shuffled = random.Random(seed).sample(ratings, len(ratings))
    turns: dict[tuple[str, str], int] = {}
    turn = {}
    for rating in shuffled:
        key = (rating.rater, rating.criterion)
        turns[key] = turn[rating.id] = turns.get(key, 0) + 1
    kept = {rating.id for rating in sorted(shuffled, key=lambda rating: turn[rating.id])[:most]}
    return [rating for rating in ratings if rating.id in kept]
