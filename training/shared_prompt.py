"""GRPO's log-probabilities with the prompt computed once: all completions of a micro-batch behind one copy of it.

TRL's trainer repeats the prompt for every completion. In DAT training that is three quarters of all tokens, and all the
same. Here a micro-batch is one row: the prompt, then the completions side by side. All that works token by token
(projections, MLPs, the output layer) sees each token once; attention lets each completion see the prompt and itself.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from trl import GRPOTrainer

from models.attention import why_not_shared, without_adapter

logger = logging.getLogger(__name__)

_NAME = "sozo_shared_prompt"
_PLAIN = "sdpa"


class SharedPromptGRPOTrainer(GRPOTrainer):
    """TRL's GRPOTrainer, the same arguments and the same loss, with fewer tokens.

    Where the prompt cannot be shared (prompts that differ, images, a model that `models.attention.why_not_shared`
    names, attention other than sdpa) it computes as TRL does, and a model that it cannot do is said once.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._shares = True
        for model in filter(None, (self.model, self.ref_model)):
            config = without_adapter(model).config.get_text_config()
            if config._attn_implementation == _PLAIN:
                # For good and not for one forward pass: gradient checkpointing attends again in the backward pass.
                config._attn_implementation = _NAME
            else:
                self._refuse(f"attn_implementation is {config._attn_implementation}, not {_PLAIN}")

    def _refuse(self, reason: str) -> None:
        if self._shares and self.accelerator.is_main_process:
            logger.warning("the prompt is computed for every completion: %s", reason)
        self._shares = False

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **images: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        length = input_ids.shape[1] - logits_to_keep
        if self._shares and (reason := why_not_shared(self.model, length + self.max_completion_length)):
            self._refuse(reason)
        shares = self._shares and not compute_aux_loss and all(value is None for value in images.values())
        if not shares or not _one_prompt(input_ids[:, :length], attention_mask[:, :length]):
            return super()._get_per_token_logps_and_entropies(
                model,
                input_ids,
                attention_mask,
                logits_to_keep,
                batch_size=batch_size,
                compute_entropy=compute_entropy,
                compute_aux_loss=compute_aux_loss,
                **images,
            )
        logps, entropies = [], []
        rows = batch_size or len(input_ids)
        for ids, mask in zip(input_ids.split(rows), attention_mask.split(rows), strict=True):
            with self.accelerator.autocast():
                outputs = model(**packed(ids, mask, length), fused_lm_head=True)
            logps.append(unpacked(outputs.log_probs, ids, length))
            if compute_entropy:
                entropies.append(unpacked(outputs.entropy, ids, length))
        return torch.cat(logps), torch.cat(entropies) if compute_entropy else None, None


def _one_prompt(prompts: torch.Tensor, mask: torch.Tensor) -> bool:
    """Do all rows begin with the same prompt, of at least two tokens, and no padding before it?"""
    return prompts.shape[1] > 1 and bool(mask.all()) and bool((prompts == prompts[:1]).all())


def packed(ids: torch.Tensor, mask: torch.Tensor, length: int) -> dict[str, Any]:
    """A micro-batch as one row for a model whose attention is `sozo_shared_prompt`.

    The prompt's last token predicts a token of its own for every completion, so each completion brings a copy of it:
    the row is the prompt without its last token, then for each completion that token and all of the completion but its
    last one, `positions` as if each stood alone behind the prompt.

    Args:
        ids: Shape (completions, prompt and completion tokens), the same prompt in each row.
        mask: The same shape; 0 where a completion is over.
        length: Tokens of the prompt.

    Returns:
        Keyword arguments of the model's forward: one row of `length - 1 + completions * completion tokens` tokens.
    """
    shared, rows = length - 1, len(ids)
    own = ids[:, shared:-1]
    targets = ids[:, length:].masked_fill(mask[:, length:] == 0, -100)
    positions = torch.arange(ids.shape[1] - 1, device=ids.device)
    return {
        "input_ids": torch.cat([ids[0, :shared], own.reshape(-1)])[None],
        "position_ids": torch.cat([positions[:shared], positions[shared:].repeat(rows)])[None],
        "shift_labels": torch.cat([targets.new_full((shared,), -100), targets.reshape(-1)])[None],
        # A mask of four dimensions is taken as it is: transformers makes none, and ours needs none.
        "attention_mask": torch.ones((1, 1, 1, 1), dtype=torch.bool, device=ids.device),
        "shared_prompt": (shared, rows),
    }


def unpacked(per_token: torch.Tensor, ids: torch.Tensor, length: int) -> torch.Tensor:
    """The numbers of a packed row's completion tokens, (1, tokens) -> (completions, completion tokens)."""
    return per_token[0, length - 1 :].view(len(ids), -1)


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    shared_prompt: tuple[int, int] | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention function: that of a packed row, or `sdpa` where the row is not packed.

    query: (1, heads, tokens, size); key and value the same with their own number of heads.
    """
    plain = AttentionInterface()[_PLAIN]
    if shared_prompt is None:
        return plain(module, query, key, value, attention_mask, **kwargs)
    shared, rows = shared_prompt

    def own(states: torch.Tensor) -> torch.Tensor:
        """(rows, heads, completion tokens, size)"""
        return states[0, :, shared:].unflatten(1, (rows, -1)).transpose(0, 1)

    def behind_prompt(states: torch.Tensor) -> torch.Tensor:
        return torch.cat([states[:, :, :shared].expand(rows, -1, -1, -1), own(states)], dim=2)

    kwargs["is_causal"] = True
    prompt = plain(module, query[:, :, :shared], key[:, :, :shared], value[:, :, :shared], None, **kwargs)[0]
    kwargs["is_causal"] = False
    tokens = own(query).shape[2]
    visible = torch.ones((tokens, shared + tokens), dtype=torch.bool, device=query.device).tril(shared)[None, None]
    completions = plain(module, own(query), behind_prompt(key), behind_prompt(value), visible, **kwargs)[0]
    return torch.cat([prompt, completions.reshape(1, -1, *completions.shape[2:])], dim=1), None


AttentionInterface.register(_NAME, _attend)
AttentionMaskInterface.register(_NAME, AttentionMaskInterface()[_PLAIN])
