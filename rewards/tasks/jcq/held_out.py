"""The 700 questions of the benchmark, as fingerprints: who trains on them measures nothing with them.

`held_out.txt` holds `data.held_out.fingerprint` of each question of nlp-waseda/JCQ, split test, sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from data.held_out import refuse


@cache
def held_out() -> frozenset[str]:
    """The fingerprints of the 700 questions."""
    return frozenset(files(__package__).joinpath("held_out.txt").read_text("ascii").split())


def refuse_held_out(texts: Iterable[str]) -> None:
    """Raise UserError if a prompt or question is one of the benchmark's 700. The 35 trial questions are not.

    >>> from data.jcq import trial_questions
    >>> refuse_held_out(question.question for question in trial_questions())
    """
    refuse(texts, held_out(), "questions of the JCQ benchmark")
