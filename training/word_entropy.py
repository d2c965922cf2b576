"""An entropy bonus for the tokens that write words: a list's form must not be paid for being random."""

from typing import Any

import torch

from sozo.training.grpo_trainer import MixTrainer


class WordEntropyTrainer(MixTrainer):
    """MixTrainer whose loss is less by `word_entropy` times the mean entropy of tokens in `word_mask`, in nats.

    That is the entropy of each step's token given what stands before it, and no gradient runs through what was drawn:
    an approximation of the list's entropy, whose maximum at a given mean score is the frontier.
    """

    word_entropy = 0.0
    _entropies: Any = None  # of the micro-batch under way, shape (rows, tokens)

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        result = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        self._entropies = result[1]
        return result

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        # Over the words of all processes in this generation, however they fell into micro-batches, as TRL's loss dapo.
        total = (self._entropies * inputs["word_mask"]).sum() / inputs["num_word_tokens"].clamp(min=1)
        self._entropies = None
        if not self.model.training:
            return loss
        mean = self.accelerator.reduce(total.detach() * self.args.steps_per_generation, reduction="sum")
        self._metrics["train"]["words/entropy"].append(mean.item())
        if self.word_entropy == 0:
            return loss  # a gradient of zeros would be computed like any other
        share = self.args.steps_per_generation / self.current_gradient_accumulation_steps
        return loss - self.word_entropy * total * self.accelerator.num_processes * share
