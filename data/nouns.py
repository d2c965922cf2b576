"""The noun list of the paper's random baseline (section 5.1.1), from JumanDIC.

Hand-registered 普通名詞, サ変名詞 and 時相名詞, each by its representative form (代表表記): 22,128 words. The paper's
131,072 random responses held 22,085 distinct valid words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from data.errors import UserError
from data.jumandic import default_dictionary

_KINDS = ("普通名詞", "サ変名詞", "時相名詞")
_COMPILED = re.compile(rf"名詞,(?:{'|'.join(_KINDS)}),")
_SOURCE = re.compile(rf"\(名詞 \((?:{'|'.join(_KINDS)}) ")
_REPRESENTATIVE = re.compile(r'代表表記:([^\s/"]+)/')


def load_nouns(path: Path | None = None) -> tuple[str, ...]:
    """The nouns of the random baseline, sorted by code point.

    Args:
        path: A JumanDIC `ContentW.dic` in UTF-8; None takes the compiled dictionary of the package jumandic. Both give
            the same list.

    >>> len(load_nouns()), "林檎" in load_nouns()
    (22128, True)
    """
    if path is None:
        return _representatives(f for f in default_dictionary().features() if _COMPILED.match(f))
    if not path.is_file():
        raise UserError(f"{path}: no such dictionary file; give JumanDIC's ContentW.dic")
    try:
        nouns = _representatives(line for line in path.read_text("utf-8").splitlines() if _SOURCE.match(line))
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 ({error.reason}); convert it or use the package jumandic") from error
    if not nouns:
        raise UserError(f"{path}: no nouns found; give JumanDIC's ContentW.dic")
    return nouns


def _representatives(entries: Iterable[str]) -> tuple[str, ...]:
    """Representative forms of the entries that people registered (自動獲得 marks those that a program found)."""
    forms = (_REPRESENTATIVE.search(entry) for entry in entries if "自動獲得" not in entry)
    return tuple(sorted({form[1] for form in forms if form}))
