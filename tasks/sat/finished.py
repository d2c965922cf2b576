"""Finished SAT runs: rewrites of stories with their scores, and how a judge grades them."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from sozo.data.prompts import fill, prompt
from sozo.scoring.embeddings import make_encoder
from sozo.scoring.final_text import answer_state, final_text
from sozo.scoring.judges.protocol import Rubric, Scores, ToJudge
from sozo.scoring.measure import Estimate
from sozo.tasks.finished import Finished, ScoredAnswer
from sozo.tasks.sat.compliance import Extra, keeps_conditions, length_ok
from sozo.tasks.sat.score import SatScorer, what_counts
from sozo.tasks.sat.stories import Rewrite, SatReason, Story, load_stories, read_rewrites

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
    papers = ("pkshatech/simcse-ja-bert-base-clcmlp",)
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
            whole = answer_state(row.text, row.finish_reason) == "whole"
            yield ScoredAnswer(row.id, row.story_id, row.text, rewrite_values(row), row.reason, whole=whole)

    def to_judge(self) -> Iterator[ToJudge]:
        """What is judged is what is embedded: a judge that reads the reasoning too judges something else."""
        for row in self.rewrites:
            text, reason = what_counts(row.text)
            yield ToJudge(row.id, row.story_id, self.stories[row.story_id].text, "" if reason else text)

    def scored_by(self, encoder: str, cache: Path | None) -> tuple[Mapping[str, float | None], dict[str, Any]]:
        scorer = SatScorer(make_encoder(encoder, texts=True), cache)
        stories = [self.stories[row.story_id].text for row in self.rewrites]
        return story_scores(scorer.score(self.rewrites, stories)), scorer.describe()

    def summary(self, source: str | None = None) -> dict[str, Any]:
        """The row of Table 7 as `metrics.json` has it, written by `source`, by default by those whom the rows name.

        The score is the mean over stories of each story's mean over its rewrites. Counts such as `compliant` (rewrites
        that keep to every condition of the prompt), `length_ok` (about 400 characters), `one_line`, `only_story` and
        `truncated` (cut off by the generator) are of `num_answers` rewrites; a rewrite that is empty keeps no
        condition. `extras` are rewrites by what they hold beside the story, of which one may hold several.
        `mean_length` is in characters, `mean_copied` the mean share of the story's 8-grams that are in the rewrite.
        """
        rows, num_stories = self.rewrites, len(self.stories)
        scores = list(story_scores(rows).values())
        compliant = [row for row in rows if keeps_conditions(row)]
        compliant_scores = list(story_scores(compliant).values())
        of_compliant = Estimate(_mean(compliant_scores), None, None, len(compliant_scores), num_stories)
        extras, reasons = Counter(x for row in rows for x in row.extras or ()), Counter(row.reason for row in rows)
        return {
            "source": ", ".join(dict.fromkeys(row.source for row in rows)) if source is None else source,
            "num_items": num_stories,
            "num_answers": len(rows),
            "valid": sum(row.score is not None for row in rows),
            "reasons": {str(reason): reasons[reason] for reason in SatReason},
            "measures": {"sat": asdict(self.estimate(self.main))},
            # Over stories (ddof = 1); None with fewer than two of them.
            "std": float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
            "compliant": len(compliant),
            "compliant_mean": asdict(of_compliant),
            "length_ok": sum(length_ok(row.length or 0) for row in rows),
            "one_line": sum(bool(row.length and row.one_line) for row in rows),
            "only_story": sum(bool(row.length and not row.extras) for row in rows),
            "truncated": sum(row.finish_reason == "length" for row in rows),
            "extras": {str(extra): extras[extra] for extra in Extra},
            "mean_length": _mean([row.length for row in rows if row.length is not None]),
            "mean_copied": _mean([row.copied for row in rows if row.copied is not None]),
        }


def story_scores(rewrites: Iterable[Rewrite]) -> dict[str, float]:
    """Score of each story that has one: the mean over its rewrites with a score.

    >>> story_scores([Rewrite("a", "1", "", score=0.2), Rewrite("b", "1", "", score=0.4), Rewrite("c", "2", "")])
    {'1': 0.30000000000000004}
    """
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for rewrite in rewrites:
        if rewrite.score is not None:
            scores[rewrite.story_id].append(rewrite.score)
    return {story: fmean(values) for story, values in scores.items()}


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def rewrite_values(row: Rewrite) -> dict[str, float]:
    """The values of a scored rewrite by the measures' names."""
    values = {} if row.reason == SatReason.ERROR else {"sat/compliant": float(keeps_conditions(row))}
    return values if row.score is None else {"sat": row.score, **values}


def stories_digest(stories: Sequence[Story]) -> str:
    """SHA-256 of what stories say, whatever file they come from."""
    return hashlib.sha256(json.dumps([asdict(story) for story in stories]).encode()).hexdigest()
