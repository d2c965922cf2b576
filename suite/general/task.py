"""General check: texts that are read, instructions that a program checks, open questions whose answers are measured."""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sozo.data.jsonl import read_records
from sozo.scoring.final_text import final_text, refuses
from sozo.scoring.measure import Measure
from sozo.suite.general.checks import CHECKS, cleaned
from sozo.tasks.held_out import fingerprint, refuse
from sozo.tasks.run_result import RunResult
from sozo.tasks.task import Answer, ChosenItems, Control, Item, Row
from sozo.tasks.view import View

NAME = "general"
LANGUAGES = ("ja", "en")
FEW = {
    "ja": 50,
    "en": 100,
}  # an answer to an open question of fewer characters is short
UNREAD = "no_likelihood"  # a server gives none, or the vocabulary cannot write the text


def _by_language(name: str, **options: Any) -> tuple[Measure, ...]:
    """A measure of each language, of the kind of items that has its name."""
    return tuple(
        Measure(f"{NAME}/{name}_{language}", kinds=(f"{name}_{language}",), **options)
        for language in LANGUAGES
    )


_INSTRUCTIONS = _by_language("instructions", share=True)
_BITS = _by_language("bits", better=-1, digits=3, unit="bits")
_LENGTH = _by_language("length", better=0, digits=0, unit="characters")
_MAIN = Measure(
    NAME, share=True, kinds=tuple(measure.short for measure in _INSTRUCTIONS)
)
_SHORT = Measure(
    f"{NAME}/few_characters",
    share=True,
    better=-1,
    kinds=tuple(measure.short for measure in _LENGTH),
)


class GeneralView(View[RunResult]):
    """What was not read is said in a line."""

    def notes(self, run: RunResult) -> list[str]:
        unread = run.metrics["reasons"].get(UNREAD)
        why = "a server and vLLM give none, and a vocabulary may lack words"
        return (
            [f"BITS PER CHARACTER: not measured of {unread} texts; {why}."]
            if unread
            else []
        )


class General(ChosenItems):
    """Is it still a model? Bits per character of texts, instructions followed, and how long answers are.

    Texts are items that are read (`Item.read`): they travel as all items do, in parts that are there or not, and a run
    that is cut off goes on. A second pass over the model beside the answers would have needed a table, a resumption and
    a retry of its own.

    >>> len(General().items())
    142
    """

    name = NAME
    title = "General check"
    measures = (_MAIN, *_INSTRUCTIONS, *_BITS, _SHORT, *_LENGTH)
    control = Control(measure=_MAIN, chance=0.0, beside=(*_BITS, _SHORT))
    only_if_named = False
    max_new_tokens = 384
    temperature = 1e-4
    view = GeneralView(__file__)

    def items(self) -> Sequence[Item]:
        return _items()

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        return [
            _row(item, answer.text) for item, answer in zip(items, answers, strict=True)
        ]

    @classmethod
    def refuse_training(cls, items: Iterable[Item]) -> None:
        """All that is packaged: texts, instructions and questions."""
        held_out = {fingerprint(item.prompt) for item in _items()}
        refuse(items, held_out, "items of the general check")


@cache
def _items() -> tuple[Item, ...]:
    packaged = files(__package__)
    return tuple(
        item
        for name in ("texts", "asked")
        for item in read_records(
            Path(str(packaged.joinpath(f"{name}.jsonl"))), _item, "items", "{}"
        )
    )


def _item(where: str, row: dict[str, Any]) -> Item:
    group = str(row["kind"])
    check = {"check": row["check"]} if "check" in row else {}
    return Item(
        row["id"], row["prompt"], check, group=group, read=group.startswith("bits")
    )


def _row(item: Item, text: str) -> Row:
    """What an answer is worth; of a text that was read the answer is the number."""
    kind, _, language = item.group.partition("_")
    if kind == "bits":
        try:
            return Row({f"{NAME}/{item.group}": float(text)})
        except ValueError:
            return Row(reason=UNREAD)
    if kind == "length":
        length = len((final_text(text) or "").strip())
        short = float(length < FEW[language])
        return Row({f"{NAME}/{item.group}": float(length), _SHORT.name: short})
    answer = cleaned(text)
    checks = item.columns["check"].items()
    kept = all(CHECKS[name](answer, *wanted) for name, wanted in checks)
    right = float(kept and not refuses(answer))
    return Row({NAME: right, f"{NAME}/{item.group}": right})
