"""A rubric by which people or judges rated: one of sozo's, or a YAML file of that form (`suite/rubrics/jcq.yaml`)."""

from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from sozo.data.errors import UserError
from sozo.data.settings import from_validation, hint
from sozo.data.yaml_loader import parse_yaml
from sozo.suite.rubrics import Criterion


@pydantic.dataclasses.dataclass(
    frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True)
)
class RatingRubric:
    """Criteria in their order; one that is rated only after others stands behind them."""

    name: str
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1)]
    title: str = ""

    def __post_init__(self) -> None:
        before: dict[str, Criterion] = {}
        for number, criterion in enumerate(self.criteria, 1):
            if criterion.name in before:
                raise ValueError(
                    f"criterion {number}: {criterion.name!r} comes twice; leave one out"
                )
            for gate, least in (criterion.above or {}).items():
                if gate not in before or least >= before[gate].highest:
                    remedy = "name one before it, and less than its highest"
                    raise ValueError(
                        f"criterion {number}: `above` says {gate}: {least}; {remedy}"
                    )
            before[criterion.name] = criterion
        for name, criterion in self.by_name.items():
            for other in self.criteria:
                if other is not criterion and name in (
                    other.title.casefold(),
                    other.japanese.casefold(),
                ):
                    raise ValueError(
                        f"{criterion.name} and {other.name} both go by {name!r}; call one otherwise"
                    )

    @cached_property
    def by_name(self) -> dict[str, Criterion]:
        """Criteria by the names that they go by in a file, in small letters: name, title and Japanese."""
        by_name: dict[str, Criterion] = {}
        for criterion in self.criteria:
            by_name |= dict.fromkeys(
                (criterion.title.casefold(), criterion.japanese.casefold()), criterion
            )
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
    ours, path = files("sozo.suite.rubrics").iterdir(), Path(source)
    known = {
        file.name.removesuffix(".yaml"): file
        for file in ours
        if file.name.endswith(".yaml")
    }
    try:
        content = parse_yaml(known.get(str(source), path).read_text("utf-8"))
    except OSError as error:
        names = hint(str(source), known, f"; {', '.join(sorted(known))} exist")
        raise UserError(
            f"rubric {source}: cannot be read ({error.strerror}); give a name or a YAML file{names}"
        ) from error
    except ValueError as error:
        raise UserError(
            f"{path}: not YAML ({error}); write a rubric as suite/rubrics/jcq.yaml does"
        ) from error
    if isinstance(content, dict):
        content |= {
            "name": content.get("name") or path.stem,
            "title": content.get("title") or "",
        }
        rows = content.get("criteria")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and not row.get("title"):
                row["title"] = row.get("name")
    try:
        return TypeAdapter(RatingRubric).validate_python(content)
    except ValidationError as error:
        keys = Criterion.__dataclass_fields__ | RatingRubric.__dataclass_fields__
        raise from_validation(error, f"rubric {source}", keys) from error
