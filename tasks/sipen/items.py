"""SIPeN (Sano et al., NLP 2025): premises, hypotheses with another expression of a scale, and controls of our own.

The paper's labels follow from the direction alone: of its hypotheses every implicature label is No. Controls are three
more hypotheses of a premise, whose answers are Yes, No and Maybe. The paper's items are not public; the trial's 48
Japanese premises with their contexts and controls were written for sozo. Nobody was asked how they read them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_objects, read_records, text_column
from sozo.data.schema import utf8_safe
from sozo.tasks.sipen.scales import MOST_STEPS, SCALES, STRONGER, WEAKER, Scale

YES, NO, MAYBE = ANSWERS = ("Yes", "No", "Maybe")
IMPLICATURE = {STRONGER: NO, WEAKER: NO}  # the paper's Tables 3 and 7
ENTAILMENT = {STRONGER: MAYBE, WEAKER: YES}
SAME, NEGATED, UNRELATED = "same", "negated", "unrelated"
CONTROL = {SAME: YES, NEGATED: NO, UNRELATED: MAYBE}
DIRECTIONS = (*IMPLICATURE, *CONTROL)
EXAMPLE = '{"id": "1+1", "premise_id": "1", "premise": "...", "hypothesis": "...", "direction": "stronger", "steps": 1}'


@dataclass(frozen=True, slots=True)
class SipenItem:
    """A hypothesis about a premise; what the right answer is follows from its `direction`."""

    id: str  # unique among the items
    premise_id: str  # that of all hypotheses about one premise
    premise: str  # a sentence
    hypothesis: str  # the same with another expression; of a control another sentence
    direction: str  # stronger or weaker; of a control same, negated or unrelated
    steps: int = 0  # on the scale, 1 or 2; 0 of a control
    context: str = ""  # the sentences before the premise
    category: str = ""  # quantifier, numeral or adjective
    scale: str = ""  # its name
    expression: str = ""  # in the premise
    replacement: str = ""  # in the hypothesis; empty of a control
    story: str = ""  # where the premise is from


def hypotheses(premise: SipenItem, scale: Scale, start: int) -> Iterator[SipenItem]:
    """The hypotheses about a premise by its expression's neighbours; `start` is where the expression stands.

    `premise` is an item to be copied, such as a control of the same premise. Nothing else in the sentence changes.
    """
    sentence, end = premise.premise, start + len(premise.expression)
    for direction, steps, other in scale.neighbours(premise.expression):
        values = asdict(premise) | {"direction": direction, "steps": steps, "replacement": other}
        values["id"] = f"{premise.premise_id}{'+' if direction == STRONGER else '-'}{steps}"
        values["hypothesis"] = sentence[:start] + other + sentence[end:]
        yield SipenItem(**values)


def read_items(path: Path) -> tuple[SipenItem, ...]:
    """A file of items (JSONL); what is wrong with a line is said in one line."""
    return read_records(path, _item, "items", EXAMPLE)


def trial_items() -> tuple[SipenItem, ...]:
    """Our own Japanese trial set: 48 premises, 132 hypotheses and 144 controls. It is not SIPeN.

    >>> len(trial_items()), len({item.premise_id for item in trial_items()})
    (276, 48)
    """
    with as_file(files("sozo.data").joinpath("sipen_trial_ja.jsonl")) as packaged:
        return tuple(item for _, row in read_objects(packaged) for item in _of_premise(row))


def content_hash(items: Iterable[SipenItem]) -> str:
    """SHA-256 of what is asked, whatever the order and form of the file."""
    lines = sorted(json.dumps(asdict(item), ensure_ascii=False) for item in items)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _of_premise(row: dict[str, str]) -> Iterator[SipenItem]:
    scale, expression, sentence = SCALES[row["scale"]], row["expression"], row["premise"]
    known: dict[str, Any] = {
        "category": scale.category,
        "scale": scale.name,
        "expression": expression,
        "context": row["context"],
    }
    for direction, text in ((SAME, sentence), (NEGATED, row["negated"]), (UNRELATED, row["unrelated"])):
        control = SipenItem(f"{row['id']}-{direction}", row["id"], sentence, text, direction, **known)
        if direction == SAME:
            yield from hypotheses(control, scale, sentence.index(expression))
        yield control


def _item(where: str, row: dict[str, Any]) -> SipenItem:
    """An item of a line, with every value checked."""
    values: dict[str, Any] = {name: id_column(row, name, where) for name in ("id", "premise_id")}
    for name in ("premise", "hypothesis", "direction"):
        if not (values := values | {name: utf8_safe(text_column(row, name, where))})[name].strip():
            raise UserError(f"{where}: the column {name} is blank; give a text, such as {EXAMPLE}")
    if values["direction"] not in DIRECTIONS:
        raise UserError(f"{where}: the direction is {values['direction']!r}; it must be one of {', '.join(DIRECTIONS)}")
    steps, least = row.get("steps", 0), int(values["direction"] in IMPLICATURE)
    if isinstance(steps, bool) or not isinstance(steps, int) or not least <= steps <= least * MOST_STEPS:
        meant = f"1 to {MOST_STEPS}" if least else "0, for it is a control"
        raise UserError(f"{where}: the steps are {steps!r}; they must be {meant}")
    for name in (field.name for field in fields(SipenItem) if field.name not in {*values, "steps"}):
        values[name] = utf8_safe(text_column(row, name, where, ""))
    return SipenItem(**values, steps=steps)
