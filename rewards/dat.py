"""The DAT reward as TRL takes it (paper, section 5.1.3): 10 x DAT score, 0 if invalid or seen before.

Works in `GRPOTrainer(reward_funcs=[dat_reward])`, from `trl grpo --reward_funcs sozo.rewards.dat_reward`, and in any
trainer that calls a function with the texts of each process: it needs nothing but `completions`.
"""

import os
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from sozo.data.schema import Reason
from sozo.data.settings import settings_of
from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.scoring.embeddings import DEFAULT_ENCODER
from sozo.tasks.dat.instruments import measure
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.task import Answer, Item


class DatReward(Reward):
    """Reward function: 10 x DAT score, in [0, 20]; 0 for an invalid response and for one seen before in this run.

    `build` makes the scorer, in the process that uses it. Seen before are the same words in the same order.

    Logged through TRL's `log_metric`, over all processes: `dat/valid_rate`, `dat/mean_score` (of valid responses),
    `dat/unique_words`, `dat/duplicate_share`, `dat/reason/<reason>` (shares), `dat/seconds`, and the instruments of
    `sozo.tasks.dat.instruments` (`dat/combination`, `dat/glued_share`); through `log_extra` the columns words,
    score, reason and duplicate.

    >>> first = "\\n".join(f"{k}. {w}" for k, w in enumerate("犬 法律 海 数学 靴 音楽 病気 机 天気 祝日".split(), 1))
    >>> reward = make_dat_reward(noun_checker="jumandic")
    >>> [round(r, 1) for r in reward(completions=[first, first, "1. 犬"])]
    [8.2, 0.0, 0.0]
    """

    console: Sequence[tuple[str, str, str]] = (
        ("mean DAT score", "dat/mean_score", ".4f"),
        ("valid", "dat/valid_rate", "6.1%"),
        ("unique words", "dat/unique_words", "5.0f"),
    )
    loaded = "scorer"

    def __init__(
        self, build: Callable[[], DatScorer], *, scale: float = 10.0, penalise_duplicates: bool = True
    ) -> None:
        # The name is the same whatever the settings: it is the key in W&B.
        super().__init__("dat_reward", "dat", scale=scale, penalise_duplicates=penalise_duplicates)
        self._build = build

    @cached_property
    def scorer(self) -> DatScorer:
        """Built when first asked for: ask before training to see errors early."""
        return self._build()

    def alone(self, items: Sequence[Item], answers: Sequence[Answer]) -> list[ScoredCompletion]:
        results = self.scorer.score([answer.text for answer in answers])
        # In float32, like the scores: the product in float64 would differ in the last digits.
        rewards = (np.nan_to_num(results.scores, nan=0.0) * self.scale).tolist()
        completions = []
        for k, result in enumerate(results):
            facts, text, key = {"words": result.words}, results.texts[k], results.keys[k]
            completions.append(ScoredCompletion(text, result.score, result.reason, rewards[k], facts=facts, key=key))
        return completions

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        lists = [completion.facts["words"] for completion in completions if completion.score is not None]
        number = {word: k for k, word in enumerate(dict.fromkeys(word for words in lists for word in words))}
        numbers = np.array([[number[word] for word in words] for words in lists])
        metrics = {f"dat/reason/{reason}": 0.0 for reason in Reason} | super().metrics(completions)
        metrics["dat/unique_words"] = float(len(number))
        return metrics | {f"dat/{name}": value for name, value in measure(self.scorer, list(number), numbers).items()}

    def shown(self, completion: ScoredCompletion) -> dict[str, Any]:
        return {"words": " ".join(completion.facts.get("words") or ()), **super().shown(completion)}

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), **self.scorer.describe()}


def make_dat_reward(*, scale: float = 10.0, penalise_duplicates: bool = True, **settings: Any) -> DatReward:
    """A configured DAT reward. Nothing is loaded before the first call, or before `reward.scorer` is asked for.

    `settings` are fields of `sozo.tasks.dat.scorer.DatSettings`, such as noun_checker. With `olson`, scores are 0
    to 200.
    """
    build = partial(DatScorer.of, settings_of(DatSettings, settings))
    return DatReward(build, scale=scale, penalise_duplicates=penalise_duplicates)


def _scorer_from_environment() -> DatScorer:
    """For `dat_reward`, which nobody can pass arguments to: SOZO_NOUN_CHECKER and SOZO_EMBEDDING_MODEL choose."""
    encoder = os.environ.get("SOZO_EMBEDDING_MODEL", DEFAULT_ENCODER)
    return DatScorer.of(DatSettings(noun_checker=os.environ.get("SOZO_NOUN_CHECKER", "auto"), embedding_model=encoder))


dat_reward = DatReward(_scorer_from_environment)
