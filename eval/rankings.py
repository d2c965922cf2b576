"""People's rankings of the models on an item, checked line by line, as scores of places."""

from collections.abc import Iterable
from pathlib import Path

from sozo.data.errors import UserError
from sozo.data.jsonl import id_column, read_objects
from sozo.data.ratings import Rating, mean_scores
from sozo.eval.matrix import Matrix

PEOPLE = "human"  # the name of people's matrix, as in Table 23
RANKING = "ranking"


def read_rankings(path: Path) -> list[Rating]:
    """Rankings of the same models on one item each, best first, as ratings by the criterion `ranking` (`place_score`).

    A line of JSONL: `{"story_id": "momotaro", "ranking": ["GPT-4o", "Swallow-8B"], "rater": "r1"}`.
    """
    ratings: list[Rating] = []
    first: list[str] = []
    seen = set()
    for where, row in read_objects(path):
        names = row.get("ranking")
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            raise UserError(f"{where}: the column ranking is no list of two models or more; give names, best first")
        if len(set(names)) != len(names):
            raise UserError(f"{where}: the ranking has a model twice; name every model once")
        first = first or names
        if set(names) != set(first):
            other = sorted(set(names) ^ set(first))
            raise UserError(f"{where}: ranks other models than the first ranking ({', '.join(other)}); rank the same")
        # Without names, several rankings of one item are several people's.
        item, rater = id_column(row, "story_id", where), id_column(row, "rater", where, "") or where
        if (item, rater) in seen:
            raise UserError(f"{where}: {rater!r} ranks the story {item!r} twice; leave one out")
        seen.add((item, rater))
        places = enumerate(names, 1)
        ratings += [Rating(model, item, RANKING, rater, place_score(place, len(names))) for place, model in places]
    if not ratings:
        raise UserError(f'{path}: holds no rankings; write one per line: {{"story_id": "...", "ranking": [...]}}')
    return ratings


def place_score(place: int, models: int) -> float:
    """Score of a place from 1, as the paper gives it to its eleven models: 1 for the first and 0 for the last.

    >>> [place_score(place, 11) for place in (1, 2, 3, 11)]
    [1.0, 0.9, 0.8, 0.0]
    """
    return (models - place) / (models - 1)


def people_matrix(rankings: Iterable[Rating]) -> Matrix:
    """Models x items, each score the mean over the raters."""
    scores: dict[str, dict[str, float]] = {}
    for (model, item), means in mean_scores(rankings).items():
        scores.setdefault(model, {})[item] = means[RANKING]
    return Matrix.of(PEOPLE, scores)
