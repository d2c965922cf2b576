"""What people or judges rate by: criteria with a scale each, who rates which, and which is rated only after another.

`pbig.yaml` and `jcq.yaml` stand beside this. A study of raters reads files of one's own too.
"""

from importlib.resources import files
from typing import Annotated

import pydantic
from pydantic import (
    AfterValidator,
    ConfigDict,
    StrictInt,
    StringConstraints,
    TypeAdapter,
)

from sozo.data.yaml_loader import parse_yaml


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Criterion:
    """One thing that is rated, by whole scores: an entry of a rubric's file."""

    # As files and tables call it, in small letters.
    name: Annotated[str, StringConstraints(pattern=r"\S"), AfterValidator(str.casefold)]
    scale: tuple[StrictInt, StrictInt]  # the lowest and the highest score
    title: str = ""
    japanese: str = ""
    description: str = ""  # what it asks about
    rubric: str = ""  # what each score stands for
    groups: tuple[str, ...] = ()  # who rates it; empty: everybody
    # Rated only where the same rater gave these criteria more than this
    above: dict[str, StrictInt] | None = None
    # The score that says that the criterion does not apply
    not_applicable: StrictInt | None = None

    def __post_init__(self) -> None:
        if self.lowest >= self.highest:
            raise ValueError(
                f"the scale {list(self.scale)} is not the lowest and the highest score, such as [1, 5]"
            )
        if self.not_applicable not in (None, *self.scores):
            raise ValueError(
                f"not_applicable is {self.not_applicable}; give a score of the scale"
            )

    @property
    def lowest(self) -> int:
        """The lowest score."""
        return self.scale[0]

    @property
    def highest(self) -> int:
        """The highest score."""
        return self.scale[1]

    @property
    def scores(self) -> tuple[int, ...]:
        """All scores, from the lowest."""
        return tuple(range(self.lowest, self.highest + 1))

    @property
    def instruction(self) -> str:
        """What a rater is told: the criterion with its description and its scores, as its table prints them."""
        return f"Criterion: {self.title}\nDescription: {self.description}\nRubric: {self.rubric}"


def criteria_of(name: str) -> tuple[Criterion, ...]:
    """The criteria of a rubric that stands beside this file, in their order.

    >>> [criterion.name for criterion in criteria_of("jcq")]
    ['fluency', 'flexibility', 'originality', 'elaboration']
    """
    rubric = parse_yaml(files(__name__).joinpath(f"{name}.yaml").read_text("utf-8"))
    return TypeAdapter(tuple[Criterion, ...]).validate_python(rubric["criteria"])
