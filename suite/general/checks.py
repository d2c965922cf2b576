"""What a program can check of an answer; `CHECKS` has each function by its name in `asked.jsonl`."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from sozo.data.foreign import nfkc
from sozo.scoring.final_text import final_text

_AROUND = re.compile(
    r"```\w*\n(.*)\n```|\*\*([^*]*)\*\*|\"([^\"]*)\"|'([^']*)'|「([^「」]*)」|`([^`]*)`",
    re.S,
)
_LONGER = "[a-z〇一二三四五六七八九十百千万]"
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def cleaned(text: str) -> str:
    """What follows reasoning, in compatibility form (NFKC), without one pair of quotes, bold or fences around it all.

    >>> cleaned("<think>42?</think> **４２** "), cleaned("「いぬ」"), cleaned("「犬」は「いぬ」")
    ('42', 'いぬ', '「犬」は「いぬ」')
    """
    answer = re.sub(r"[ \t]*\n\s*", "\n", nfkc(final_text(text) or "").strip())
    around = _AROUND.fullmatch(answer)
    return next(filter(None, around.groups()), "") if around else answer


def number(text: str, value: float, *words: str) -> bool:
    """Whether the first or the last number of the text is this one, or one of the words stands there.

    >>> number("17 + 25 = 42.", 42), number("Sure! The answer is 42.", 42), number("41, 42 or 43", 42)
    (True, True, False)
    """
    numbers = [float(found.replace(",", "")) for found in _NUMBER.findall(text)]
    return value in (*numbers[:1], *numbers[-1:]) or has(text, *words)


def has(text: str, *words: str) -> bool:
    """Whether one of the words stands in the text, whatever its case, and in no longer word or Japanese numeral.

    >>> has("Many mice.", "mice"), has("A photo", "hot"), has("「海」の読みは「うみ」です。", "うみ")
    (True, False, True)
    >>> has("十二です。", "十二"), has("四十二です。", "十二")
    (True, False)
    """
    return any(
        re.search(rf"(?<!{_LONGER}){re.escape(word)}(?!{_LONGER})", text, re.I)
        for word in words
    )


def lacks(text: str, *words: str) -> bool:
    """Whether none of the words does."""
    return not has(text, *words)


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is about the whole text."""
    return re.fullmatch(pattern, text) is not None


def words(text: str, least: int, most: int) -> bool:
    """Whether it has so many words, which white space parts."""
    return least <= len(text.split()) <= most


def characters(text: str, least: int, most: int) -> bool:
    """Whether it has so many characters."""
    return least <= len(text) <= most


def json_object(text: str, wanted: Mapping[str, Any]) -> bool:
    """Whether it is a JSON object of these keys and values; a number may stand in quotes.

    >>> json_object('{"age": "31"}', {"age": 31}), json_object('Sure! {"age": 31}', {"age": 31})
    (True, False)
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {
        key: str(value) for key, value in found.items()
    } == {key: str(value) for key, value in wanted.items()}


CHECKS: Mapping[str, Callable[..., bool]] = {
    "number": number,
    "has": has,
    "lacks": lacks,
    "matches": matches,
    "words": words,
    "characters": characters,
    "json": json_object,
}
