"""What a judge is asked before it predicts an expert's score: under which conditions, and with which examples."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sozo.data.errors import UserError
from sozo.scoring.judges.protocol import ToJudge
from sozo.studies.experts.rated import Rated
from sozo.studies.rubric import RatingRubric
from sozo.suite.rubrics import Criterion

HISTORIES = ("zero", "diff", "same")


def examples_text(examples: Iterable[tuple[str, int]]) -> str:
    """The prompt's section of examples, what was scored and its score; without any there is no section.

    >>> examples_text([("Idea: a cup", 3)])
    '# Examples\\nExample 1\\nIdea: a cup\\nScore: 3\\n\\n'
    """
    texts = [
        f"Example {number}\n{text}\nScore: {score}\n\n"
        for number, (text, score) in enumerate(examples, 1)
    ]
    return "# Examples\n" + "".join(texts) if texts else ""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a judge is shown: nothing, other experts' examples (diff) or the expert's own (same)."""

    history: str  # one of HISTORIES
    shots: int = 0  # examples at most

    @property
    def name(self) -> str:
        """As tables call it."""
        return f"{self.history} {self.shots}" if self.shots else self.history

    def ask_id(self, rating: Rated) -> str:
        """Unique among the ratings under all conditions."""
        return f"{rating.id} {self.name}"


def conditions_of(
    histories: Sequence[str], shots: Sequence[int]
) -> tuple[Condition, ...]:
    """All conditions, zero once.

    >>> [condition.name for condition in conditions_of(["zero", "same"], [1, 5])]
    ['zero', 'same 1', 'same 5']
    """
    for history in histories:
        if history not in HISTORIES:
            raise UserError(
                f"--history must be of {', '.join(HISTORIES)}, not {history}"
            )
    if (
        not histories
        or (set(histories) != {"zero"} and not shots)
        or min(shots, default=1) < 1
    ):
        raise UserError("give a --history, and --shots of 1 or more examples")
    conditions: list[Condition] = []
    for history in dict.fromkeys(histories):
        conditions += [
            Condition(history, n)
            for n in (dict.fromkeys(shots) if history != "zero" else (0,))
        ]
    return tuple(conditions)


@dataclass(frozen=True)
class Plan:
    """Which ratings are predicted under which conditions, and what a judge is shown before: never the answer.

    No example is of the idea that is to be predicted, nor of another one of its patent. All are of the same criterion,
    `same` by the same expert, `diff` by others of the same domain.
    """

    ratings: Sequence[Rated]  # what examples are drawn from
    rubric: RatingRubric
    conditions: Sequence[Condition]
    most: int | None = None  # ratings to predict; None: all

    @cached_property
    def targets(self) -> Sequence[Rated]:
        """The ratings that are predicted, in order: as alike as possible from each expert and criterion."""
        if self.most is None:
            return self.ratings
        shuffled = random.Random(0).sample(self.ratings, len(self.ratings))
        count: Counter[tuple[str, str]] = Counter()
        turn = {}
        for rating in shuffled:
            group = (rating.rater, rating.criterion)
            count[group] += 1
            turn[rating.id] = count[group]
        kept = {
            rating.id
            for rating in sorted(shuffled, key=lambda rating: turn[rating.id])[
                : self.most
            ]
        }
        return [rating for rating in self.ratings if rating.id in kept]

    @cached_property
    def parts(self) -> list[tuple[Criterion, list[Rated]]]:
        """The criteria by which anything is predicted, each with these ratings."""
        parts = [
            (c, [rating for rating in self.targets if rating.criterion == c.name])
            for c in self.rubric.criteria
        ]
        return [(criterion, part) for criterion, part in parts if part]

    @property
    def shots(self) -> list[int]:
        """Numbers of examples, from the least; without zero."""
        return sorted(
            {condition.shots for condition in self.conditions if condition.shots}
        )

    @cached_property
    def _by_criterion(self) -> dict[str, list[Rated]]:
        by_criterion: dict[str, list[Rated]] = {}
        for rating in self.ratings:
            by_criterion.setdefault(rating.criterion, []).append(rating)
        return by_criterion

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

    def asks(self, ratings: Sequence[Rated], seed: int) -> Iterator[ToJudge]:
        """What a judge is asked with one seed about `ratings`, condition by condition; its question holds examples."""
        for condition in self.conditions:
            for rating in ratings:
                examples = self.examples(rating, condition, seed)
                question = examples_text(
                    (example.text, example.score) for example in examples
                )
                yield ToJudge(
                    condition.ask_id(rating),
                    rating.item,
                    question,
                    rating.text,
                    condition.name,
                )
