"""What people say: rankings of the models' rewrites of one story, best first (paper, appendix C, Table 21)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data.errors import UserError
from data.jsonl import id_column, read_objects
from eval.matrix import Matrix

PEOPLE = "human"
"""Name of people's table, as in Table 23."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One person's order of the models on one story, the most creative first."""

    story_id: str  # of the story
    models: tuple[str, ...]  # every model once
    rater: str = ""  # who said so; empty if not known


def load_rankings(path: Path) -> tuple[Ranking, ...]:
    """Rankings from JSONL: `{"story_id": "momotaro", "ranking": ["GPT-4o", "Swallow-8B"], "rater": "r1"}`."""
    rankings: dict[tuple[str, str], Ranking] = {}
    first: tuple[str, ...] = ()
    for where, row in read_objects(path):
        names = row.get("ranking")
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise UserError(f"{where}: the column ranking is no list of two models or more; give names, best first")
        if len(set(names)) != len(names):
            raise UserError(f"{where}: the ranking has a model twice; name every model once")
        first = first or tuple(names)
        if set(names) != set(first):
            other = sorted(set(names) ^ set(first))
            raise UserError(f"{where}: ranks other models than the first ranking ({', '.join(other)}); rank the same")
        ranking = Ranking(id_column(row, "story_id", where), tuple(names), id_column(row, "rater", where, ""))
        # Without names, several rankings of one story are several people's.
        key = (ranking.story_id, ranking.rater or where)
        if key in rankings:
            raise UserError(f"{where}: {ranking.rater!r} ranks the story {ranking.story_id!r} twice; leave one out")
        rankings[key] = ranking
    if not rankings:
        raise UserError(f'{path}: holds no rankings; write one per line: {{"story_id": "...", "ranking": [...]}}')
    return tuple(rankings.values())


def place_score(place: int, models: int) -> float:
    """Score of a place from 1: 1 - (place - 1) / (models - 1), so 1 for the first and 0 for the last.

    The paper gives 1, 0.9, 0.8 and so on down to 0 points: that is this for its eleven models. With another number the
    ends stay, since Pearson's correlation knows no scale.

    >>> [place_score(place, 11) for place in (1, 2, 3, 11)]
    [1.0, 0.9, 0.8, 0.0]
    """
    return (models - place) / (models - 1)


def people_matrix(rankings: Sequence[Ranking]) -> Matrix:
    """Scores by people: a model's score on a story is the mean of its places' scores over the people who ranked it.

    >>> people_matrix([Ranking("1", ("A", "B", "C")), Ranking("1", ("B", "A", "C"))]).values.tolist()
    [[0.75], [0.75], [0.0]]
    """
    scores: dict[str, defaultdict[str, list[float]]] = {}
    for ranking in rankings:
        for place, model in enumerate(ranking.models, 1):
            by_story = scores.setdefault(model, defaultdict(list))
            by_story[ranking.story_id].append(place_score(place, len(ranking.models)))
    means = {m: {story: math.fsum(v) / len(v) for story, v in by_story.items()} for m, by_story in scores.items()}
    return Matrix.of(PEOPLE, means)
