"""SFT, DPO and GRPO with the prompt computed once: all responses of a micro-batch behind one copy of it.

TRL's trainers repeat the prompt in every row. In DAT training there is one prompt, and it is most of all tokens. Here a
micro-batch becomes one row: the prompt, then the responses side by side. What works token by token (projections, MLPs,
the output layer) sees each token once; attention lets each response see the prompt and itself.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import fields
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface

from models.attention import why_not_shared, without_adapter

logger = logging.getLogger(__name__)

_NAME = "sozo_shared_prompt"
_PLAIN = "sdpa"
# What a trainer may pass beside ids, mask and labels without changing what the packed row has to be.
_HARMLESS = {"use_cache", "return_dict", "num_items_in_batch"}
_PER_TOKEN = ("log_probs", "entropy", "log_sum_sq_probs", "mean_logits", "is_top1", "label_mask")


def share_prompt(model: Any, *, say: bool = True) -> bool:
    """Let a trainer's model compute a prompt that all rows of a batch begin with only once.

    It catches the calls by which TRL's trainers ask for per-token log-probabilities (`fused_lm_head=True`) and answers
    them with the same numbers, up to rounding. Every other call goes through untouched, and so does a batch without a
    common prompt, with padding before it, or longer than a sliding window.

    Args:
        model: A trainer's model after TRL has given it the fused head; a PEFT model too.
        say: Whether to warn when the model cannot do it.

    Returns:
        Whether it can: see `models.attention.why_not_shared`; its attention must be sdpa.
    """
    model = without_adapter(model)
    config, fused = model.config.get_text_config(), model.forward
    reason = why_not_shared(model, 0)
    if config._attn_implementation != _PLAIN:
        reason = f"attn_implementation is {config._attn_implementation}, not {_PLAIN}"
    if reason:
        if say:
            logger.warning("the prompt is computed again for every response: %s", reason)
        return False
    # For good and not for one forward pass: gradient checkpointing attends again in the backward pass.
    config._attn_implementation = _NAME

    @functools.wraps(type(model).forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        prompt = 0 if args or not kwargs.get("fused_lm_head") else _common_prompt(kwargs)
        if prompt < 2 or why_not_shared(model, kwargs["input_ids"].shape[1]):
            return fused(*args, **kwargs)
        ids, labels = kwargs["input_ids"], kwargs["labels"]
        kept = {name: kwargs[name] for name in _HARMLESS & set(kwargs)}
        outputs = fused(**packed(ids, labels, prompt), **kept, fused_lm_head=True)
        for field in fields(outputs):
            if field.name in _PER_TOKEN and (per_token := getattr(outputs, field.name)) is not None:
                outputs[field.name] = unpacked(per_token, len(ids), prompt)
        return outputs

    model.forward = forward
    return True


def _common_prompt(call: dict[str, Any]) -> int:
    """Tokens that all rows of a call begin with and none is asked about; 0 where a packed row would not be the same."""
    ids, labels, mask = (call.get(name) for name in ("input_ids", "labels", "attention_mask"))
    known = {"input_ids", "labels", "attention_mask", "fused_lm_head", *_HARMLESS}
    if ids is None or labels is None or any(value is not None for key, value in call.items() if key not in known):
        return 0
    predicted = torch.nonzero((labels != -100).any(dim=0))
    prompt = int(predicted[0]) if len(predicted) else 0
    if mask is not None and not (mask[:, :prompt].all() and (mask[:, 1:] <= mask[:, :-1]).all()):
        return 0  # padding anywhere but at the end
    return prompt if bool((ids[:, :prompt] == ids[:1, :prompt]).all()) else 0


def packed(ids: torch.Tensor, labels: torch.Tensor, prompt: int) -> dict[str, Any]:
    """A micro-batch as one row for a model whose attention is `sozo_shared_prompt`.

    The prompt's last token predicts a token of its own for every response, so each response brings a copy of it: the
    row is the prompt without its last token, then for each response that token and all of the response but its last
    one, at the positions where they would stand alone.

    Args:
        ids: Shape (rows, tokens), the same `prompt` tokens first in each row.
        labels: The same shape; -100 where nothing is asked, as in the whole prompt.
        prompt: At least 2.

    Returns:
        Keyword arguments of the model's forward: one row of `prompt - 1 + rows * (tokens - prompt)` tokens.
    """
    shared, rows = prompt - 1, len(ids)
    positions = torch.arange(ids.shape[1] - 1, device=ids.device)
    return {
        "input_ids": torch.cat([ids[0, :shared], ids[:, shared:-1].reshape(-1)])[None],
        "position_ids": torch.cat([positions[:shared], positions[shared:].repeat(rows)])[None],
        "shift_labels": torch.cat([labels[0, :shared], labels[:, prompt:].reshape(-1)])[None],
        # A mask of four dimensions is taken as it is: transformers makes none, and ours needs none.
        "attention_mask": torch.ones((1, 1, 1, 1), dtype=torch.bool, device=ids.device),
        "shared_prompt": (shared, rows),
    }


def unpacked(per_token: torch.Tensor, rows: int, prompt: int) -> torch.Tensor:
    """A packed row's numbers, shape (1, its tokens), as TRL has them: (rows, tokens - 1), zero within the prompt."""
    shared = prompt - 1
    own = per_token[0, shared:].view(rows, -1)
    return torch.cat([own.new_zeros((rows, shared)), own], dim=1)


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
        """(rows, heads, response tokens, size)"""
        return states[0, :, shared:].unflatten(1, (rows, -1)).transpose(0, 1)

    def behind_prompt(states: torch.Tensor) -> torch.Tensor:
        return torch.cat([states[:, :, :shared].expand(rows, -1, -1, -1), own(states)], dim=2)

    kwargs["is_causal"] = True
    prompt = plain(module, query[:, :, :shared], key[:, :, :shared], value[:, :, :shared], None, **kwargs)[0]
    kwargs["is_causal"] = False
    tokens = own(query).shape[2]
    visible = torch.ones((tokens, shared + tokens), dtype=torch.bool, device=query.device).tril(shared)[None, None]
    responses = plain(module, own(query), behind_prompt(key), behind_prompt(value), visible, **kwargs)[0]
    return torch.cat([prompt, responses.reshape(1, -1, *responses.shape[2:])], dim=1), None


AttentionInterface.register(_NAME, _attend)
AttentionMaskInterface.register(_NAME, AttentionMaskInterface()[_PLAIN])
