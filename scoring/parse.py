"""The one strict parser of an answer's text: its ten words (DAT rule 1), and what a word is written in (rule 2).

It is strict on purpose: a forgiving parser hides reward hacking. It never raises and never stalls, whatever the text.
"""

import re
import unicodedata
from collections.abc import Iterable

from sozo.data.schema import Reason
from sozo.scoring.final_text import bare, final_text

NUM_WORDS = 10

# Possessive quantifiers keep any text linear: nothing is ever tried twice.
_LIST = re.compile("\n".join(rf"{k}\.[ \u3000](\S++)" for k in range(1, NUM_WORDS + 1)))

# Hiragana, katakana (half-width too: the analyser decides), the prolonged sound mark, 々 and the CJK ideographs.
HIRAGANA = "\u3041-\u3096\u309d-\u309f"
JAPANESE = f"{HIRAGANA}\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f々\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Of each language how a word begins that is written in it, and the reason for one that goes on otherwise.
SCRIPTS = {
    "ja": (re.compile(f"[{JAPANESE}]*"), Reason.NOT_JAPANESE),
    "en": (re.compile("(?:[A-Za-z]+(?:-[A-Za-z]+)*)?"), Reason.NOT_ENGLISH),
}


def split_list(text: str, reasoning: bool = True) -> tuple[str, ...] | None:
    """The ten words of a list (DAT rule 1), whatever characters they are made of; None if it is no such list.

    A list is ten lines `k. word`, but for outer white space and, with `reasoning`, what `final_text` takes off.

    >>> split_list("<think>犬か猫か</think>1. 犬") is None
    True
    """
    answer = final_text(text) if reasoning else bare(text)
    match = None if answer is None else _LIST.fullmatch(answer)
    return match.groups() if match else None


def write_list(words: Iterable[str]) -> str:
    """A list as the prompt asks for it, one `k. word` a line.

    >>> write_list(["犬", "法律"])
    '1. 犬\\n2. 法律'
    """
    return "\n".join(f"{k}. {word}" for k, word in enumerate(words, 1))


def reasons_in(language: str) -> list[Reason]:
    """Every reason but that of the other languages' scripts, in order."""
    others = {foreign for other, (_, foreign) in SCRIPTS.items() if other != language}
    return [reason for reason in Reason if reason not in others]


def script_reason(word: str, language: str = "ja") -> Reason | None:
    """None if `word` is in Japanese script (English: in Latin letters), else what its first foreign character is.

    Letters, digits and marks of other scripts are `not_japanese` (`not_english`); punctuation, emoji and control
    characters `symbol`.

    >>> script_reason("林檎"), str(script_reason("単語1")), str(script_reason("犬!"))
    (None, 'not_japanese', 'symbol')
    >>> script_reason("sea-horse", "en"), str(script_reason("犬", "en"))
    (None, 'not_english')
    """
    script, foreign = SCRIPTS[language]
    match = script.match(word)
    end = match.end() if match else 0
    if end == len(word):
        return None
    return foreign if unicodedata.category(word[end])[0] in "LNM" else Reason.SYMBOL
