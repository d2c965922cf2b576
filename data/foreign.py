"""What others sent: how much of it is taken, and what of it is shown. Every bound that is no setting stands here."""

import json
import re
import reprlib
import unicodedata
from collections import Counter
from functools import cache
from typing import Any

MOST_QUOTED = 200  # characters of what was sent, in a message
MOST_REPLY = 16 << 20  # bytes of a server's reply, unpacked
LONGEST_WORD = 40  # characters
MOST_OF_A_LIST = 1 << 16  # bytes of a text that holds ten words
MOST_COLUMNS = 1_000  # of a spreadsheet
MOST_CELLS = 10_000_000  # of a workbook's sheet, with the empty ones between
MOST_UNPACKED = 64 << 20  # bytes of a workbook
# Bytes of what is read of a table, or so many times its bytes on the disk
MOST_TABLE = 256 << 20
MOST_TIMES = 50
MOST_SHARED = 1 << 30  # bytes of its longest text, times its cells
MOST_DIGITS = 4_000  # of a whole number
DEEPEST = 100  # levels of JSON and YAML
_MOST_VALUES = 10_000_000  # of JSON and YAML, on one level
# Characters of a message, and of its end, which says what to do
_MOST_SAID = 900
_END_SAID = 300
# Combining marks in a row, as in Unicode's stream-safe text format (UAX 15)
_MOST_MARKS = 30
# What steers a terminal, or turns the order of its letters: control characters but tab and line feed, marks of
# direction, invisible operators, tags.
_STEERING = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = MOST_QUOTED


def quoted(value: Any) -> str:
    """What was sent as a message shows it: at most 200 characters, whatever it is and however deep.

    >>> quoted("犬"), len(quoted("犬" * 1000))
    ("'犬'", 200)
    """
    return brief(_brief.repr(value))


def brief(text: str, most: int = MOST_QUOTED, end: int = 0) -> str:
    """A text of at most `most` characters, of which the last `end` stay.

    >>> brief("0123456789", 8, 2)
    '012...89'
    """
    return (
        text
        if len(text) <= most
        else f"{text[: most - end - 3]}...{text[len(text) - end :]}"
    )


def strip_steering(text: str) -> str:
    """A text without what steers a terminal or turns its letters around.

    >>> strip_steering("\\x1b[31mred\\u202e")
    '[31mred'
    """
    return _STEERING.sub("", text)


def printable(text: str) -> str:
    """A text with a space for each character that does not print, such as a line's end or a lone surrogate.

    >>> printable("a\\r\\nb\\x1b")
    'a  b '
    """
    return "".join(character if character.isprintable() else " " for character in text)


def in_one_line(text: str) -> str:
    """A message in one line of at most 900 characters, of which the end stays.

    >>> in_one_line("a\\nb"), len(in_one_line("a" * 10_000))
    ('a b', 900)
    """
    return brief(strip_steering(" ".join(text.split())), _MOST_SAID, _END_SAID)


def whole_word(word: str) -> str:
    """A word that may be looked up and remembered: of a longer one what shows that it is too long for a noun."""
    return word[: LONGEST_WORD + 1]


@cache
def _many_marks() -> re.Pattern[str]:
    """Marks in a row; ﾞ is none, but becomes one."""
    normalised = (
        (chr(code), unicodedata.normalize("NFKD", chr(code)))
        for code in range(0x300, 0x1F000)
    )
    marks = "".join(
        character for character, parts in normalised if unicodedata.combining(parts[0])
    )
    return re.compile(f"[{marks}]{{{_MOST_MARKS}}}")


def nfkc(text: str) -> str:
    """A text in compatibility form (NFKC). A joiner parts marks behind every 30 in a row: sorting them takes a square.

    >>> nfkc("１０ｶﾞ")
    '10ガ'
    """
    return unicodedata.normalize(
        "NFKC", text if text.isascii() else _many_marks().sub("\\g<0>\u034f", text)
    )


# Unicode's default-ignorable code points: no reader sees them.
IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """A text without what no reader sees; accents, points and vowel signs stay.

    >>> visible("มี\u200b"), visible("มู\u2060")
    ('มี', 'มู')
    """
    return IGNORABLE.sub("", text)


@cache
def _as_seen(character: str) -> str:
    code = ord(character)
    if 0xE0020 <= code <= 0xE007E:  # a tag: ASCII that nobody sees, and models read
        return chr(code - 0xE0000)
    if IGNORABLE.match(character) or unicodedata.category(character) in ("Mn", "Me"):
        return ""
    return unicodedata.normalize("NFKC", character)


def as_tokenized(text: str) -> tuple[str, list[int]]:
    """A text as a tokenizer may see it (NFKC, without marks and what is invisible), and where each character is from.

    >>> as_tokenized("＜\u200b/a")
    ('</a', [0, 2, 3])
    """
    seen = [(one, k) for k, character in enumerate(text) for one in _as_seen(character)]
    return "".join(one for one, _ in seen), [k for _, k in seen]


def parse_json(text: str | bytes, *, nan: bool = False) -> Any:
    """The value of a JSON text; a ValueError of one line where it is none, is deep, or says a key of an object twice.

    With `nan` it may hold NaN and the infinities, as what Python wrote does.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' comes twice
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_whole,
            parse_constant=float if nan else _no_number,
        )
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{error.msg}: line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    return not_deep(value)


def not_deep(value: Any) -> Any:
    """The value, if lists and mappings in it are as few and nested as deep as others can follow; else ValueError."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [each for each in level if isinstance(each, dict | list)]
        if not inner:
            return value
        if sum(map(len, inner)) > _MOST_VALUES:  # in YAML an alias may stand for much
            raise ValueError(f"more than {_MOST_VALUES:,} values")
        level = [
            each
            for part in inner
            for each in (part.values() if isinstance(part, dict) else part)
        ]
    raise ValueError(f"nested deeper than {DEEPEST} levels")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {quoted(key)} comes twice")
    return row


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:  # Python refuses more only where one is written, too
        raise ValueError(f"a number has more than {MOST_DIGITS:,} digits")
    return int(digits)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
