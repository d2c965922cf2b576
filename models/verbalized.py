"""Verbalized sampling: several answers with their probabilities are asked for in one reply, and one of them is drawn.

After Zhang et al. (2025), arXiv 2510.01171. The English prompt is like the one that its authors offer for copying; the
Japanese one is sozo's translation.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sozo.data.prompts import fill, prompt
from sozo.data.schema import FORM
from sozo.models.generator import entropy
from sozo.scoring.final_text import Ending, ending, final_text, no_answer
from sozo.tasks.task import Answer

_KANA = re.compile("[ぁ-ヿ]")
# Whatever stands around them: final_text takes the tags of an only <response> away, and those of the first and last.
_ANSWER = re.compile(
    r"<text>((?:(?!</?text>).)*)</text>\s*<probability>\s*(\d{0,3}\.?\d{1,20})\s*(%?)\s*</probability>",
    re.DOTALL | re.IGNORECASE,
)


def asked(query: str, n: int) -> str:
    """What asks for `n` answers to a prompt in one reply, in the language of the prompt."""
    name = "verbalized" if _KANA.search(query) else "verbalized_en"
    return fill(prompt(name), n=str(n), query=query)


def drawn(replies: Sequence[Answer], n: int, seed: int, batch: int) -> list[Answer]:
    """One answer of each reply, by the probabilities that it says; a reply in another form is no answer (FORM)."""
    random = np.random.default_rng([*entropy(seed, batch), 1])
    return [_one(reply, n, random) for reply in replies]


def _one(reply: Answer, n: int, random: np.random.Generator) -> Answer:
    if no_answer(reply) or ending(reply.finish_reason) is Ending.REFUSED:
        return reply
    found = _ANSWER.findall(final_text(reply.text) or "")
    texts = [text.strip() for text, *_ in found]
    chances = np.array([float(n) / (100 if unit else 1) for _, n, unit in found])
    if len(found) != n or not all(texts) or not chances.any():
        return replace(reply, text="", finish_reason=FORM)
    return replace(reply, text=texts[random.choice(n, p=chances / chances.sum())])
