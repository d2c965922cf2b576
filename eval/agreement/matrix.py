"""Scores of several models on the same stories by one evaluation: an encoder, people or a judge (paper, appendix C)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.rewrites import Rewrite
from rewards.tasks.sat.judge import JudgedRewrite
from rewards.tasks.sat.summary import story_scores


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """Model x story.

    Attributes:
        name: Which evaluation: an encoder's name, `human`, a judge's.
        models: Of the rows.
        stories: Of the columns.
        values: Float64, shape (models, stories); NaN where there is no score.
    """

    name: str
    models: tuple[str, ...]
    stories: tuple[str, ...]
    values: np.ndarray

    def mean(self, model: str) -> tuple[float | None, int]:
        """A model's score and of how many stories: the mean over the stories where it has one."""
        row = self.values[self.models.index(model)]
        scored = row[~np.isnan(row)]
        return (float(scored.mean()) if len(scored) else None), len(scored)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Model -> story -> score, without what has none."""
        return {
            model: {story: value for story, value in zip(self.stories, row, strict=True) if not math.isnan(value)}
            for model, row in zip(self.models, self.values.tolist(), strict=True)
        }

    def only(self, models: Sequence[str], stories: Sequence[str]) -> ScoreTable:
        """The part of the table that is of these models and stories, in their order; it must have them all."""
        rows, columns = [self.models.index(m) for m in models], [self.stories.index(s) for s in stories]
        return ScoreTable(self.name, tuple(models), tuple(stories), self.values[np.ix_(rows, columns)])


def make_table(name: str, scores: Mapping[str, Mapping[str, float]]) -> ScoreTable:
    """A table from each model's scores by story.

    >>> make_table("human", {"A": {"1": 1.0, "2": 0.5}, "B": {"1": 0.0}}).values.tolist()
    [[1.0, 0.5], [0.0, nan]]
    """
    stories = tuple(dict.fromkeys(story for by_story in scores.values() for story in by_story))
    values = [[by_story.get(story, math.nan) for story in stories] for by_story in scores.values()]
    return ScoreTable(name, tuple(scores), stories, np.array(values, np.float64).reshape(len(scores), len(stories)))


def encoder_table(name: str, rewrites: Mapping[str, Iterable[Rewrite]]) -> ScoreTable:
    """The table of each model's scored rewrites; a story's score is the mean over its rewrites."""
    return make_table(name, {model: story_scores(rows) for model, rows in rewrites.items()})


def judge_table(name: str, judged: Mapping[str, Iterable[JudgedRewrite]]) -> ScoreTable:
    """The table of each model's judged rewrites: a story's score is the mean of its grades divided by 5."""
    table: dict[str, dict[str, float]] = {}
    for model, rows in judged.items():
        scores: defaultdict[str, list[float]] = defaultdict(list)
        for row in rows:
            if row.score is not None:
                scores[row.story_id].append(row.score)
        table[model] = {story: math.fsum(values) / len(values) for story, values in scores.items()}
    return make_table(name, table)


@dataclass(frozen=True, slots=True)
class Placed:
    """A model in one evaluation: its mean, of how many stories, and its place from 1; None for both without a score."""

    mean: float | None
    stories: int
    place: int | None


@dataclass(frozen=True, slots=True)
class RankedModel:
    """One row of Table 23: a model in every evaluation, by the evaluation's name."""

    model: str
    by_evaluation: dict[str, Placed]


def rank_models(tables: Sequence[ScoreTable]) -> tuple[RankedModel, ...]:
    """Table 23: every model's mean and place in every evaluation, in the order of the first one's places.

    Equal means share the better place. A model that an evaluation does not have, or gave no score, has no place there.

    >>> tables = [make_table("e", {"A": {"1": 0.2}, "B": {"1": 0.6}}), make_table("human", {"A": {"1": 1.0}})]
    >>> [(row.model, [placed.place for placed in row.by_evaluation.values()]) for row in rank_models(tables)]
    [('B', [1, None]), ('A', [2, 1])]
    """
    placed: dict[str, dict[str, Placed]] = defaultdict(dict)
    models = dict.fromkeys(model for table in tables for model in table.models)
    for table in tables:
        means = {model: table.mean(model) if model in table.models else (None, 0) for model in models}
        for model, (mean, n) in means.items():
            place = None if mean is None else 1 + sum(m is not None and m > mean for m, _ in means.values())
            placed[model][table.name] = Placed(mean, n, place)
    rows = [RankedModel(model, placed[model]) for model in models]
    first = tables[0].name if tables else ""
    return tuple(sorted(rows, key=lambda row: row.by_evaluation[first].place or math.inf))
