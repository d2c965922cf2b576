"""Rare words are paid for: a reward by running counts of the words that all processes drew, saved with a checkpoint."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from sozo.data.settings import settings_of
from sozo.rewards.dat import DatReward
from sozo.rewards.dat_apart import shared_scorer
from sozo.rewards.dat_parts import unpaid, with_parts
from sozo.rewards.reward import ScoredCompletion
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.task import Answer, Item


class DatRarity(DatReward):
    """Reward function: how rare a valid list's words were before this step, the mean in nats; None for other lists.

    A word that made up c of n counted words is worth log((n + 1) / (c + 1)). With counts of the model's own words that
    is the policy gradient of the entropy of its words, all places taken together: the number of words that it uses, not
    the entropy of its lists. `decay` is what counts keep from one step to the next.
    """

    in_parts = keeps_words = True
    console = ()

    def __init__(self, build: Callable[[], DatScorer], *, decay: float = 0.98) -> None:
        super().__init__(build, scale=1.0, penalise_duplicates=False)
        self.__name__ = self.prefix = "dat_rarity"
        self._decay = decay
        self._numbers: dict[str, int] = {}
        self._counts = np.zeros(0)

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        return [unpaid(completion) for completion in super().alone(items, answers)]

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        completions = super().among(completions)
        valid = [completion for completion in completions if completion.score is not None]
        words = [word for completion in valid for word in completion.facts["words"]]
        rows = np.array([self._numbers.setdefault(word, len(self._numbers)) for word in words], np.int64)
        self._counts = np.append(self._counts, np.zeros(len(self._numbers) - len(self._counts)))
        worths = iter((math.log(self._counts.sum() + 1) - np.log(self._counts[rows] + 1)).tolist())
        self._counts = self._decay * self._counts + np.bincount(rows, minlength=len(self._counts))
        paid = []
        for completion in completions:
            if completion.score is None:
                paid.append(completion)
                continue
            own = [next(worths) for _ in completion.facts["words"]]
            paid.append(with_parts(completion, math.fsum(own) / len(own), own))
        return paid

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        return {}  # the mean, which TRL logs, says it all

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "decay": self._decay}

    def state(self) -> dict[str, Any]:
        return {"words": list(self._numbers), "counts": self._counts.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        self._numbers = {word: number for number, word in enumerate(state["words"])}
        self._counts = np.array(state["counts"])


def make_dat_rarity(*, decay: float = 0.98, **settings: Any) -> DatRarity:
    """Rarity by running counts, beside `make_dat_validity` and `make_dat_distance`; settings of `make_dat_reward`."""
    return DatRarity(partial(shared_scorer, settings_of(DatSettings, settings)), decay=decay)
