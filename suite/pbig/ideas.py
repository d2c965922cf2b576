"""Product ideas from patents (PBIG-DATA, section 3.1): a patent, an idea with its limits, their files and texts.

Neither the paper's patents nor its ideas are part of this package. `suite/pbig/trial/` holds 24 technologies and 72
ideas that were invented for sozo; they are no patents, and they never enter training data.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator

from sozo.data.errors import UserError
from sozo.data.jsonl import (
    Id,
    SafeFilledText,
    SafeId,
    SafeText,
    read_records,
    record_of,
)
from sozo.data.schema import utf8_safe
from sozo.scoring.final_text import final_text, one_json

T = TypeVar("T")
# An idea's fields and the most characters of each (section 3.1).
LIMITS = {
    "title": 100,
    "description": 300,
    "implementation": 300,
    "differentiation": 300,
}


def _listed(claims: Any) -> Any:
    return [claims] if isinstance(claims, str) and claims else claims or ()


@dataclass(frozen=True, slots=True)
class Patent:
    """What an idea starts from: a patent, or a technology that stands in for one."""

    id: SafeId  # its publication number; unique among the patents
    title: SafeFilledText
    abstract: SafeFilledText
    claims: Annotated[tuple[SafeText, ...], BeforeValidator(_listed)] = ()
    description: SafeText = ""
    domain: SafeText = ""  # the paper's: NLP, CS, MatChem


@dataclass(frozen=True, slots=True)
class Idea:
    """A product idea from one patent, each field within its limit."""

    id: SafeId  # unique among the ideas
    patent: Id  # the patent's id
    title: SafeText
    description: SafeText
    implementation: SafeText
    differentiation: SafeText


def cut_to_limits(fields: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """An idea's fields, each cut where its limit ends it as the shared task's organisers did, and which were cut.

    >>> cut_to_limits({"title": "枕" * 101, "description": "眠る", "implementation": "", "differentiation": ""})[1]
    ('title',)
    """
    over = tuple(name for name, limit in LIMITS.items() if len(fields[name]) > limit)
    return {name: fields[name][:limit] for name, limit in LIMITS.items()}, over


class PbigReason(StrEnum):
    """Why a text is no idea, in the order in which the rules are applied: the first that fails is given."""

    NO_TEXT = "no_text"  # but reasoning that never ends
    NO_JSON = "no_json"  # not one JSON value, or a key comes twice
    NOT_FOUR_FIELDS = "not_four_fields"  # no object with exactly the four keys
    BLANK_FIELD = "blank_field"  # or one that is no string


@dataclass(frozen=True, slots=True)
class Parsed:
    """What became of an answer: an idea's fields, or a reason."""

    fields: Mapping[str, str] | None  # each within its limit
    reason: PbigReason | None = None
    cut: tuple[str, ...] = ()  # the fields that were too long


def parse_idea(text: str) -> Parsed:
    """The idea that a text is, after any reasoning and but for a code fence.

    A field over its limit is cut, as the shared task's organisers did, and named.

    >>> parse_idea('{"title": "枕", "description": "眠る", "implementation": "縫う", "differentiation": "軽い"}').reason
    >>> str(parse_idea("よい枕です。").reason), str(parse_idea("{}").reason)
    ('no_json', 'not_four_fields')
    """
    final = final_text(text)
    if final is None:
        return Parsed(None, PbigReason.NO_TEXT)
    try:
        values = one_json(final)
    except ValueError:
        return Parsed(None, PbigReason.NO_JSON)
    if not isinstance(values, dict) or set(values) != set(LIMITS):
        return Parsed(None, PbigReason.NOT_FOUR_FIELDS)
    if not all(isinstance(value, str) and value.strip() for value in values.values()):
        return Parsed(None, PbigReason.BLANK_FIELD)
    fields, cut = cut_to_limits(
        {name: utf8_safe(value.strip()) for name, value in values.items()}
    )
    return Parsed(fields, cut=cut)


def patent_text(patent: Patent) -> str:
    """A patent as a prompt shows it: title, abstract, first claim. Ten patents as a whole would fill any context.

    >>> patent_text(Patent("US1", "Pillow", "A pillow that listens.", ("A pillow with a microphone.", "A bed.")))
    'Patent: Pillow\\nAbstract: A pillow that listens.\\nClaim 1: A pillow with a microphone.'
    """
    claim = f"\nClaim 1: {patent.claims[0]}" if patent.claims else ""
    return f"Patent: {patent.title}\nAbstract: {patent.abstract}{claim}"


def idea_text(idea: Idea | Mapping[str, str]) -> str:
    """An idea as a prompt shows it, a line for each field.

    >>> print(idea_text(Idea("1", "US1", "Quiet Pillow", "It hears snoring.", "Microphones.", "No strap.")))
    Product idea: Quiet Pillow
    Description: It hears snoring.
    Implementation: Microphones.
    Differentiation: No strap.
    """
    fields = asdict(idea) if isinstance(idea, Idea) else idea
    # A line break of the idea's own could pass for the prompt's next line.
    title, *others = (" ".join(fields[name].split()) for name in LIMITS)
    lines = [
        f"{name.capitalize()}: {text}"
        for name, text in zip(list(LIMITS)[1:], others, strict=True)
    ]
    return "\n".join([f"Product idea: {title}", *lines])


def read_patents(path: Path) -> tuple[Patent, ...]:
    """The patents of a JSONL file: columns id, title and abstract; claims (a string or a list), description, domain."""
    return read_records(
        path,
        partial(record_of, Patent),
        "patents",
        '{"id": "...", "title": "...", "abstract": "..."}',
    )


def read_ideas(path: Path, patents: Collection[str]) -> tuple[Idea, ...]:
    """The ideas of a JSONL file, in order: columns id, patent (one of the ids `patents`) and the fields of `LIMITS`.

    Fields end at their limits.
    """

    def idea(where: str, row: dict[str, Any]) -> Idea:
        read = record_of(Idea, where, row)
        if read.patent not in patents:
            missing = (
                f"an idea of the patent {read.patent!r}, which is not among the patents"
            )
            raise UserError(f"{where}: {missing}; give its file")
        fields, _ = cut_to_limits(asdict(read))
        for name, text in fields.items():
            if not text.strip():
                raise UserError(
                    f"{where}: the idea {read.id!r} has no {name}; write one or leave the line out"
                )
        return replace(read, **fields)

    fields = ", ".join(f'"{name}": "..."' for name in LIMITS)
    return read_records(
        path, idea, "ideas", f'{{"id": "...", "patent": "...", {fields}}}'
    )


def trial_file(name: str) -> Path:
    """Where a file of the trial is: `technologies.jsonl`, `ideas.jsonl` or `ratings.csv`."""
    return Path(str(files(__package__).joinpath("trial", name)))


def trial_patents() -> tuple[Patent, ...]:
    """24 invented technologies in Japanese, eight for each of the paper's fields: no patents.

    >>> len(trial_patents())
    24
    """
    return read_patents(trial_file("technologies.jsonl"))


def trial_ideas() -> tuple[Idea, ...]:
    """72 ideas from these, three each: a good one, a vague one, and one that cannot be built (the end of its id).

    >>> [idea.id for idea in trial_ideas()[:3]]
    ['nlp-1-good', 'nlp-1-vague', 'nlp-1-unbuildable']
    """
    return read_ideas(
        trial_file("ideas.jsonl"), {patent.id for patent in trial_patents()}
    )
