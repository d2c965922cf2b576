"""The one strict parser of a response's text: its ten words (DAT rule 1), and what a word is written in (rule 2).

It is strict on purpose: a forgiving parser hides reward hacking. It never raises and never stalls, whatever the text.
"""

import re
import unicodedata

from data.schema import Reason

NUM_WORDS = 10

# Possessive quantifiers keep any text linear: nothing is ever tried twice.
_LIST = re.compile("\n".join(rf"{k}\.[ \u3000](\S++)" for k in range(1, NUM_WORDS + 1)))

# Hiragana, katakana (half-width too: the analyser decides), the prolonged sound mark, 々 and the CJK ideographs.
HIRAGANA = "\u3041-\u3096\u309d-\u309f"
JAPANESE = (
    f"{HIRAGANA}\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f々\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_JAPANESE = re.compile(f"[{JAPANESE}]*")
_LATIN = re.compile("(?:[A-Za-z]+(?:-[A-Za-z]+)*)?")


def split_list(text: str, reasoning: bool = True) -> tuple[str, ...] | None:
    """The ten words of a list (DAT rule 1), whatever characters they are made of; None if it is no such list.

    A list is ten lines `k. word`, but for outer white space and, with `reasoning`, a leading `<think>...</think>`.

    >>> split_list("<think>犬か猫か</think>1. 犬") is None
    True
    """
    answer = without_reasoning(text) if reasoning else text.strip()
    match = None if answer is None else _LIST.fullmatch(answer)
    return match.groups() if match else None


def without_reasoning(text: str) -> str | None:
    """What follows a leading `<think>...</think>`, without outer white space; None if the block is never closed.

    >>> without_reasoning("<think>亀か鶴か</think> 昔々"), without_reasoning(" 昔々 "), without_reasoning("<think>亀か")
    ('昔々', '昔々', None)
    """
    text = text.strip()
    if not text.startswith("<think>"):
        return text
    _, end, answer = text.partition("</think>")
    return answer.strip() if end else None


def judged_part(text: str) -> str:
    """What is judged of a model's text: what follows its reasoning, and nothing of reasoning that never ends.

    A judge would count its ideas as the answer's. Many chat templates open the block in the prompt, so that a text only
    closes it. A text without reasoning stays as it is.

    >>> [judged_part(text) for text in ("<think>案</think>傘立て", "案</think>傘立て", "<think>案", " 傘立て ")]
    ['傘立て', '傘立て', '', ' 傘立て ']
    """
    _, end, answer = text.rpartition("</think>")
    if end:
        return answer.strip()
    return "" if text.lstrip().startswith("<think>") else text


def script_reason(word: str, *, latin: bool = False) -> Reason | None:
    """None if `word` is in Japanese script (in Latin letters with `latin`), else what its first foreign character is.

    Letters, digits and marks of other scripts are `not_japanese`; punctuation, emoji and control characters `symbol`.

    >>> script_reason("林檎"), str(script_reason("単語1")), str(script_reason("犬!"))
    (None, 'not_japanese', 'symbol')
    """
    match = (_LATIN if latin else _JAPANESE).match(word)
    end = match.end() if match else 0
    if end == len(word):
        return None
    return Reason.NOT_JAPANESE if unicodedata.category(word[end])[0] in "LNM" else Reason.SYMBOL
