"""Scales of expressions (Horn scales), strong to weak, and the neighbours of an expression on its scale."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

STRONGER, WEAKER = "stronger", "weaker"
MOST_STEPS = 2


class Neighbour(NamedTuple):
    """Another expression of a scale."""

    direction: str  # STRONGER or WEAKER than the one that it is a neighbour of
    steps: int  # 1 or 2
    expression: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of expressions; of whole numbers in digits, `expressions` is empty."""

    name: str
    category: str  # quantifier, numeral or adjective
    expressions: tuple[str, ...] = ()  # the strongest first

    def neighbours(self, expression: str) -> Iterator[Neighbour]:
        """Expressions one and two steps away, stronger first; the first letter is as large as in `expression`.

        >>> [n.expression for n in SCALES["all-most-many-some-few"].neighbours("Most")]
        ['All', 'Many', 'Some']
        >>> [n.expression for n in SCALES["n-2-1"].neighbours("2")]
        ['3', '4', '1']
        """
        for direction, sign in ((STRONGER, 1), (WEAKER, -1)):
            for steps in range(1, MOST_STEPS + 1):
                if (found := self._away(expression, sign * steps)) is not None:
                    yield Neighbour(
                        direction, steps, found[0].upper() + found[1:] if expression[0].isupper() else found
                    )

    def _away(self, expression: str, up: int) -> str | None:
        if not self.expressions:
            number = int(expression) + up
            return str(number) if number >= 1 else None
        place = self.expressions.index(expression.lower()) - up
        return self.expressions[place] if 0 <= place < len(self.expressions) else None


def _scale(category: str, name: str) -> Scale:
    return Scale(name, category, tuple(name.split("-")))


_WORDS = ("ten", "nine", "eight", "seven", "six", "five", "four", "three", "two", "one")
ENGLISH = (  # the paper's Table 1
    _scale("quantifier", "all-most-many-some-few"),
    Scale("n-2-1", "numeral"),
    Scale("ten-two-one", "numeral", _WORDS),
    _scale("adjective", "hot-warm"),
    _scale("adjective", "excellent-good"),
    _scale("adjective", "cold-cool"),
)
# Ours. 少し is left out: what holds of いくつか need not hold of it.
JAPANESE = (
    _scale("quantifier", "すべて-ほとんど-多く-いくつか"),
    *(_scale("adjective", name) for name in ("熱い-温かい", "素晴らしい-良い", "寒い-涼しい", "巨大な-大きな")),
)
SCALES = {scale.name: scale for scale in (*ENGLISH, *JAPANESE)}
CATEGORIES = ("quantifier", "numeral", "adjective")
