"""Chain: nine associations from a given noun, each near the one before; its value is how far it flows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sozo.data.settings import setting
from sozo.scoring.distance import forward_flow, words_nearer
from sozo.scoring.embeddings import WordVectors, make_encoder
from sozo.scoring.measure import Measure
from sozo.tasks.words.lists import Lists, ListTask, WordSettings, centred, list_measures

_NEAREST = 20  # by the encoder of the score a word is among so many nearest nouns of the word before it
_TENTH = 0.1  # by the second encoder among this share of the nouns


@dataclass(frozen=True)
class ChainSettings(WordSettings):
    """By whom a step is confirmed."""

    second_encoder: str = setting("e5", "Of chain: the encoder by which each step must be near too.")


class Chain(ListTask):
    """Forward flow of chains of which every step is near by two encoders.

    The 20 nearest by both would leave a third of the nouns without a step, and those of e5 alone share a character more
    often than a meaning: so e5 does not choose steps, but takes back what it finds far.
    """

    name = "chain"
    title = "Chain of associations"
    Settings = ChainSettings
    rule = "near"
    measures = list_measures("chain", Measure("chain/near", share=True), scale=(0, 2))
    settings: ChainSettings

    @cached_property
    def second_vectors(self) -> WordVectors:
        """Vectors of the second encoder."""
        return WordVectors(make_encoder(centred(self.settings.second_encoder)))

    def describe(self) -> dict[str, str]:
        encoder = self.second_vectors.encoder
        return super().describe() | {"second_encoder": f"{encoder.name}@{encoder.revision}"}

    def values(self, cues: Sequence[str], lists: Lists) -> Mapping[str, np.ndarray]:
        rows = self.scorer.vectors.table(lists)  # first: it may make the matrix anew
        flow = forward_flow(self.scorer.vectors.matrix, rows)
        return {"chain": flow, "chain/near": self.near(lists).mean(axis=1)}

    def near(self, lists: Lists) -> np.ndarray:
        """Of each step of lists whether both encoders find it near: bool, shape (lists, steps)."""
        near, tenth = [], max(_NEAREST, int(_TENTH * len(self.nouns)))
        for vectors, rank in ((self.scorer.vectors, _NEAREST), (self.second_vectors, tenth)):
            among, rows = vectors.table([self.nouns])[0], vectors.table(lists)
            steps = rows[:, :-1].ravel(), rows[:, 1:].ravel()
            near.append(words_nearer(vectors.matrix, *steps, among[among >= 0]) < rank)
        return np.logical_and(*near).reshape(len(lists), -1)
