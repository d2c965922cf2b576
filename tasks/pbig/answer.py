"""From a model's text to an idea: one JSON object with exactly the four fields, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sozo.data.schema import utf8_safe
from sozo.scoring.final_text import final_text, one_json
from sozo.tasks.pbig.ideas import LIMITS, cut_to_limits


class PbigReason(StrEnum):
    """Why a text is no idea, in the order in which the rules are applied: the first that fails is given."""

    REASONING = "reasoning"  # that never ends
    NO_JSON = "no_json"  # not one JSON value, or a key comes twice
    NOT_FOUR_FIELDS = "not_four_fields"  # no object with exactly the four keys
    NO_TEXT = "no_text"  # a field is no string, or blank


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
        return Parsed(None, PbigReason.REASONING)
    try:
        values = one_json(final)
    except ValueError:
        return Parsed(None, PbigReason.NO_JSON)
    if not isinstance(values, dict) or set(values) != set(LIMITS):
        return Parsed(None, PbigReason.NOT_FOUR_FIELDS)
    if not all(isinstance(value, str) and value.strip() for value in values.values()):
        return Parsed(None, PbigReason.NO_TEXT)
    fields, cut = cut_to_limits({name: utf8_safe(value.strip()) for name, value in values.items()})
    return Parsed(fields, cut=cut)
