"""A rubric by which people or judges rated: one of sozo's, or a YAML file of that form (`suite/rubrics/jcq.yaml`)."""

from collections import Counter
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.settings import from_validation
from sozo.data.yaml_loader import parse_yaml
from sozo.suite.rubrics import Criterion


@pydantic.dataclasses.dataclass(
    frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True)
)
class RatingRubric:
    """Criteria in their order; one that is rated only after others stands behind them."""

    name: str
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    title: str | None = None

    def __post_init__(self) -> None:
        counts = Counter(name for own in self.criteria for name in _names(own))
        for name, n in counts.items():
            if n > 1:
                raise ValueError(
                    f"{n} criteria go by {name!r}; call one otherwise, or leave it out"
                )

    @cached_property
    def by_name(self) -> dict[str, Criterion]:
        """Criteria by the names that they go by in a file, in small letters: name, title and Japanese.

        >>> rubric = load_rubric("pbig")
        >>> rubric.by_name["革新性"].name, rubric.by_name["innovativeness"].scores
        ('innovativeness', (1, 2, 3, 4, 5))
        """
        return {name: own for own in self.criteria for name in _names(own)}


def _names(criterion: Criterion) -> set[str]:
    known = criterion.name, criterion.title, criterion.japanese
    return {name.casefold() for name in known if name}


def load_rubric(source: str | Path) -> RatingRubric:
    """A rubric by its name (one that stands beside this file) or from a YAML file of that form.

    >>> [criterion.name for criterion in load_rubric("jcq").criteria]
    ['fluency', 'flexibility', 'originality', 'elaboration']
    """
    path, ours = Path(source), files("sozo.suite.rubrics").joinpath(f"{source}.yaml")
    try:
        content = parse_yaml((ours if ours.is_file() else path).read_text("utf-8"))
    except OSError as error:
        raise UserError(
            f"rubric {source}: cannot be read ({error.strerror}); give a name of suite/rubrics, or a YAML file"
        ) from error
    except ValueError as error:
        raise UserError(
            f"{path}: not YAML ({error}); write a rubric as suite/rubrics/jcq.yaml does"
        ) from error
    if isinstance(content, dict):
        content["name"] = content.get("name") or path.stem
    try:
        return TypeAdapter(RatingRubric).validate_python(content)
    except ValidationError as error:
        keys = Criterion.__dataclass_fields__ | RatingRubric.__dataclass_fields__
        raise from_validation(error, f"rubric {source}", keys) from error
