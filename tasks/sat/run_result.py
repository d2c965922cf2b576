"""Finished SAT runs, and how a judge grades their rewrites."""

import re

from sozo.data.prompts import fill, prompt
from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Rubric, Scores
from sozo.scoring.measure import Measure
from sozo.tasks.run_result import RunResult, ScoredAnswer
from sozo.tasks.sat.compliance import kept_score


def parse_grade(reply: str) -> Scores | None:
    """The grade of a reply: one ASCII digit from 1 to 5 and nothing else after a reasoning block and white space.

    >>> parse_grade(" 4\\n"), parse_grade("<think>3か4</think>4"), parse_grade("4点"), parse_grade("6")
    ({'creativity': 4}, {'creativity': 4}, None, None)
    """
    answer = final_text(reply)
    return (
        {"creativity": int(answer)}
        if answer is not None and re.fullmatch(r"[1-5]", answer)
        else None
    )


def _ask(story: str, rewrite: str) -> str:
    return fill(prompt("sat_judge"), story=story, rewrite=rewrite)


# One grade of a rewrite (paper, table 22; the prompt's Japanese is ours).
SAT_V1 = Rubric("sat-v1", ("creativity",), _ask, parse_grade)


# What SAT is known by: a distance alone pays for leaving the story, as a refusal does.
KEPT = Measure("sat/kept", scale=(0, 2))


class SatRunResult(RunResult):
    """Rewrites of stories."""

    headline = KEPT
    same = ("stories_sha256",)
    papers = ("pkshatech/simcse-ja-bert-base-clcmlp",)

    def value(self, answer: ScoredAnswer, measure: Measure) -> float | None:
        if measure == KEPT:  # which earlier runs have not written
            return kept_score(answer.values)
        return super().value(answer, measure)
