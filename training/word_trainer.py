"""GRPO that knows which tokens wrote which word: credit for each word.

The policy gradient weighs each word's log-probability with the list's whole score. Word k's own part of the score is
its mean distance to the other words: pairs that k is not in differ by chance, and what the words before k are to each
other is no doing of k's. With words that are drawn independently the gradient is then the true one times half the
number of words, with far less noise. It is biased where words depend on each other: a word gets nothing for how it
steers those after it.
"""

from collections.abc import Sequence
from functools import cache, partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import torch

from sozo.data.errors import UserError
from sozo.data.processes import gather
from sozo.rewards.reward import Part
from sozo.scoring.final_text import decode
from sozo.training.grpo_trainer import MixTrainer

_EPSILON = 1e-4  # TRL's, beside a standard deviation
_NO_CHARACTER = "\ufffd"  # what the bytes of half a character are decoded to


def part_advantages(worths: np.ndarray, group: int) -> np.ndarray:
    """Advantages of parts: their worths less the mean of their place, in standard deviations, within each group.

    `worths` have the shape (completions of all processes, parts), NaN where a completion has no such part, and `group`
    completions after each other answer one prompt. The mean is that of the group's parts of the same place, so that a
    place is no merit; the deviation that of all its parts. 0 where there is no part, or nothing to compare with.

    >>> part_advantages(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, np.nan]]), 3).round(2).tolist()
    [[-1.22, 0.0], [1.22, 0.0], [0.0, 0.0]]
    """
    parts = worths.shape[1]
    known = np.ma.masked_invalid(worths.reshape(len(worths) // group, group, parts))
    centred = known - known.mean(1, keepdims=True)
    freedom = np.maximum(known.count((1, 2), keepdims=True) - 1, 1)
    deviation = np.sqrt((centred**2).sum((1, 2), keepdims=True) / freedom)
    return (centred / (deviation + _EPSILON)).filled(0).reshape(worths.shape)


class WordTokens:
    """Aligns what a model wrote with its tokens; remembers what single tokens of `tokenizer` are decoded to."""

    def __init__(self, tokenizer: Any) -> None:
        self._decode = partial(decode, tokenizer)
        self._piece = cache(lambda token: self._decode([token]))

    def parts(self, ids: Sequence[int], text: str, parts: Sequence[Part]) -> np.ndarray:
        """For each token the number of the first part that it wrote a character of; -1 for none: (tokens,).

        `text` is what `sozo.scoring.final_text.decode` makes of the tokens `ids`, or its end.
        """
        starts, ends = self.characters(ids, text)
        numbers = np.full(len(ids), -1)
        for number, part in enumerate(parts):
            # A special token stands for no character.
            writes = (starts < part.end) & (part.start < ends) & (starts < ends)
            numbers[writes & (numbers < 0)] = number
        return numbers

    def characters(
        self, ids: Sequence[int], text: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """First character of each token, and the one after its last, in `text`: integers, shape (tokens,) both."""
        pieces = [self._piece(token) for token in ids]
        if "".join(pieces) == text:
            ends = np.cumsum([len(piece) for piece in pieces])
            return np.concatenate([[0], ends[:-1]]), ends
        # Some tokens are decoded otherwise beside others, such as those that hold a character's bytes between them.
        decoded = self._decode(ids)
        offset = decoded.rfind(text)
        if offset < 0:
            raise UserError(
                f"the tokens of a completion spell {decoded[:40]!r}, not its text {text[:40]!r}: no credit"
            )
        before = [self._decode(ids[: k + 1]) for k in range(len(ids))]
        done = np.maximum.accumulate(
            [len(text.rstrip(_NO_CHARACTER)) for text in before]
        )
        starts = np.concatenate([[0], done[:-1]])
        # A token that ends within a character writes that one too.
        ends = done + np.array([text.endswith(_NO_CHARACTER) for text in before])
        return starts - offset, np.where(
            [piece != "" for piece in pieces], ends, starts
        ) - offset


class WordTrainer(MixTrainer):
    """A trainer by which each word's tokens get the advantage of its own share.

    Words are the parts of completions (`rewards.reward.Part`) that rewards with `in_parts` tell: of usable lists only.
    """

    reward_weights: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._aligned = WordTokens(self.processing_class)
        self._in_parts = [
            k
            for k, function in enumerate(self.reward_funcs)
            if getattr(function.reward, "in_parts", False)
        ]
        self._weights = self.reward_weights.tolist()
        # What is paid by the word is not paid by the answer as well.
        self.reward_weights[self._in_parts] = 0.0

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        credit = np.zeros(output["completion_ids"].shape, np.float32)
        for number in self._in_parts:
            function = self.reward_funcs[number]
            advantages = self._weights[number] * self._advantages(function.scored)
            for row, one in enumerate(function.scored):
                if one is not None and one.parts:
                    ids = function.completion_ids[row]
                    part = self._aligned.parts(ids, one.text, one.parts)
                    of_words = np.flatnonzero(part >= 0)
                    credit[row, of_words] += advantages[row, part[of_words]]
        by_token = torch.from_numpy(credit).to(output["advantages"].device)
        output["advantages"] = output["advantages"][:, None] + by_token
        return output

    def _advantages(self, scored: Sequence[Any]) -> np.ndarray:
        """Of the parts of this process's completions by one reward, normalised over the groups of all processes."""
        own = [[part.worth for part in one.parts] if one else [] for one in scored]
        rows = list(chain(*gather(own)))
        by_place = list(zip_longest(*rows, fillvalue=np.nan))
        worths = np.array(by_place, float).reshape(-1, len(rows)).T
        first = self.accelerator.process_index * len(scored)
        advantages = part_advantages(worths, self.num_generations)
        return advantages[first : first + len(scored)]
