"""How far apart the ideas for one patent are: a model that always has the same idea can have a good one."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sozo.scoring.distance import mean_pairwise_distance
from sozo.scoring.embeddings import WordVectors
from sozo.tasks.pbig.ideas import idea_text


def distances(ideas: Mapping[str, Sequence[Mapping[str, str]]], vectors: WordVectors) -> dict[str, float]:
    """Patent -> mean cosine distance over all pairs of its ideas, 0 to 2; of those with two ideas or more."""
    result = {}
    for patent, fields in ideas.items():
        rows = [row for row in vectors.rows([idea_text(idea) for idea in fields]) if row >= 0]
        if len(rows) > 1:
            result[patent] = float(mean_pairwise_distance(vectors.matrix, np.array([rows]))[0])
    return result


def same_titles(ideas: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, float]:
    """Patent -> share of its ideas whose title another one has too; of those with two ideas or more.

    >>> same_titles({"p": [{"title": "枕"}, {"title": " 枕"}, {"title": "布"}], "q": [{"title": "枕"}]})
    {'p': 0.6666666666666666}
    """
    result = {}
    for patent, fields in ideas.items():
        titles = [_plain(idea["title"]) for idea in fields]
        count = Counter(titles)
        if len(titles) > 1:
            result[patent] = sum(count[title] > 1 for title in titles) / len(titles)
    return result


def _plain(title: str) -> str:
    return "".join(unicodedata.normalize("NFKC", title).casefold().split())
