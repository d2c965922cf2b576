"""SAT's rubric: one grade of a rewrite of a story (paper, table 22; the prompt's Japanese is ours)."""

from __future__ import annotations

import re

from data.prompts import fill, prompt
from rewards.judges.protocol import Rubric, Scores
from rewards.parse import without_reasoning

CRITERION = "creativity"


def parse_grade(reply: str) -> int | None:
    """The grade of a reply: one ASCII digit from 1 to 5 and nothing else after a reasoning block and white space.

    >>> parse_grade(" 4\\n"), parse_grade("<think>3か4</think>4"), parse_grade("4点"), parse_grade("6")
    (4, 4, None, None)
    """
    answer = without_reasoning(reply)
    return int(answer) if answer is not None and re.fullmatch(r"[1-5]", answer) else None


def _ask(story: str, rewrite: str) -> str:
    return fill(prompt("sat_judge"), story=story, rewrite=rewrite)


def _read(reply: str) -> Scores | None:
    grade = parse_grade(reply)
    return None if grade is None else {CRITERION: grade}


SAT_V1 = Rubric("sat-v1", (CRITERION,), _ask, _read)
