"""TRL's GRPO trainer for a mix of tasks: micro-batches of one prompt, no unpaid completion, vLLM watched."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer

from sozo.data.errors import UserError
from sozo.rewards.reward import Reward
from sozo.training.vllm_watch import Canary

# To these losses a completion of a step adds the same, whichever micro-batch it is in; `bnpo` divides by its tokens.
_BY_COMPLETION = {"grpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"}


class MixTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer; what trains on one prompt is TRL's to the last bit, on several up to the order of its sums.

    What is logged is what TRL logs, over its own micro-batches of the same completions.
    """

    _buffered_inputs: Any
    _metrics: Any
    _per_token: Any = None  # log-probabilities and entropies that the model last gave, and its auxiliary loss
    _computed: Any = None  # the same of completions that it need not compute again
    canary: Canary | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cut_by_trl: list[dict[str, Any]] = []
        self._window: list[
            tuple[torch.Tensor, ...]
        ] = []  # of each of its micro-batches: places and what is per token
        for function in self.reward_funcs:
            if isinstance(own := getattr(function, "reward", function), Reward):
                own.tokenizer = self.processing_class

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
        self._cut_by_trl = self._buffered_inputs
        self._buffered_inputs = by_prompt(
            self._cut_by_trl, self.args.gradient_accumulation_steps
        )
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

    @property
    def _loss_sees_micro_batch(self) -> bool:
        """Whether part of the loss is computed from a micro-batch as a whole, so that regrouping would change it."""
        args = self.args
        return (
            self.aux_loss_enabled
            or args.loss_type not in _BY_COMPLETION
            or args.entropy_coef != 0
            or args.use_adaptive_entropy
            or args.top_entropy_quantile != 1
        )

    def _get_per_token_logps_and_entropies(self, *args: Any, **kwargs: Any) -> Any:
        if self._computed is not None:
            return self._computed
        self._per_token = super()._get_per_token_logps_and_entropies(*args, **kwargs)
        return self._per_token

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        if "places" not in inputs:
            return super()._compute_loss(model, inputs)  # type: ignore[no-any-return]
        # TRL appends a mean over this micro-batch to each of its metrics, but would not have put these together.
        metrics = self._metrics["train"]
        self._metrics["train"] = defaultdict(list)
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        self._metrics["train"] = metrics
        log_probs, entropies, _ = self._per_token
        self._window.append((inputs["places"], log_probs.detach(), entropies.detach()))
        if len(self._window) == math.gcd(
            len(self._cut_by_trl), self.args.gradient_accumulation_steps
        ):
            self._log_as_trl(model)
        return loss

    def _log_as_trl(self, model: Any) -> None:
        """Appends what TRL's loss logs of its own micro-batches in this window, from what ours have given."""
        places, log_probs, entropies = (
            torch.cat(parts) for parts in zip(*self._window, strict=True)
        )
        end = self._step % len(self._cut_by_trl) + 1
        cut = self._cut_by_trl[end - len(self._window) : end]
        for batch, rows in zip(cut, places.argsort().chunk(len(cut)), strict=True):
            self._computed = log_probs[rows], entropies[rows], None
            super()._compute_loss(model, batch)
        self._computed = None
        self._window = []

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
        last = [
            completion
            for reward in ours
            if isinstance(reward, Reward)
            for completion in reward.last
        ]
        explained = sum(
            completion.reward is None and completion.reason is not None
            for completion in last
        )
        if unpaid > explained:
            raise UserError(
                f"step {self.state.global_step + 1}: {unpaid - explained} completions got no number from any of "
                f"{', '.join(self.reward_func_names)}; give 0.0 for what is worth nothing"
            )
        return rewards


def by_prompt(batches: Sequence[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """The micro-batches of a generation, each of as few prompts as the counts allow; `steps` make an optimizer step.

    Completions move only within windows that no optimizer step ends in, so that each stays in its step.
    """
    window = math.gcd(len(batches), steps)
    windows = (
        batches[first : first + window] for first in range(0, len(batches), window)
    )
    return [batch for same_step in windows for batch in _sorted(same_step)]


def _sorted(batches: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The same completions in as many micro-batches, those of one prompt behind each other.

    `places` is a column of where they stood. A window of one micro-batch stays as it is.
    """
    if len(batches) == 1:
        return batches
    prompts = torch.cat(
        [
            torch.where(batch["prompt_mask"] == 0, -1, batch["prompt_ids"])
            for batch in batches
        ]
    )
    _, group = torch.unique(prompts, dim=0, return_inverse=True)
    order = group.argsort(stable=True)

    def picked(name: str, mine: torch.Tensor) -> Any:
        value = batches[0][name]
        # num_items_in_batch is one number for all; what is not computed is None.
        if not isinstance(value, torch.Tensor) or value.ndim == 0:
            return value
        return torch.cat([batch[name] for batch in batches])[mine]

    chunks = order.chunk(len(batches))
    return [
        {name: picked(name, mine) for name in batches[0]} | {"places": mine}
        for mine in chunks
    ]
