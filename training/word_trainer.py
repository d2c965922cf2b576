"""GRPO that knows which tokens wrote which word: credit for each word, and weights that keep words."""

from typing import Any

import numpy as np
import torch

from sozo.data.processes import gather
from sozo.training.keep_words import KeepWords
from sozo.training.word_credit import part_advantages
from sozo.training.word_entropy import WordEntropyTrainer
from sozo.training.word_tokens import WordTokens
from sozo.training.words import WordArguments


class WordTrainer(WordEntropyTrainer):
    """A trainer that does what `words` says; `keep` turns the weights of entropy and rarity.

    Words are the parts of completions (`rewards.reward.Part`) that rewards with `in_parts` tell: of valid lists only.
    """

    reward_weights: Any

    def __init__(self, *args: Any, words: WordArguments, keep: KeepWords | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._by_word, self._words, self._keep = words.credit == "word", words, keep
        self.word_entropy = words.word_entropy
        self._aligned = WordTokens(self.processing_class)
        self._in_parts = [k for k, f in enumerate(self.reward_funcs) if getattr(f.reward, "in_parts", False)]
        self._fixed = self._weights = self.reward_weights.clone()

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> torch.Tensor:
        rewards = super()._calculate_rewards(inputs, prompts, completions, ids)
        self._ids = ids
        if self._keep and self.model.training:
            unique, multiplier = self._keep.update(self._drawn())
            self._log_metric("words/multiplier", multiplier)
            if unique is not None:
                self._log_metric("words/unique", float(unique))
            turned = [getattr(f.reward, "keeps_words", False) for f in self.reward_funcs]
            self._weights = torch.where(torch.tensor(turned), self._fixed * multiplier, self._fixed)
            self.word_entropy = self._words.word_entropy * multiplier
        self.reward_weights = self._weights.clone()
        if self._by_word:
            # What is paid by the word is not paid by the response as well.
            self.reward_weights[self._in_parts] = 0.0
        return rewards

    def _drawn(self) -> list[str]:
        """The words of all processes' valid lists, in their order, as the first reward in parts tells them."""
        completions = self.reward_funcs[self._in_parts[0]].reward.last
        return [completion.text[part.start : part.end] for completion in completions for part in completion.parts]

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        shape = output["completion_ids"].shape
        credit, words = np.zeros(shape, np.float32), np.zeros(shape, bool)
        for number in self._in_parts:
            scored, advantages = self.reward_funcs[number].scored, self._advantages(number)
            for row, completion in enumerate(scored):
                if completion is not None and completion.parts:
                    part = self._aligned.parts(self._ids[row], completion.text, completion.parts)
                    of_words = np.flatnonzero(part >= 0)
                    words[row, of_words] = True
                    credit[row, of_words] += float(self._weights[number]) * advantages[row, part[of_words]]
        device = output["completion_ids"].device
        if self._by_word:
            output["advantages"] = output["advantages"][:, None] + torch.from_numpy(credit).to(device)
        output["word_mask"] = torch.from_numpy(words).to(device)
        output["num_word_tokens"] = self.accelerator.gather(output["word_mask"].sum()).sum()
        return output

    def _advantages(self, number: int) -> np.ndarray:
        """Of the parts of this process's completions by one reward, normalised over the groups of all processes."""
        scored = self.reward_funcs[number].scored
        everyone = gather([[part.worth for part in c.parts] if c is not None else [] for c in scored])
        rows = [row for rows in everyone for row in rows]
        worths = np.full((len(rows), max(map(len, rows))), np.nan)
        for worth, row in zip(worths, rows, strict=True):
            worth[: len(row)] = row
        group = self.num_generations if self.model.training else self.num_generations_eval
        first = self.accelerator.process_index * len(scored)
        return part_advantages(worths, group)[first : first + len(scored)]
