"""Entropy over listed nouns: how many of them could have stood where a word was written, whatever else could have.

At each token of a listed noun the model's distribution is restricted to the tokens with which a listed noun goes on,
and renormalised. The sum of these entropies over a word's tokens is what its place adds to the list's entropy, given
that a noun is written there. Mass on nouns is paid nothing: that is what validity pays.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch

from sozo.training.word_targets import spell

_END = -1  # the noun is whole: the token that follows the word
Place = tuple[int, int]  # of a token in a row, and the number of what stands before it in the noun


class NounTrie:
    """Nouns by the tokens with which `tokenizer` spells them in a list: which can follow which beginning.

    Raises a UserError if the tokenizer spells two nouns alike, or joins one with the line break.
    """

    def __init__(self, nouns: Sequence[str], tokenizer: Any) -> None:
        self._spelling = dict(zip(nouns, spell(tokenizer, nouns), strict=True))
        following = defaultdict(set)
        for tokens in self._spelling.values():
            for k, token in enumerate((*tokens, _END)):
                following[tokens[:k]].add(token)
        choices = {before: sorted(after) for before, after in following.items() if len(after) > 1}
        self._number = {before: number for number, before in enumerate(choices)}
        self._following = list(choices.values())

    def places(self, ids: Sequence[int], word: str, last: int) -> list[Place] | None:
        """Where a word that ends with the token `last` of `ids` had a choice; None if it is not listed, or cut."""
        tokens = self._spelling.get(word, ())
        first = last + 1 - len(tokens)
        if not tokens or tuple(ids[max(first, 0) : last + 1]) != tokens or last + 1 >= len(ids):
            return None
        befores = ((first + k, tokens[:k]) for k in range(len(tokens) + 1))
        return [(place, self._number[before]) for place, before in befores if before in self._number]

    def entropy(self, logits: torch.Tensor, numbers: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        """The sum of the entropies in nats at places with `logits` (places, vocabulary).

        `numbers` are as `places` has them, `ends` the tokens that follow the words: both of shape (places,).
        """
        total = 0.0 * logits.sum()  # without a place there is a gradient too, of zeros
        for number in numbers.unique().tolist():
            here = numbers == number
            tokens = torch.tensor(self._following[number], device=logits.device)
            tokens = torch.where(tokens == _END, ends[here][:, None], tokens)
            likely = logits[here].gather(1, tokens).log_softmax(dim=1)
            total = total - (likely.exp() * likely).sum()
        return total
