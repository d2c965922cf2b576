"""Did the model do what the SAT prompt says? Reported beside the score: a distance alone rewards leaving the topic.

The prompt (paper, Table 19) asks for about 400 characters, no line breaks and only the story. Nothing here changes a
score: the paper scored whatever a model wrote.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from rewards.tasks.sat.extras import find_extras

# "About 400 characters": a quarter more or less. The paper names no band; `Rewrite.length` lets anybody take another.
LENGTH_BAND = (300, 500)
_GRAM = 8


@dataclass(frozen=True, slots=True)
class Compliance:
    """How far a rewrite keeps to the prompt's conditions; `copied` is none of them: near 1 the story was said again."""

    length: int  # characters (code points) without outer white space and line breaks
    one_line: bool  # whether it holds no line break of any kind (\\n, \\r, \\u2028, ...)
    extras: tuple[str, ...]  # what it holds beside the story (`rewards.tasks.sat.extras.Extra`)
    copied: float | None  # see `copied_share`


def check(story: str, rewrite: str) -> Compliance:
    """How far `rewrite`, without its reasoning, keeps to the prompt's conditions.

    >>> check("むかしむかし、浦島太郎という漁師がいた。", "令和の東京に、浦島拓也という技術者がいた。")
    Compliance(length=21, one_line=True, extras=(), copied=0.0)
    """
    text = rewrite.strip()
    lines, extras = text.splitlines(), tuple(str(extra) for extra in find_extras(text))
    return Compliance(sum(len(line) for line in lines), len(lines) <= 1, extras, copied_share(story, text))


def length_ok(length: int) -> bool:
    """Whether a length is about 400 characters: in `LENGTH_BAND`, both ends included."""
    return LENGTH_BAND[0] <= length <= LENGTH_BAND[1]


def copied_share(story: str, rewrite: str) -> float | None:
    """Share of the story's distinct character 8-grams in the rewrite, 0 to 1, after NFKC and without white space.

    None for a story of fewer than 8 characters.

    >>> copied_share("昔々、亀を助けた漁師がいた。", "昔々、亀を助けた刑事がいた。")  # 1 of 7: 昔々、亀を助けた
    0.14285714285714285
    """
    grams = _grams(story)
    return len(grams & _grams(rewrite)) / len(grams) if grams else None


def _grams(text: str) -> set[str]:
    plain = "".join(unicodedata.normalize("NFKC", text).split())
    return {plain[i : i + _GRAM] for i in range(len(plain) - _GRAM + 1)}
