"""Entropy over listed nouns: how many of them could have stood where a word was written, whatever else could have.

At each token of a listed noun the model's distribution is restricted to the tokens with which a listed noun goes on,
and renormalised. The mean, over nouns drawn token by token from these, of the sum of the entropies of a noun's tokens
is the entropy of the noun. No gradient runs through what was drawn, so the maximum is where all tokens with which nouns
go on are equally likely, and the sum of one word can exceed the logarithm of the number of nouns. Mass on nouns is paid
nothing: that is what validity pays.
"""

from typing import Any, Self

import numpy as np
import torch

from sozo.data.nouns import read_nouns
from sozo.training.word_targets import END, Spelled, spell


class NounEntropy(Spelled):
    """How many listed nouns a model could have written in place of those that it wrote, in nats."""

    @classmethod
    def of(cls, nouns: str | None, tokenizer: Any) -> Self:
        """By the setting `entropy_nouns` and as `tokenizer` spells nouns in a list."""
        return cls(spell(tokenizer, read_nouns(None if nouns == "jumandic" else nouns)))

    def listed(self, tokens: torch.Tensor, words: torch.Tensor) -> list[tuple[int, int, int]]:
        """The words that are listed nouns: row, first token, number of the noun.

        `tokens` and `words`, whether each wrote a part of a word, have the shape (rows, tokens); negative: no token.
        """
        hits = ((row, *hit) for row, ids in enumerate(tokens.tolist()) for hit in self.find(ids))
        ends = ((hit, words[hit[0], hit[1] + self._length[hit[2]] - 1 :]) for hit in hits)
        return [hit for hit, of_word in ends if of_word[0] and not of_word[1]]

    def __call__(self, logits: torch.Tensor, tokens: torch.Tensor, words: torch.Tensor) -> Any:
        """The sum over the tokens of the listed words; `logits` (rows, tokens, vocabulary), the rest as in `listed`."""
        total = 0.0 * logits.sum()  # without such a word there is a gradient too, of zeros
        row, start, noun = np.array(self.listed(tokens, words), int).reshape(-1, 3).T
        end = tokens.cpu()[row, start + self._length[noun]]  # what follows a word
        for depth, (before, several, following) in enumerate(self.levels):
            at = np.flatnonzero((self._length[noun] >= depth) & several[noun])
            # One of all nouns that go on alike behind the same beginning.
            _, first = np.unique([before, following.numpy()], axis=1, return_index=True)
            choices = torch.where(following[first] == END, end[at][:, None], following[first]).to(logits.device)
            apart = torch.from_numpy(before[first] != before[noun[at]][:, None]).to(logits.device)
            scores = logits[row[at], start[at] + depth].gather(1, choices)
            likely = scores.masked_fill(apart, -torch.inf).log_softmax(dim=1)
            total = total - (likely.exp() * likely.masked_fill(apart, 0.0)).sum()
        return total
