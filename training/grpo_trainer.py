"""TRL's GRPO trainer for a mix of tasks: micro-batches of one prompt, no unpaid completion, vLLM watched."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer

from sozo.data.errors import UserError
from sozo.rewards.reward import Reward
from sozo.training.batches import of_micro_batch
from sozo.training.vllm_watch import Canary


class MixTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer; what trains on one prompt is TRL's to the last bit, on several up to the order of its sums."""

    _buffered_inputs: Any
    canary: Canary | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for function in self.reward_funcs:
            if isinstance(own := getattr(function, "reward", function), Reward):
                own.tokenizer = self.processing_class

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if not self.model.training or self._buffered_inputs is before or self._loss_sees_micro_batch:
            return inputs
        # TRL has just generated, shuffled the completions and cut them into micro-batches.
        self._buffered_inputs = by_prompt(self._buffered_inputs, self.args.gradient_accumulation_steps)
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

    @property
    def _loss_sees_micro_batch(self) -> bool:
        """Whether part of the loss is computed from a micro-batch as a whole, so that regrouping would change it."""
        return self.aux_loss_enabled or of_micro_batch(self.args) is not None

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        if self.model.training and self.canary is not None:
            self.canary.check(self)
        return output

    def _calculate_rewards(self, *args: Any) -> torch.Tensor:
        rewards: torch.Tensor = super()._calculate_rewards(*args)
        unpaid = int(torch.isnan(rewards).all(dim=1).sum())
        # A judgement that failed is such a case, has a reason, and teaches nothing.
        ours = [getattr(function, "reward", function) for function in self.reward_funcs]
        last = [completion for reward in ours if isinstance(reward, Reward) for completion in reward.last]
        explained = sum(completion.reward is None and completion.reason is not None for completion in last)
        if unpaid > explained:
            raise UserError(
                f"step {self.state.global_step + 1}: {unpaid - explained} completions got no number from any of "
                f"{', '.join(self.reward_func_names)}; pay 0.0 for what is worth nothing"
            )
        return rewards


def by_prompt(batches: Sequence[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """The micro-batches of a generation, each of as few prompts as the counts allow; `steps` make an optimizer step.

    Completions move only within windows that no optimizer step ends in, so that each stays in its step.
    """
    window = math.gcd(len(batches), steps)
    windows = (batches[first : first + window] for first in range(0, len(batches), window))
    return [batch for same_step in windows for batch in _sorted(same_step)]


def _sorted(batches: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The same completions in as many micro-batches, those of one prompt behind each other."""
    if len(batches) == 1:
        return batches
    prompts = torch.cat([torch.where(batch["prompt_mask"] == 0, -1, batch["prompt_ids"]) for batch in batches])
    _, group = torch.unique(prompts, dim=0, return_inverse=True)
    order = group.argsort(stable=True)

    def picked(name: str, mine: torch.Tensor) -> Any:
        value = batches[0][name]
        # num_items_in_batch is one number for all; what is not computed is None.
        if not isinstance(value, torch.Tensor) or value.ndim == 0:
            return value
        return torch.cat([batch[name] for batch in batches])[mine]

    return [{name: picked(name, mine) for name in batches[0]} for mine in order.chunk(len(batches))]
