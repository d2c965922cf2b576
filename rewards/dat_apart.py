"""Validity and distance as two rewards: summed into one, an invalid list's 0 drowns what distances differ by.

Each is normalised alone with TRL's `multi_objective_aggregation: normalize_then_sum`. A group without a valid list then
learns from neither, one with a single valid list from its validity.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from sozo.data.errors import UserError
from sozo.data.settings import settings_of
from sozo.rewards.dat import DatReward
from sozo.rewards.dat_parts import distances_to_others, unpaid, with_parts
from sozo.rewards.reward import ScoredCompletion
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.task import Answer, Item


class DatValidity(DatReward):
    """Reward function: 1 for a valid list, else 0. A list that was seen before is as valid."""

    console = ()

    def __init__(self, build: Callable[[], DatScorer]) -> None:
        super().__init__(build, scale=1.0, penalise_duplicates=False)
        self.__name__ = self.prefix = "dat_validity"

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        completions = super().alone(items, answers)
        return [replace(completion, reward=float(completion.score is not None)) for completion in completions]

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        return {}  # the mean, which TRL logs, says it all


class DatDistance(DatReward):
    """Reward function: the DAT score of a valid list, in [0, 2]; None for an invalid one, 0 for one seen before.

    Its parts are the words, each worth its mean distance to the other nine: their mean is the score.
    """

    in_parts = True

    def __init__(self, build: Callable[[], DatScorer], *, penalise_duplicates: bool = True) -> None:
        super().__init__(build, scale=1.0, penalise_duplicates=penalise_duplicates)
        self.__name__ = "dat_distance"

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        completions = super().alone(items, answers)
        lists = [completion.facts["words"] for completion in completions if completion.score is not None]
        worths = iter(distances_to_others(self.scorer.vectors, lists))
        return [unpaid(c) if c.score is None else with_parts(c, c.score, next(worths)) for c in completions]

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        completions = super().among(completions)
        return [with_parts(c, 0.0, [0.0] * len(c.parts)) if c.duplicate else c for c in completions]


def make_dat_validity(**settings: Any) -> DatValidity:
    """1.0 for each valid response, else 0.0; `settings` are those of `make_dat_reward`."""
    return DatValidity(partial(shared_scorer, settings_of(DatSettings, settings)))


def make_dat_distance(*, penalise_duplicates: bool = True, **settings: Any) -> DatDistance:
    """The DAT score of each valid response, and None for an invalid one; `settings` are those of `make_dat_reward`.

    Beside `make_dat_validity`, which loads nothing of its own where the settings are the same.

    >>> text = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> validity, distance = (make(noun_checker="jumandic") for make in (make_dat_validity, make_dat_distance))
    >>> validity(completions=[text, "1. 犬"]), distance(completions=["1. 犬"])
    ([1.0, 0.0], [None])
    """
    chosen = settings_of(DatSettings, settings)
    if chosen.olson:
        raise UserError("dat_distance: Olson's scores leave three words out; take make_dat_reward, or leave olson out")
    return DatDistance(partial(shared_scorer, chosen), penalise_duplicates=penalise_duplicates)


@lru_cache
def shared_scorer(settings: DatSettings) -> DatScorer:
    """One scorer for all rewards of the same settings."""
    return DatScorer.of(settings)
