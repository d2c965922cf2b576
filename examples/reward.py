"""A reward of one's own beside sozo's: rare words. In a recipe's YAML, from the folder above this one:

reward_funcs: [rewards.make_dat_reward, examples.reward.make_rarity_reward]
reward_args: {rewards.make_dat_reward: {}, examples.reward.make_rarity_reward: {counts: words.tsv}}
reward_weights: [1.0, 0.2]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rewards.parse import split_list


class RarityReward:
    """Pays the mean surprisal of the ten words in bits; 0 for what is no list of ten.

    Args:
        counts: How often each word occurs in some corpus. A word that is not in it counts as seen once.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        self.__name__ = "rarity"  # the reward's name in TRL's logs and in W&B
        self._counts, self._total = counts, sum(counts.values())

    def __call__(
        self, completions: Sequence[Any], log_metric: Callable[[str, float], None] | None = None, **kwargs: Any
    ) -> list[float | None]:
        """One number for each completion, in order: a text, or a conversation whose last turn is the text.

        TRL also passes prompts and the dataset's columns; `**kwargs` takes what is not needed. None instead of a number
        says: this reward has nothing to say of this completion.
        """
        texts = [c if isinstance(c, str) else c[-1]["content"] for c in completions]
        rewards = [self._bits(split_list(text)) for text in texts]
        if log_metric and rewards:
            log_metric("rarity/paid", sum(reward > 0 for reward in rewards) / len(rewards))
        return list(rewards)

    def _bits(self, words: Sequence[str] | None) -> float:
        if words is None:
            return 0.0
        return -sum(math.log2(self._counts.get(word, 1) / self._total) for word in words) / len(words)


def make_rarity_reward(counts: str) -> RarityReward:
    """The reward of a file with lines `word<TAB>count`."""
    lines = Path(counts).read_text("utf-8").splitlines()
    return RarityReward({word: int(count) for word, count in (line.split("\t") for line in lines)})
