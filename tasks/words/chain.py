"""Chain: nine associations from a given noun, each near the one before; its value is how far it flows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sozo.scoring.distance import distance_of_nearest, forward_flow, paired_distance
from sozo.scoring.embeddings import WordVectors
from sozo.scoring.measure import Measure
from sozo.tasks.task import Answer, Item, Row
from sozo.tasks.words.lists import ListTask, WordSettings, list_measures

NEAREST = 20  # by the encoder of the score a word is among so many nearest nouns of the word before it
TENTH = 0.1  # by the second encoder, among this share of the nouns
_NEAR = "chain/near"
_ROUNDING = 1e-5


class Chain(ListTask):
    """Forward flow of chains of which every step is near by two encoders.

    The 20 nearest by both would leave a third of the nouns without any step. The 20 nearest by e5 mostly share a
    character with the word, which ja-ginza does not see: so e5 does not choose, but takes back what it finds far.
    """

    name = "chain"
    title = "Chain of associations"
    measures = list_measures("chain", Measure(_NEAR, share=True), scale=(0, 2))

    def __init__(self, settings: WordSettings | None = None) -> None:
        settings = settings or WordSettings()
        super().__init__(replace(settings, second_encoder=settings.second_encoder or "e5"))
        self._limits: dict[tuple[str, str], float] = {}

    def value(self, vectors: WordVectors, cues: Sequence[str], lists: Sequence[Sequence[str]]) -> np.ndarray:
        rows = np.array(vectors.rows([word for words in lists for word in words])).reshape(len(lists), -1)
        return forward_flow(vectors.matrix, rows)

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[Row]:
        """Every list of ten nouns has `chain/near`, the share of its steps that are near; a valid one has all."""
        rows = super().score(items, answers)
        lists = [row.facts["words"] for row in rows if row.reason is None]
        shares = iter(self.near(lists).mean(axis=1).tolist() if lists else ())
        for k, row in enumerate(rows):
            if row.reason is None:
                values = {**row.values, _NEAR: next(shares)}
                if values[_NEAR] < 1:
                    rows[k] = replace(row, values={_NEAR: values[_NEAR], "chain/valid": 0.0}, reason="not_near")
                else:
                    rows[k] = replace(row, values=values)
        return rows

    def near(self, lists: Sequence[Sequence[str]]) -> np.ndarray:
        """Of each step of lists whether it is near by both encoders: bool, shape (lists, steps)."""
        left = [word for words in lists for word in words[:-1]]
        right = [word for words in lists for word in words[1:]]
        gates = ((self.scorer.vectors, NEAREST), (self.second_vectors, max(NEAREST, int(TENTH * len(self.nouns)))))
        near = [self._among(vectors, left, right, rank) for vectors, rank in gates if vectors]
        return np.asarray(np.logical_and(*near).reshape(len(lists), -1))

    def _among(self, vectors: WordVectors, left: Sequence[str], right: Sequence[str], rank: int) -> np.ndarray:
        """Whether each word on the right has fewer than `rank` nouns that are nearer to its word on the left."""
        known, limits = vectors.encoder.name, self._limits
        new = [word for word in dict.fromkeys(left) if (known, word) not in limits]
        nouns = np.array([row for row in vectors.rows(self.nouns) if row >= 0])
        if new:
            rows, last = np.array(vectors.rows(new)), min(rank, len(nouns) - 1)
            limit = distance_of_nearest(vectors.matrix, rows, nouns, np.array([last]))[:, 0]
            limits.update(((known, word), value) for word, value in zip(new, limit.tolist(), strict=True))
        distances = paired_distance(vectors.matrix, np.array(vectors.rows(left)), np.array(vectors.rows(right)))
        return distances <= np.array([limits[known, word] for word in left]) + _ROUNDING
