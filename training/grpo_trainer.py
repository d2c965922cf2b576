"""TRL's GRPO trainer for a mix of tasks: micro-batches of one prompt, no unpaid completion, vLLM watched."""

import logging
import math
from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer

from sozo.data.errors import UserError
from sozo.rewards.reward import Reward

logger = logging.getLogger(__name__)
_ALARM = 0.1  # of what vLLM drew; rounding costs a few in a thousand tokens
# Nats a token. bf16 alone makes some hundredths between vLLM and a trainer; other weights make whole nats.
_GAP = 0.5
# Losses to which each completion adds the same, whichever micro-batch of its step it is in. To bnpo it does not: bnpo
# divides by the micro-batch's tokens.
_BY_COMPLETION = ("grpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")


class MixTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer; what trains on one prompt is TRL's to the last bit, on several up to the order of its sums."""

    _buffered_inputs: Any
    _alarmed = False

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
        bonus = self._entropy_bonus_enabled or self.top_entropy_quantile < 1
        return bonus or self.aux_loss_enabled or self.loss_type not in _BY_COMPLETION

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        self._per_token = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        return self._per_token

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        loss = super()._compute_loss(model, inputs)
        sampled, lasts = inputs.get("sampling_per_token_logps"), self.args.steps_per_generation * self.num_iterations
        # Behind the first optimizer step of a generation the trainer's weights are no longer those that drew.
        if sampled is not None and self._step % lasts < self.args.gradient_accumulation_steps:
            self._compare(sampled, inputs["completion_mask"].bool() & sampled.isfinite())
        return loss

    def _compare(self, sampled: torch.Tensor, mask: torch.Tensor) -> None:
        """Log how far vLLM's log-probabilities of what it drew are from the trainer's; other weights end the run."""
        apart = (self._per_token[0].detach() - sampled)[mask].abs().sum()
        total, count = self.accelerator.gather(torch.stack([apart, mask.sum()])).view(-1, 2).sum(dim=0).tolist()
        gap = total / max(count, 1.0)
        self._metrics["train"]["sampling/gap"].append(gap)
        if not gap <= _GAP:  # not a number is no agreement either
            raise UserError(
                f"step {self.state.global_step + 1}: vLLM draws from other weights than the trainer's: {gap:.2f} nats "
                "a token apart on what it drew; restart vLLM, or take another sampler"
            )

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        if self.model.training and (ratio := output.get("importance_sampling_ratio")) is not None:
            self._log_dropped(ratio, output["completion_mask"])
        return output

    def _log_dropped(self, ratio: torch.Tensor, mask: torch.Tensor) -> None:
        """Log the share of what vLLM drew that its correction masks or cuts, and say once if it is large."""
        clip = (self.vllm_importance_sampling_clip_min, self.vllm_importance_sampling_clip_max)
        out, of = self.accelerator.gather(dropped(ratio, mask, clip)).view(-1, 2).sum(dim=0).tolist()
        mode = self.vllm_importance_sampling_mode
        level, done = mode.split("_")
        share, word = out / max(of, 1.0), "masked" if done == "mask" else "truncated"
        self._metrics["train"][f"sampling/{word}_share"].append(share)
        if share > _ALARM and not self._alarmed and self.accelerator.is_main_process:
            self._alarmed = True
            cure = "set token_truncate" if mode != "token_truncate" else "does vLLM hold the trainer's weights?"
            logger.warning(
                "step %d: %.0f%% of the %ss that vLLM drew are %s by vllm_importance_sampling_mode %s; %s",
                *(self.state.global_step + 1, 100 * share, level, word, mode, cure),
            )

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


def dropped(ratio: torch.Tensor, mask: torch.Tensor, clip: tuple[float | None, float | None]) -> torch.Tensor:
    """What the correction masked (ratio 0) or cut (at the ends of `clip`), and how many there are: shape (2,).

    Counted are tokens, or sequences where `ratio` (rows, tokens or 1) has one value for each. `mask`: (rows, tokens).

    >>> ratio = torch.tensor([[1.0, 0.0, 3.0], [0.9, 1.1, 1.0]])
    >>> dropped(ratio, torch.tensor([[1, 1, 1], [1, 1, 0]]), (None, 3.0)).tolist()
    [2.0, 5.0]
    """
    counted = mask.bool() if ratio.shape == mask.shape else torch.ones_like(ratio, dtype=torch.bool)
    out = ratio == 0
    if clip[0] is not None:
        out |= ratio <= clip[0]
    if clip[1] is not None:
        out |= ratio >= clip[1]
    return torch.stack([(out & counted).sum(), counted.sum()]).float()


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
