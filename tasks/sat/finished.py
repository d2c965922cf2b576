"""Finished SAT runs: rewrites of stories with their scores, and how a judge grades them."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from sozo.data.prompts import fill, prompt
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.final_text import final_text
from sozo.scoring.judges.protocol import Rubric, Scores, ToJudge
from sozo.scoring.measure import Measure
from sozo.tasks.finished import Finished, ScoredAnswer
from sozo.tasks.sat.compliance import keeps_conditions
from sozo.tasks.sat.score import SatScorer, what_counts
from sozo.tasks.sat.stories import Rewrite, Story, load_stories, read_rewrites
from sozo.tasks.sat.summary import story_scores

ROWS = "rewrites.jsonl"
STORIES = "stories.jsonl"  # what was rewritten, so that a run's folder can be read alone


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
    """Rewrites with their scores."""

    files = (STORIES, ROWS)
    same = ("stories_sha256",)
    rubric = SAT_V1

    @cached_property
    def stories(self) -> dict[str, Story]:
        """What was to be rewritten, by id."""
        return {story.id: story for story in load_stories(self.folder / STORIES)}

    @cached_property
    def prompts(self) -> dict[str, str]:
        return {name: fill(prompt("sat"), story=story.text) for name, story in self.stories.items()}

    @cached_property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """What the model wrote."""
        return read_rewrites(self.folder / ROWS)

    def answers(self) -> Iterator[ScoredAnswer]:
        for row in self.rewrites:
            yield ScoredAnswer(row.id, row.story_id, row.text, rewrite_values(row), row.reason)

    def by_item(self, measure: Measure) -> Mapping[str, float | None]:
        """Story -> mean over its rewrites with a value; every story is there."""
        means = super().by_item(measure)
        return {story: means.get(story) for story in self.stories}

    def to_judge(self) -> Iterator[ToJudge]:
        """What is judged is what is embedded: a judge that reads the reasoning too judges something else."""
        for row in self.rewrites:
            text, reason = what_counts(row.text)
            yield ToJudge(row.id, row.story_id, self.stories[row.story_id].text, "" if reason else text)

    def scored_by(self, encoder: str, cache: Path | None) -> tuple[Mapping[str, float | None], dict[str, Any]]:
        scorer = SatScorer(make_encoder(encoder, texts=True), tuple(self.stories.values()), cache_dir=cache)
        return story_scores(scorer.score(self.rewrites)), scorer.describe()


def rewrite_values(row: Rewrite) -> dict[str, float]:
    """The values of a scored rewrite by the measures' names."""
    values = {"sat/compliant": float(keeps_conditions(row))}
    return values if row.score is None else {"sat": row.score, **values}


def stories_digest(stories: Sequence[Story]) -> str:
    """SHA-256 of what stories say, whatever file they come from."""
    return hashlib.sha256(json.dumps([asdict(story) for story in stories]).encode()).hexdigest()
