"""A language model grades rewrites from 1 to 5 (paper, appendix C and Table 22; there GPT-4o).

Who is asked is the caller's affair: a `Judge` takes prompts and gives replies. What cannot be read as a grade never
becomes a score and never vanishes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from data.prompts import fill, prompt
from data.rewrites import Rewrite
from data.stories import Story
from eval.sat.score import what_counts
from rewards.parse import without_reasoning

# Prompts to replies, one each, in order; None where there is no reply (refused by the server, out of money).
Judge = Callable[[Sequence[str]], Sequence[str | None]]
_GRADE = re.compile(r"[1-5]")
MAX_GRADE = 5


class RatingStatus(StrEnum):
    """What became of one rewrite's judgement."""

    OK = "ok"
    UNPARSEABLE = "unparseable"  # a reply that is anything but one digit from 1 to 5
    NO_REPLY = "no_reply"  # the judge gave None
    NO_REWRITE = "no_rewrite"  # nothing to judge (empty, or half a reasoning block): never asked


@dataclass(frozen=True, slots=True)
class Rating:
    """One judgement.

    Attributes:
        rewrite_id: Of the rewrite.
        story_id: Of its story.
        source: Who wrote the rewrite.
        grade: 1 to 5; None unless `status` is ok.
        status: A `RatingStatus` value.
        reply: The judge's raw words; None without any.
    """

    rewrite_id: str
    story_id: str
    source: str
    grade: int | None
    status: str
    reply: str | None

    @property
    def score(self) -> float | None:
        """The grade divided by 5, 0.2 to 1, as in Table 23; None without a grade."""
        return None if self.grade is None else self.grade / MAX_GRADE

    def to_json(self) -> dict[str, Any]:
        """For a line of JSONL."""
        return {**asdict(self), "score": self.score}


def judge_prompt(story: Story, rewrite: Rewrite) -> str | None:
    """What the judge is asked; None where there is no rewrite to judge. No text can fill a placeholder."""
    text, reason = what_counts(rewrite.text)
    return None if reason else fill(prompt("sat_judge"), story=story.text, rewrite=text)


def parse_grade(reply: str) -> int | None:
    """The grade of a reply: one ASCII digit from 1 to 5 and nothing else after a reasoning block and white space.

    >>> parse_grade(" 4\\n"), parse_grade("<think>3か4</think>4"), parse_grade("4点"), parse_grade("6")
    (4, 4, None, None)
    """
    answer = without_reasoning(reply)
    return int(answer) if answer is not None and _GRADE.fullmatch(answer) else None


def judge_rewrites(rewrites: Sequence[Rewrite], stories: Sequence[Story], judge: Judge) -> list[Rating]:
    """A rating for every rewrite, in order.

    Raises:
        ValueError: A rewrite's story is not among `stories`, or the judge gave another number of replies.

    >>> tale = Story("1", "", "", "", "亀を助けた漁師の話")
    >>> rewrites = [Rewrite("a", "1", "迷子を助けた刑事の話"), Rewrite("b", "1", "")]
    >>> [(r.score, r.status) for r in judge_rewrites(rewrites, [tale], lambda prompts: ["4"] * len(prompts))]
    [(0.8, 'ok'), (None, 'no_rewrite')]
    """
    by_id = {story.id: story for story in stories}
    for rewrite in rewrites:
        if rewrite.story_id not in by_id:
            raise ValueError(f"rewrite {rewrite.id!r}: there is no story {rewrite.story_id!r}")
    prompts = [judge_prompt(by_id[rewrite.story_id], rewrite) for rewrite in rewrites]
    asked = [text for text in prompts if text is not None]
    replies = list(judge(asked)) if asked else []
    if len(replies) != len(asked):
        raise ValueError(f"the judge gave {len(replies)} replies to {len(asked)} prompts")
    answers = iter(replies)
    return [
        rate(rewrite, None, asked=False) if text is None else rate(rewrite, next(answers))
        for rewrite, text in zip(rewrites, prompts, strict=True)
    ]


def rate(rewrite: Rewrite, reply: str | None, *, asked: bool = True) -> Rating:
    """The rating that a judge's reply makes; for callers that ask one rewrite at a time."""
    grade = None if reply is None else parse_grade(reply)
    if not asked:
        status = RatingStatus.NO_REWRITE
    elif reply is None:
        status = RatingStatus.NO_REPLY
    else:
        status = RatingStatus.UNPARSEABLE if grade is None else RatingStatus.OK
    return Rating(rewrite.id, rewrite.story_id, rewrite.source, grade, str(status), reply)
