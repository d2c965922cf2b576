"""Finished SAT runs: how another encoder, or a judge, sees the rewrites."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from sozo.data.prompts import fill, prompt
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Rubric, Scores, ToJudge
from sozo.tasks.finished import Finished
from sozo.tasks.sat.score import SatScorer, what_counts


def parse_grade(reply: str) -> Scores | None:
    """The grade of a reply: one ASCII digit from 1 to 5 and nothing else after a reasoning block and white space.

    >>> parse_grade(" 4\\n"), parse_grade("<think>3か4</think>4"), parse_grade("4点"), parse_grade("6")
    ({'creativity': 4}, {'creativity': 4}, None, None)
    """
    answer = final_text(reply)
    return {"creativity": int(answer)} if answer is not None and re.fullmatch(r"[1-5]", answer) else None


def _ask(story: str, rewrite: str) -> str:
    return fill(prompt("sat_judge"), story=story, rewrite=rewrite)


# One grade of a rewrite (paper, table 22; the prompt's Japanese is ours).
SAT_V1 = Rubric("sat-v1", ("creativity",), _ask, parse_grade)


class FinishedSat(Finished):
    """Rewrites of stories."""

    same = ("stories_sha256",)
    papers = ("pkshatech/simcse-ja-bert-base-clcmlp",)
    rubric = SAT_V1

    def to_judge(self) -> Iterator[ToJudge]:
        """What is judged is what is embedded: a judge that reads the reasoning too judges something else."""
        for answer in self.scored:
            yield ToJudge(answer.id, answer.item, self.items[answer.item]["story"], what_counts(answer.text)[0])

    def scored_by(self, encoder: str, cache: Path | None) -> tuple[Mapping[str, float | None], dict[str, Any]]:
        scorer, values = SatScorer(make_encoder(encoder, texts=True), cache), dict[str, list[float]]()
        stories = [self.items[answer.item]["story"] for answer in self.scored]
        compared = scorer.compare(stories, [answer.text for answer in self.scored])
        for answer, (score, _) in zip(self.scored, compared, strict=True):
            if score is not None:
                values.setdefault(answer.item, []).append(score)
        return {item: fmean(scores) for item, scores in values.items()}, scorer.describe()
