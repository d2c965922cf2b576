"""A placebo of any reward: its payments, to whom chance gives them."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.foreign import quoted
from sozo.rewards.reward import ScoredCompletion
from sozo.rewards.wrapping import Wrapping


class Placebo(Wrapping):
    """Reward function: what another reward, `quality`, pays, shuffled among the usable answers to each prompt.

    Usable are those with a score other than 0 and no reason against them that were not seen before. Within each group,
    all answers to one prompt in one call on all processes, `seed` and the call's texts draw which of them gets which
    payment. So a group's usable answers earn in sum what they earn under `quality`, and with the same spread, but which
    of them earns it is chance: a control arm for what a reward is claimed to teach within a prompt, where GRPO compares.
    Where a group's usable answers are paid alike, or there is one, it is `quality`. It also has the history of
    duplicates of a reward that it is given: give one run no reward and its placebo of the same object.

    Args:
        quality: A reward function, sozo's or one's own, or its dotted path.
        quality_args: With these, even none, the path is of what makes the reward.
        name: What it is called in logs. `sozo train grpo` refuses two of one name; TRL by itself logs them as one.

    Logged is what `quality` logs, by the same names, and `placebo/alone` (`name` before the stroke): the share of answers
    that are the only usable ones of their groups, and so keep their payment.

    >>> def length(completions, **columns):
    ...     return [len(text) for text in completions]
    >>> make_placebo(length, seed=1)(completions=["犬", "", "犬と猫", "海と"])
    [2.0, 0.0, 1.0, 3.0]
    """

    def __init__(
        self,
        quality: Callable[..., Any] | str,
        *,
        seed: int = 0,
        quality_args: Mapping[str, Any] | None = None,
        name: str = "placebo",
    ) -> None:
        super().__init__(name, "placebo", quality, quality_args)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise UserError(f"seed must be a whole number, not {quoted(seed)}")
        self.prefix, self.console = self.quality.prefix, self.quality.console
        self._seed = seed

    def among(self, completions: list[ScoredCompletion]) -> list[ScoredCompletion]:
        paid = super().among(completions)
        groups = defaultdict(list)
        for place, one in enumerate(paid):
            if one.score and not one.reason and not one.duplicate:
                groups[completions[place].group].append(place)
        texts = json.dumps([self._seed, *(one.text for one in paid)]).encode()
        # The same in every process.
        rng = np.random.default_rng(list(hashlib.blake2b(texts).digest()))
        for places in groups.values():
            dealt = [paid[place].reward for place in rng.permutation(places).tolist()]
            for place, reward in zip(places, dealt, strict=True):
                paid[place] = replace(paid[place], reward=reward, parts=())
        self._alone = sum(len(places) == 1 for places in groups.values())
        return paid

    def metrics(self, completions: Sequence[ScoredCompletion]) -> dict[str, float]:
        alone = self._alone / len(completions)
        return {**super().metrics(completions), f"{self.__name__}/alone": alone}

    def describe(self) -> dict[str, Any]:
        own = {"of": self.quality.__name__, "seed": self._seed}
        return {**super().describe(), "placebo": own}


make_placebo = Placebo
