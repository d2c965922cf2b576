"""What people or judges rate by: criteria with a scale each, who rates which, and which is rated only after another.

`pbig.yaml` and `jcq.yaml` stand beside this; a file of one's own has the same form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeGuard

from sozo.data.errors import UserError
from sozo.data.settings import hint

FOR_IDEAS = "pbig"  # what product ideas are rated by, unless something else is said


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that is rated, by whole scores."""

    name: str  # as files and tables call it
    lowest: int
    highest: int
    title: str = ""
    japanese: str = ""
    description: str = ""  # what it asks about
    rubric: str = ""  # what each score stands for
    groups: tuple[str, ...] = ()  # who rates it; empty: everybody
    above: Mapping[str, int] | None = None  # rated only where the same rater gave these criteria more than this
    not_applicable: int | None = None  # the score that says that the criterion does not apply

    @property
    def scores(self) -> tuple[int, ...]:
        """All scores, from the lowest."""
        return tuple(range(self.lowest, self.highest + 1))

    @property
    def instruction(self) -> str:
        """What a rater is told: the criterion with its description and its scores, as its table prints them."""
        return f"Criterion: {self.title}\nDescription: {self.description}\nRubric: {self.rubric}"


@dataclass(frozen=True)
class RatingRubric:
    """Criteria in their order; one that is rated only after others stands behind them."""

    name: str
    criteria: tuple[Criterion, ...]
    title: str = ""

    @cached_property
    def by_name(self) -> dict[str, Criterion]:
        """Criteria by the names that they go by in a file, in small letters: name, title and Japanese."""
        named = {name: c for c in self.criteria for name in (c.title, c.japanese) if name}
        return {name.casefold(): criterion for name, criterion in named.items()} | {c.name: c for c in self.criteria}

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
    import yaml

    known = {file.name.removesuffix(".yaml"): file for file in files(__name__).iterdir() if file.name.endswith(".yaml")}
    path = Path(source)
    try:
        packaged = known.get(str(source))
        text = packaged.read_text("utf-8") if packaged else path.read_text("utf-8")
        content = yaml.safe_load(text)
    except OSError as error:
        names = hint(str(source), known, f"; {', '.join(sorted(known))} exist")
        raise UserError(
            f"rubric {source}: cannot be read ({error.strerror}); give a name or a YAML file{names}"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise UserError(f"{where}: not YAML; write a rubric as data/rubrics/jcq.yaml does") from error
    try:
        return _rubric(content, path.stem)
    except UserError as error:
        raise UserError(f"rubric {source}: {error}") from None


def _rubric(content: Any, stem: str) -> RatingRubric:
    if not isinstance(content, dict) or not isinstance(content.get("criteria"), list) or not content["criteria"]:
        raise UserError("holds no list of criteria; write one as data/rubrics/jcq.yaml does")
    if unknown := set(content) - {"name", "title", "criteria"}:
        raise UserError(f"unknown key {min(map(str, unknown))}; name, title and criteria exist")
    criteria: list[Criterion] = []
    for number, row in enumerate(content["criteria"], 1):
        criterion = _criterion(row, f"criterion {number}")
        if criterion.name in (names := [before.name for before in criteria]):
            raise UserError(f"criterion {number}: {criterion.name!r} comes twice; leave one out")
        for name, least in (criterion.above or {}).items():
            if name not in names or not least < criteria[names.index(name)].highest:
                said = f"`above` says {name}: {least}"
                raise UserError(f"criterion {number}: {said}; name one before it, and less than its highest")
        criteria.append(criterion)
    rubric = RatingRubric(str(content.get("name") or stem), tuple(criteria), str(content.get("title") or ""))
    for name, one in rubric.by_name.items():
        for other in rubric.criteria:
            if other is not one and name in (other.name, other.title.casefold(), other.japanese.casefold()):
                raise UserError(f"{one.name} and {other.name} both go by {name!r}; call one otherwise")
    return rubric


def _criterion(row: Any, where: str) -> Criterion:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not row["name"].strip():
        raise UserError(f"{where}: has no name; give one")
    where = f"{where} ({row['name']})"
    known = [field.name for field in fields(Criterion) if field.name not in ("lowest", "highest")] + ["scale"]
    for key in row:
        if key not in known:
            raise UserError(f"{where}: unknown key {key}" + hint(str(key), known, f"; {', '.join(known)} exist"))
    scale = row.get("scale")
    if not _whole(scale) or len(scale) != 2 or scale[0] >= scale[1]:
        raise UserError(f"{where}: the scale {scale} is not the lowest and the highest score; write it like [1, 5]")
    values: dict[str, Any] = {"name": row["name"].casefold(), "lowest": scale[0], "highest": scale[1]}
    for key in ("title", "japanese", "description", "rubric"):
        if not isinstance(row.get(key, ""), str):
            raise UserError(f"{where}: {key} is no text; put it in quotes")
        values[key] = row.get(key, "") or (row["name"] if key == "title" else "")
    groups, above, none = row.get("groups", []), row.get("above") or {}, row.get("not_applicable")
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise UserError(f"{where}: groups is no list of names; write it like [technical, business]")
    if not isinstance(above, dict) or not _whole(list(above.values())):
        raise UserError(f"{where}: above is no mapping of criteria to scores; write it like {{specificity: 2}}")
    if none is not None and not (_whole([none]) and scale[0] <= none <= scale[1]):
        raise UserError(f"{where}: not_applicable is {none}; give a score of the scale")
    return Criterion(**values, groups=tuple(groups), above=above or None, not_applicable=none)


def _whole(values: Any) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int for value in values)
