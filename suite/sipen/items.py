"""SIPeN (Sano et al., NLP 2025): premises, hypotheses with another expression of a scale, and controls of our own.

The paper's labels follow from the direction alone: of its hypotheses every implicature label is No. Controls are other
hypotheses, whose answers are Yes, No and Maybe whether a scale is read literally or with its implicatures. The paper's
items are not public; the trial's Japanese premises with their contexts and controls were written for sozo. Nobody was
asked how they read them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from pydantic import StrictInt

from sozo.data.errors import UserError
from sozo.data.jsonl import (
    SafeFilledText,
    SafeId,
    SafeText,
    read_objects,
    read_records,
    record_of,
)
from sozo.data.prompts import fill, prompt
from sozo.scoring.final_text import final_text

STRONGER, WEAKER = "stronger", "weaker"
MOST_STEPS = 2


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of expressions; of whole numbers in digits, `expressions` is empty."""

    name: str
    category: str  # quantifier, numeral or adjective
    expressions: tuple[str, ...] = ()  # the strongest first

    def neighbours(self, expression: str) -> Iterator[tuple[str, int, str]]:
        """Expressions one and two steps away, stronger first, each with its direction and steps before it.

        Their first letter is as large as in `expression`.

        >>> list(SCALES["all-most-many-some-few"].neighbours("Most"))
        [('stronger', 1, 'All'), ('weaker', 1, 'Many'), ('weaker', 2, 'Some')]
        >>> [other for _, _, other in SCALES["n-2-1"].neighbours("2")]
        ['3', '4', '1']
        """
        for direction, sign in ((STRONGER, 1), (WEAKER, -1)):
            for steps in range(1, MOST_STEPS + 1):
                other = self._away(expression, sign * steps)
                if other is not None:
                    as_large = (
                        other[0].upper() + other[1:]
                        if expression[0].isupper()
                        else other
                    )
                    yield direction, steps, as_large

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
    *(
        _scale("adjective", name)
        for name in (
            "ひどい-悪い",
            "素晴らしい-良い",
            "大好きな-好きな",
            "巨大な-大きな",
        )
    ),
)
SCALES = {scale.name: scale for scale in (*ENGLISH, *JAPANESE)}
CATEGORIES = ("quantifier", "numeral", "adjective")

YES, NO, MAYBE = ANSWERS = ("Yes", "No", "Maybe")
IMPLICATURE = {STRONGER: NO, WEAKER: NO}  # the paper's Tables 3 and 7
ENTAILMENT = {STRONGER: MAYBE, WEAKER: YES}
CONTROL = {"entailed": YES, "contradicted": NO, "neutral": MAYBE}
DIRECTIONS = (*IMPLICATURE, *CONTROL)
EXAMPLE = '{"id": "1+1", "premise_id": "1", "premise": "...", "hypothesis": "...", "direction": "stronger", "steps": 1}'


@dataclass(frozen=True, slots=True)
class SipenItem:
    """A hypothesis about a premise; what the right answer is follows from its `direction`."""

    id: SafeId  # unique among the items
    premise_id: SafeId  # that of all hypotheses about one premise
    premise: SafeFilledText  # a sentence
    hypothesis: SafeFilledText  # the same with another expression; of a control another sentence
    direction: (
        SafeText  # stronger or weaker; of a control entailed, contradicted or neutral
    )
    steps: StrictInt = 0  # on the scale, 1 or 2; 0 of a control
    context: SafeText = ""  # the sentences before the premise
    category: SafeText = ""  # quantifier, numeral or adjective
    scale: SafeText = ""  # its name
    expression: SafeText = ""  # in the premise
    replacement: SafeText = ""  # in the hypothesis; empty of a control
    # Where the premise is from; premises of one story are not independent
    story: SafeText = ""


def hypotheses(premise: SipenItem, scale: Scale, start: int) -> Iterator[SipenItem]:
    """The hypotheses about a premise by its expression's neighbours; `start` is where the expression stands.

    `premise` is an item to be copied. Nothing else in the sentence changes.
    """
    sentence, end = premise.premise, start + len(premise.expression)
    for direction, steps, other in scale.neighbours(premise.expression):
        values = asdict(premise) | {
            "direction": direction,
            "steps": steps,
            "replacement": other,
        }
        values["id"] = (
            f"{premise.premise_id}{'+' if direction == STRONGER else '-'}{steps}"
        )
        values["hypothesis"] = sentence[:start] + other + sentence[end:]
        yield SipenItem(**values)


def read_items(path: Path) -> tuple[SipenItem, ...]:
    """A file of items (JSONL); what is wrong with a line is said in one line."""
    return read_records(path, _item, "items", EXAMPLE)


@cache
def trial_hash() -> str:
    """The hash of the trial's items, by which a run says that it asked them."""
    return content_hash(trial_items())


def trial_items() -> tuple[SipenItem, ...]:
    """Our own Japanese trial set: 132 hypotheses about 48 premises, and 144 controls about others. It is not SIPeN.

    >>> len(trial_items()), len({item.premise_id for item in trial_items()})
    (276, 96)
    """
    rows = [
        row for name in ("trial", "controls") for row in _packaged(f"{name}_ja.jsonl")
    ]
    return tuple(item for row in rows for item in _of_premise(row))


def _packaged(name: str) -> list[dict[str, str]]:
    with as_file(files(__package__).joinpath(name)) as packaged:
        return [row for _, row in read_objects(packaged)]


def content_hash(items: Iterable[SipenItem]) -> str:
    """SHA-256 of what is asked, whatever the order and form of the file."""
    lines = sorted(json.dumps(asdict(item), ensure_ascii=False) for item in items)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _of_premise(row: dict[str, str]) -> Iterator[SipenItem]:
    """The hypotheses about a premise: controls if their sentences are given, else by its expression's scale."""
    name, sentence = row["id"], row["premise"]
    known: dict[str, Any] = {
        "premise_id": name,
        "premise": sentence,
        "context": row["context"],
    }
    for direction in (direction for direction in CONTROL if direction in row):
        yield SipenItem(
            f"{name}-{direction}",
            hypothesis=row[direction],
            direction=direction,
            story=row["story"],
            **known,
        )
    if scale := SCALES.get(row.get("scale", "")):
        known |= {
            "category": scale.category,
            "scale": scale.name,
            "expression": row["expression"],
        }
        premise = SipenItem(name, hypothesis=sentence, direction="", **known)
        yield from hypotheses(premise, scale, sentence.index(row["expression"]))


def _item(where: str, row: dict[str, Any]) -> SipenItem:
    item = record_of(SipenItem, where, row)
    if item.direction not in DIRECTIONS:
        raise UserError(
            f"{where}: the direction is {item.direction!r}; it must be one of {', '.join(DIRECTIONS)}"
        )
    least, steps = int(item.direction in IMPLICATURE), row.get("steps", 0)
    if steps is None or not least <= steps <= least * MOST_STEPS:
        meant = f"1 to {MOST_STEPS}" if least else "0, for it is a control"
        raise UserError(f"{where}: the steps are {steps}; they must be {meant}")
    return item


_QUOTES = (
    ("**", "**"),
    ("*", "*"),
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("‘", "’"),
    ("「", "」"),
    ("『", "』"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """A prompt with the words of its answers."""

    prompt: str
    options: tuple[str, str, str]  # as they are written, in the order of `ANSWERS`
    comma: str  # between them
    space: str  # between sentences

    def ask(self, item: SipenItem, *, context: bool = True) -> str:
        """The user's turn: the context and the premise fill one place, for the paper's prompt has no other."""
        premise = self.space.join(filter(None, (item.context * context, item.premise)))
        options = self.comma.join(self.options)
        return fill(
            prompt(self.prompt, __package__),
            options=options,
            premise=premise,
            hypothesis=item.hypothesis,
        )

    def read(self, text: str) -> str | None:
        """The answer, one of `ANSWERS`; None of a text that is not one option and nothing else.

        After reasoning, an option may stand in quotes or bold, in any case, with a full stop.

        >>> form = FORMS["sipen-v1"]
        >>> [form.read(text) for text in ("**No.**", "<think>No</think> yes", "No, because", "いいえ")]
        ['No', 'Yes', None, None]
        """
        words = {
            option.casefold(): answer
            for option, answer in zip(self.options, ANSWERS, strict=True)
        }
        return words.get(_bare((final_text(text) or "").casefold()))


def _bare(text: str) -> str:
    """Without one pair of quotes and one full stop, in or behind them."""
    stopped = text[-1:] in (".", "。")
    text = text[:-1] if stopped else text
    for first, last in _QUOTES:
        if (
            len(text) > len(first + last)
            and text.startswith(first)
            and text.endswith(last)
        ):
            text = text[len(first) : -len(last)]
            return text[:-1] if not stopped and text[-1:] in (".", "。") else text
    return text


_JAPANESE = ("はい", "いいえ", "どちらともいえない")
FORMS = {
    "sipen-v1": Form("sipen", ("Yes", "No", "Maybe"), ", ", " "),  # the paper's (A.1)
    "sipen-ja-v1": Form("sipen_ja", _JAPANESE, "、", ""),  # the paper's in Japanese
    # Ours, whose question tells No from Maybe
    "sipen-ja-v2": Form("sipen_ja_v2", _JAPANESE, "、", ""),
}
