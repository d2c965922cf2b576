"""The combination alone as a reward: what a list's words gain by standing together, measured from a fixed reference.

Which words are used earns nothing: words drawn independently of each other, in all places alike, are paid 0 on average
if they are the reference's, and less if they are others. What still earns without combining is a template, another use
of words in each place: `dat/position` shows it (docs/instruments.md).
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.settings import settings_of
from sozo.rewards.dat_apart import DatDistance, shared_scorer
from sozo.rewards.dat_parts import with_parts
from sozo.rewards.reward import ScoredCompletion
from sozo.scoring.embeddings import WordVectors
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.summary import valid_lists
from sozo.tasks.task import Answer, Item


class DatCombination(DatDistance):
    """Reward function: minus the mean of (u - m)·(v - m) over the pairs of a valid list's words, about -0.1 to 0.1.

    u and v are unit vectors, m the mean vector of the words of the reference's valid lists. An invalid list has None,
    one seen before 0. Its parts are the words, each worth its mean with the other nine.
    """

    def __init__(self, build: Callable[[], DatScorer], reference: Path, *, penalise_duplicates: bool = True) -> None:
        super().__init__(build, penalise_duplicates=penalise_duplicates)
        self.__name__ = "dat_combination"
        self._reference = reference

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        completions = super().alone(items, answers)
        lists = [completion.facts["words"] for completion in completions if completion.score is not None]
        worths = iter(combined(self.scorer.vectors, lists, self._mean))
        return [c if c.score is None else with_parts(c, fsum(w := next(worths)) / len(w), w) for c in completions]

    @cached_property
    def _mean(self) -> np.ndarray:
        words = [word for words in valid_lists(self._reference) for word in words]
        unit = self.scorer.vectors.unit(words)
        if not unit.any():
            raise UserError(f"{self._reference} holds no valid list with a vector; reference is a finished DAT run")
        return unit[unit.any(axis=1)].mean(axis=0)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "reference": str(self._reference)}


def combined(vectors: WordVectors, lists: Sequence[Sequence[str]], mean: np.ndarray) -> list[list[float]]:
    """For each list of equally many words each word's -(u - mean)·(v - mean), the mean over its other words v."""
    if not lists:
        return []
    rows = np.array([vectors.rows(words) for words in lists])  # the matrix grows with them
    moved = vectors.matrix[rows] - mean
    others = moved.sum(axis=1, keepdims=True) - moved
    return (-np.einsum("rkd,rkd->rk", moved, others) / (rows.shape[1] - 1)).tolist()


def make_dat_combination(*, reference: str, penalise_duplicates: bool = True, **settings: Any) -> DatCombination:
    """The combination of each valid response, and None for an invalid one.

    `reference` is the folder of a finished DAT run, the base model's say; `settings` are those of `make_dat_reward`.
    """
    chosen, folder = settings_of(DatSettings, settings), Path(reference)
    if chosen.olson:
        raise UserError("dat_combination: Olson's scores leave three words out; leave olson out")
    if not folder.exists():
        raise UserError(f"dat_combination: reference {folder} is not there; it is the folder of a finished DAT run")
    return DatCombination(partial(shared_scorer, chosen), folder, penalise_duplicates=penalise_duplicates)
