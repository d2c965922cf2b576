"""A reward of one's own: words that no other list of the group names. Beside sozo's, in a recipe's YAML:

tasks:
- task: dat
  reward_funcs: [sozo.rewards.make_dat_reward, examples.reward.make_fresh_words_reward]
  reward_args: {sozo.rewards.make_dat_reward: {}, examples.reward.make_fresh_words_reward: {scale: 2.0}}
  reward_weights: [1.0, 0.2]
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sozo.rewards.reward import Reward, ScoredCompletion
from sozo.scoring.parse import split_list
from sozo.tasks.task import Answer, Item


class FreshWordsReward(Reward):
    """Pays the share of a list's words that no other list answering the same prompt names; 0 for what is no list.

    >>> text = "\\n".join(f"{k}. {word}" for k, word in enumerate("犬猫水山川本車空海石", 1))
    >>> FreshWordsReward()(completions=[text, text, text.replace("犬", "木")])
    [0.0, 0.0, 0.1]
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__(
            "fresh_words", "fresh_words", scale=scale
        )  # its name in TRL's logs, and its metrics' prefix

    def alone(
        self, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ScoredCompletion]:
        """What each answer is worth by itself. Each process asks about its own completions."""
        scored = []
        for item, answer in zip(items, answers, strict=True):
            words = split_list(answer.text)
            score, reason = (0.0, None) if words else (None, "format")
            scored.append(
                self.scored(item, answer.text, score, reason, words=words or ())
            )
        return scored

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        """What each is worth among those of all processes; every process must come to the same result."""
        named = Counter(
            (c.group, word) for c in completions for word in c.facts["words"]
        )
        paid = []
        for completion in super().among(completions):
            words = completion.facts["words"]
            if words:
                alone = sum(named[completion.group, word] == 1 for word in words)
                share = alone / len(words)
                completion = replace(completion, score=share, reward=self.scale * share)
            paid.append(completion)
        return paid


def make_fresh_words_reward(scale: float = 1.0) -> FreshWordsReward:
    """The reward; a recipe calls this with what `reward_args` says."""
    return FreshWordsReward(scale)
