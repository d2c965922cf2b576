"""The words that stand in a text, whatever its form: found where the strict reader (`sozo.scoring.parse`) finds none."""

import re

from sozo.data.foreign import nfkc
from sozo.scoring.final_text import final_text

_BETWEEN = re.compile(r"[\n\r\t,，、､;；]")
NUMBERING = re.compile(
    r"\s*([①-⑳]|[(（]?[0-9０-９]{1,2}([)）.．:：\s]|$))?[\s・•*●○■-]*"
)
AROUND = " 　。．.「」『』\"'“”"
# What stands around a chat model's words: sentences before and behind them; Markdown, readings and explanations.
_SENTENCES = re.compile(
    r"\A(?:(?:はい|[^\n]{4,})(?<![0-9０-９])[。．.:：!！](?!\Z)\s*){1,2}+|\n[^\n]{4,}+(?<=[。．.!！?？])\Z"
)
_ASIDE = re.compile(
    r"(?<=[^\W\d_])[ \t　*_`]*+(?:[(（][^()（）\n]*+[)）]|[:：].*|(?<=\s)[-–—]\s.*)|^```.*$|\*\*|__|`|\\(?=\.)",
    re.MULTILINE,
)


def listed(text: str, language: str) -> list[str]:
    """The words of a list that the common separators part."""
    pieces = list(
        filter(str.strip, _BETWEEN.split(text.lower() if language == "en" else text))
    )
    if language == "ja" or len(pieces) == 1:
        pieces = [word for piece in pieces for word in piece.split()]
    words = [nfkc(NUMBERING.sub("", piece, count=1)).strip(AROUND) for piece in pieces]
    return [word for word in words if word]


def found_words(text: str, language: str = "ja") -> list[str]:
    """The words that a lenient reader finds in a model's answer: what is numbered or marked, or else each line.

    It says that a model knows the words and not the form. No reward and no score may ask it: a forgiving reader hides
    reward hacking (`sozo.scoring.parse` is the strict one).

    >>> found_words("はい、2個です。\\n犬\\n法律"), found_words("**1. 犬（いぬ）**\\n**2. 法律**")
    (['犬', '法律'], ['犬', '法律'])
    """
    text = final_text(text) or ""
    marked = [
        line
        for line in map(str.strip, text.splitlines())
        if NUMBERING.sub("", line, count=1) != line
    ]
    words = "\n".join(marked) or _SENTENCES.sub("", text)
    return listed(_ASIDE.sub("", words), language)
