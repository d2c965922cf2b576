"""GRPO that knows which tokens wrote which word: credit for each word, an entropy bonus where words are written.

Credit. The policy gradient weighs each word's log-probability with the list's whole score. Word k's own part of the
score is its mean distance to the other words: pairs that k is not in differ by chance, and what the words before k are
to each other is no doing of k's. With words that are drawn independently the gradient is then the true one times half
the number of words, with far less noise. It is biased where words depend on each other: a word gets nothing for how it
steers those after it.

Entropy. The bonus is the entropy of the next token given what stands before it, and no gradient runs through what was
drawn: an approximation of the list's entropy, whose maximum at a given mean score is the frontier. Only tokens that
write words count, because a list's form must not be paid for being random.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from sozo.data.errors import UserError
from sozo.data.processes import gather
from sozo.rewards.reward import Part
from sozo.scoring.final_text import decode
from sozo.training.grpo_trainer import MixTrainer
from sozo.training.words import Words

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
    grouped = worths.reshape(len(worths) // group, group, -1 if worths.size else 0)
    known = ~np.isnan(grouped)
    mean = np.where(known, grouped, 0).sum(1, keepdims=True) / np.maximum(
        known.sum(1, keepdims=True), 1
    )
    centred = np.where(known, grouped - mean, 0)
    freedom = np.maximum(known.sum((1, 2), keepdims=True) - 1, 1)
    deviation = np.sqrt((centred**2).sum((1, 2), keepdims=True) / freedom)
    return (centred / (deviation + _EPSILON)).reshape(worths.shape)


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
    """A trainer that does what `words` says.

    Words are the parts of completions (`rewards.reward.Part`) that rewards with `in_parts` tell: of usable lists only.
    The loss is less by `words.entropy` times the mean entropy of the tokens that write words, in nats.
    """

    reward_weights: Any

    def __init__(self, *args: Any, words: Words, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._words = words
        self._multiplier = 1.0
        self._aligned = WordTokens(self.processing_class)
        self._in_parts = [
            k
            for k, f in enumerate(self.reward_funcs)
            if getattr(f.reward, "in_parts", False)
        ]
        self._fixed = self._weights = self.reward_weights.clone()

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, ids: Any
    ) -> torch.Tensor:
        rewards = super()._calculate_rewards(inputs, prompts, completions, ids)
        self._ids = ids
        if self._words.keep and self.model.training:
            # The words of all processes' usable lists, in their order, as the first reward in parts tells them.
            last = self.reward_funcs[self._in_parts[0]].reward.last
            unique, self._multiplier = self._words.keep.update(
                c.text[part.start : part.end] for c in last for part in c.parts
            )
            self._log_metric("words/multiplier", self._multiplier)
            if unique is not None:
                self._log_metric("words/different", float(unique))
            turned = [
                getattr(f.reward, "keeps_words", False) for f in self.reward_funcs
            ]
            self._weights = torch.where(
                torch.tensor(turned), self._fixed * self._multiplier, self._fixed
            )
        self.reward_weights = self._weights.clone()
        if self._words.by_word:
            # What is paid by the word is not paid by the answer as well.
            self.reward_weights[self._in_parts] = 0.0
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        device = output["completion_ids"].device
        shape = output["completion_ids"].shape
        credit = np.zeros(shape, np.float32)
        words = np.zeros(shape, bool)
        for number in self._in_parts:
            scored = self.reward_funcs[number].scored
            advantages = self._advantages(scored)
            for row, completion in enumerate(scored):
                if completion is not None and completion.parts:
                    part = self._aligned.parts(
                        self._ids[row], completion.text, completion.parts
                    )
                    of_words = np.flatnonzero(part >= 0)
                    words[row, of_words] = True
                    credit[row, of_words] += (
                        float(self._weights[number]) * advantages[row, part[of_words]]
                    )
        if self._words.by_word:
            output["advantages"] = output["advantages"][:, None] + torch.from_numpy(
                credit
            ).to(device)
        output["word_mask"] = torch.from_numpy(words).to(device)
        output["num_word_tokens"] = self.accelerator.gather(
            output["word_mask"].sum()
        ).sum()
        return output

    def _advantages(self, scored: Sequence[Any]) -> np.ndarray:
        """Of the parts of this process's completions by one reward, normalised over the groups of all processes."""
        own = [
            [part.worth for part in completion.parts] if completion is not None else []
            for completion in scored
        ]
        rows = [row for rows in gather(own) for row in rows]
        worths = np.full((len(rows), max(map(len, rows))), np.nan)
        for worth, row in zip(worths, rows, strict=True):
            worth[: len(row)] = row
        group = (
            self.num_generations if self.model.training else self.num_generations_eval
        )
        first = self.accelerator.process_index * len(scored)
        return part_advantages(worths, group)[first : first + len(scored)]

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        # Over the words of all processes in this generation, however they fell into micro-batches, as TRL's loss dapo.
        total = (self._per_token[1] * inputs["word_mask"]).sum() / inputs[
            "num_word_tokens"
        ].clamp(min=1)
        if not self.model.training:
            return loss
        mean = self.accelerator.reduce(
            total.detach() * self.args.steps_per_generation, reduction="sum"
        )
        self._metrics["train"]["words/entropy"].append(mean.item())
        if (
            weight := self._words.entropy
        ):  # a gradient of zeros would be computed like any other
            share = (
                self.args.steps_per_generation
                / self.current_gradient_accumulation_steps
            )
            loss = (
                loss
                - weight
                * self._multiplier
                * total
                * self.accelerator.num_processes
                * share
            )
        return loss
