"""What people or judges rate by: criteria with a scale each, who rates which, and which is rated only after another.

`pbig.yaml` and `jcq.yaml` stand beside this; a file of one's own has the same form.
"""

from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StringConstraints, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.settings import from_validation, hint
from sozo.data.yaml_loader import parse_yaml

FOR_IDEAS = "pbig"  # what product ideas are rated by, unless something else is said


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
    above: dict[str, StrictInt] | None = None  # rated only where the same rater gave these criteria more than this
    not_applicable: StrictInt | None = None  # the score that says that the criterion does not apply

    def __post_init__(self) -> None:
        if self.lowest >= self.highest:
            raise ValueError(f"the scale {list(self.scale)} is not the lowest and the highest score, such as [1, 5]")
        if self.not_applicable not in (None, *self.scores):
            raise ValueError(f"not_applicable is {self.not_applicable}; give a score of the scale")

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


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class RatingRubric:
    """Criteria in their order; one that is rated only after others stands behind them."""

    name: str
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    title: str = ""

    def __post_init__(self) -> None:
        before: dict[str, Criterion] = {}
        for number, criterion in enumerate(self.criteria, 1):
            if criterion.name in before:
                raise ValueError(f"criterion {number}: {criterion.name!r} comes twice; leave one out")
            for gate, least in (criterion.above or {}).items():
                if gate not in before or least >= before[gate].highest:
                    remedy = "name one before it, and less than its highest"
                    raise ValueError(f"criterion {number}: `above` says {gate}: {least}; {remedy}")
            before[criterion.name] = criterion
        for name, criterion in self.by_name.items():
            for other in self.criteria:
                if other is not criterion and name in (other.title.casefold(), other.japanese.casefold()):
                    raise ValueError(f"{criterion.name} and {other.name} both go by {name!r}; call one otherwise")

    @cached_property
    def by_name(self) -> dict[str, Criterion]:
        """Criteria by the names that they go by in a file, in small letters: name, title and Japanese."""
        by_name: dict[str, Criterion] = {}
        for criterion in self.criteria:
            by_name |= dict.fromkeys((criterion.title.casefold(), criterion.japanese.casefold()), criterion)
        by_name |= {criterion.name: criterion for criterion in self.criteria}
        by_name.pop("", None)
        return by_name

    def criterion(self, name: str) -> Criterion | None:
        """The criterion that goes by a name; None if there is none.

        >>> rubric = load_rubric("pbig")
        >>> rubric.criterion("革新性").name, rubric.criterion("innovativeness").scores, rubric.criterion("beauty")
        ('innovativeness', (1, 2, 3, 4, 5), None)
        """
        return self.by_name.get(name.strip().casefold())


def load_rubric(source: str | Path) -> RatingRubric:
    """A rubric by its name (one that stands beside this file) or from a YAML file of that form.

    >>> [criterion.name for criterion in load_rubric("jcq").criteria]
    ['fluency', 'flexibility', 'originality', 'elaboration']
    """
    known = {file.name.removesuffix(".yaml"): file for file in files(__name__).iterdir() if file.name.endswith(".yaml")}
    path = Path(source)
    try:
        content = parse_yaml(known.get(str(source), path).read_text("utf-8"))
    except OSError as error:
        names = hint(str(source), known, f"; {', '.join(sorted(known))} exist")
        raise UserError(
            f"rubric {source}: cannot be read ({error.strerror}); give a name or a YAML file{names}"
        ) from error
    except ValueError as error:
        raise UserError(f"{path}: not YAML ({error}); write a rubric as data/rubrics/jcq.yaml does") from error
    if isinstance(content, dict):
        content |= {"name": content.get("name") or path.stem, "title": content.get("title") or ""}
        rows = content.get("criteria")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and not row.get("title"):
                row["title"] = row.get("name")
    try:
        return TypeAdapter(RatingRubric).validate_python(content)
    except ValidationError as error:
        keys = Criterion.__dataclass_fields__ | RatingRubric.__dataclass_fields__
        raise from_validation(error, f"rubric {source}", keys) from error
