"""TRL's GRPO trainer for a mix of tasks: micro-batches of one prompt, vLLM watched."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer

from sozo.training.vllm_watch import Canary


class MixTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer; what trains on one prompt is TRL's to the last bit, on several up to the order of its sums.

    What it logs of several is the mean over its own micro-batches.
    """

    _buffered_inputs: Any
    _metrics: Any
    canary: Canary | None = None

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if (
            not self.model.training
            or self._buffered_inputs is before
            or self._loss_sees_micro_batch
        ):
            return inputs
        # TRL has just generated, shuffled the completions and cut them into micro-batches.
        self._buffered_inputs = by_prompt(
            self._buffered_inputs, self.args.gradient_accumulation_steps
        )
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

    @property
    def _loss_sees_micro_batch(self) -> bool:
        """Whether part of the loss is computed from a micro-batch as a whole, so that regrouping would change it."""
        args = self.args
        return (
            self.aux_loss_enabled
            or args.loss_type == "bnpo"  # which divides by a micro-batch's tokens
            or args.entropy_coef != 0
            or args.use_adaptive_entropy
            or args.top_entropy_quantile != 1
        )

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        if self.model.training and self.canary is not None:
            self.canary.check(self)
        return output


def by_prompt(batches: Sequence[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """The micro-batches of a generation, each of as few prompts as the counts allow; `steps` make an optimizer step.

    Completions move only within windows that no optimizer step ends in, so that each stays in its step.
    """
    window = math.gcd(len(batches), steps)
    windows = (
        batches[first : first + window] for first in range(0, len(batches), window)
    )
    return [batch for same_step in windows for batch in _sorted(same_step)]


def _sorted(batches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same completions in as many micro-batches, those of one prompt behind each other. One stays as it is."""
    if len(batches) == 1:
        return list(batches)
    # num_items_in_batch is one number for all; what is not computed is None.
    columns = {
        name: torch.cat([batch[name] for batch in batches])
        for name, value in batches[0].items()
        if isinstance(value, torch.Tensor) and value.ndim
    }
    asked = torch.where(columns["prompt_mask"] == 0, -1, columns["prompt_ids"])
    _, group = torch.unique(asked, dim=0, return_inverse=True)
    return [
        batches[0] | {name: column[mine] for name, column in columns.items()}
        for mine in group.argsort(stable=True).chunk(len(batches))
    ]
