"""TRL's GRPO trainer for a mix of tasks: micro-batches of one prompt, and no completion that nobody pays for."""

from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer

from data.errors import UserError
from rewards.reward import Reward


class MixTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer; a run that asks one prompt is TRL's to the last bit."""

    _buffered_inputs: Any

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if not self.model.training or self._buffered_inputs is before:
            return inputs
        # TRL has just generated, shuffled the completions and cut them into micro-batches.
        self._buffered_inputs = by_prompt(self._buffered_inputs)
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

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


def by_prompt(batches: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The same completions in as many micro-batches, of one prompt each where the counts allow.

    What is left over of each prompt comes together in the order of the prompts. The micro-batches stand in the order in
    which the shuffle put their first completions, so that steps of one generation differ no more than by chance.
    """
    prompts = torch.cat([torch.where(batch["prompt_mask"] == 0, -1, batch["prompt_ids"]) for batch in batches])
    size = len(prompts) // len(batches)
    _, group = torch.unique(prompts, dim=0, return_inverse=True)
    positions: dict[int, list[int]] = {}
    for position, number in enumerate(group.tolist()):
        positions.setdefault(number, []).append(position)
    if len(batches) == 1 or len(positions) == 1 or any(isinstance(value, list) for value in batches[0].values()):
        return batches
    full, left = [], []
    for same in positions.values():
        filled = len(same) // size * size
        full += [same[i : i + size] for i in range(0, filled, size)]
        left += same[filled:]
    chosen = sorted(full + [left[i : i + size] for i in range(0, len(left), size)], key=min)

    def picked(name: str, rows: torch.Tensor) -> Any:
        value = batches[0][name]
        # num_items_in_batch is one number for all; what is not computed is None.
        if not isinstance(value, torch.Tensor) or value.ndim == 0:
            return value
        return torch.cat([batch[name] for batch in batches])[rows]

    on = group.device
    return [{name: picked(name, torch.tensor(rows, device=on)) for name in batches[0]} for rows in chosen]
