"""What commands say of people's lists in Japanese: a message is known by its form (`messages` of people.yaml)."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from sozo.data.errors import UserError
from sozo.scoring.languages import LANGUAGES
from sozo.scoring.parse import JAPANESE
from sozo.suite.people.lists import TEXTS

LANG = "Language of what is said, ja or en (default: ja if a letter is Japanese)."


def language_of(text: str) -> str:
    """Japanese if any of its letters is, else English."""
    return "ja" if re.search(f"[{JAPANESE}]", text) else "en"


def in_japanese(message: str) -> str:
    """A message in Japanese; what stands in its places may be one, too. Of an unknown form it stays as it is.

    >>> in_japanese("a.csv, row 3: is one word; put a person's ten words into one row; the columns are: ID, words")
    'a.csv、3行目：1語しかない。1人の10語は1行にまとめること。列の一覧：ID, words'
    """
    for form, japanese in _forms():
        if found := form.fullmatch(message):
            parts = found.groupdict().items()
            return japanese.format(**{name: in_japanese(part) for name, part in parts})
    return message


@cache
def _forms() -> list[tuple[re.Pattern[str], str]]:
    place = r"\\{(\w+)\\}", r"(?P<\1>.+?)"
    return [
        (re.compile(re.sub(*place, re.escape(form)), re.DOTALL), japanese)
        for form, japanese in TEXTS["messages"].items()
    ]


@contextmanager
def told_in(lang: str | None, text: str) -> Iterator[Callable[[str], str]]:
    """What says a message in `lang`, or else in the language of a text; it also says the UserError that leaves here."""
    lang = lang or language_of(text)
    if lang not in LANGUAGES:
        raise UserError(f"lang must be {' or '.join(LANGUAGES)}, not {lang!r}")
    said = in_japanese if lang == "ja" else str
    try:
        yield said
    except UserError as error:
        error.args = (said(str(error)),)
        raise
