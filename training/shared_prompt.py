"""SFT, DPO and GRPO with each prompt computed once: all its answers of a micro-batch behind one copy of it.

TRL's trainers repeat the prompt in every row, and where a task asks one thing it is most of all tokens. Here a
micro-batch becomes one row: a prompt, then its answers side by side, then the next prompt. What works token by token
(projections, MLPs, the output layer) sees each token once; attention lets each answer see its prompt and itself.
"""

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.nn.functional import pad
from transformers import AttentionInterface, AttentionMaskInterface

from sozo.data.processes import is_first
from sozo.models.model_support import why_not_equal, why_not_shared, without_adapter

logger = logging.getLogger(__name__)

_NAME = "sozo_shared_prompt"
_PLAIN = "sdpa"
_AGAIN = "the prompt is computed again for every answer: %s"
# What a trainer may pass beside ids, mask and labels without changing what the packed row has to be.
_HARMLESS = {"use_cache", "return_dict", "num_items_in_batch"}
_trials: WeakKeyDictionary[Any, bool] = (
    WeakKeyDictionary()
)  # of each model that was tried: does it give the same?
_PER_TOKEN = (
    "log_probs",
    "entropy",
    "log_sum_sq_probs",
    "mean_logits",
    "is_top1",
    "label_mask",
)


def share_prompt(model: Any) -> bool:
    """Let a trainer's model compute a prompt that several rows of a batch begin with only once; False if it cannot.

    Calls by which TRL's trainers ask for per-token log-probabilities (`fused_lm_head=True`) get the same numbers, up to
    rounding. Every other call goes through untouched, and so does a batch in which no two rows have the same prompt, or
    one longer than a sliding window. Which models can: `model_support.why_not_shared`, with sdpa, and then only what
    gives the plain forward's numbers in a trial at the first such call; otherwise a warning, and all stays plain.
    """
    model = without_adapter(model)
    if model in _trials or model.config.get_text_config()._attn_implementation == _NAME:
        return _trials.get(
            model, True
        )  # told before, as DPO's model is that is its own reference
    config = model.config.get_text_config()
    fused = model.forward
    reason = why_not_shared(model, 0)
    if config._attn_implementation != _PLAIN:
        reason = f"attn_implementation is {config._attn_implementation}, not {_PLAIN}"
    if reason:
        _trials[model] = False
        if is_first():
            logger.warning(_AGAIN, reason)
        return False
    # For good and not for one forward pass: gradient checkpointing attends again in the backward pass.
    config._attn_implementation = _NAME

    @functools.wraps(type(model).forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        # Every process has its trial at its first call, whatever its batch: under ZeRO-3 all must compute as often.
        if args or not kwargs.get("fused_lm_head") or not _equal(model, fused):
            return fused(*args, **kwargs)
        layout = _layout(kwargs)
        if layout is None or why_not_shared(model, kwargs["input_ids"].shape[1]):
            return fused(*args, **kwargs)
        kept = {name: kwargs[name] for name in _HARMLESS & set(kwargs)}
        only = model.base_model.register_forward_hook(
            functools.partial(_of_answers, layout.places.flatten())
        )
        try:
            outputs = fused(
                **packed(kwargs["input_ids"], layout),
                shift_labels=layout.labels.reshape(1, -1),
                **kept,
                fused_lm_head=True,
            )
        finally:
            only.remove()
        for field in fields(outputs):
            if (
                field.name in _PER_TOKEN
                and (per_token := getattr(outputs, field.name)) is not None
            ):
                outputs[field.name] = unpacked(per_token, layout)
        return outputs

    model.forward = forward
    return True


def _equal(model: Any, forward: Callable[..., Any]) -> bool:
    """Does a packed row give what the plain forward gives? Tried once, on two prompts of two answers each."""
    if model in _trials:
        return _trials[model]
    config = model.config.get_text_config()
    device = next(model.parameters()).device
    ids = torch.arange(4, 32, device=device).view(4, 7) % config.vocab_size
    ids[1, :4] = ids[0, :4]
    ids[3, :4] = ids[2, :4]
    labels = torch.cat([torch.full_like(ids[:, :4], -100), ids[:, 4:]], dim=1)

    def shared() -> torch.Tensor:
        layout = _layout({"input_ids": ids, "labels": labels})
        assert layout is not None
        return forward(**packed(ids, layout), use_cache=False).logits[0, layout.places]

    reason = why_not_equal(
        model, lambda: forward(input_ids=ids, use_cache=False).logits[:, 3:-1], shared
    )
    if reason:
        config._attn_implementation = _PLAIN
        logger.warning(_AGAIN, reason)
    _trials[model] = reason is None
    return _trials[model]


@dataclass(frozen=True)
class Layout:
    """How a micro-batch becomes one row: where each of its tokens comes from, and where answers' numbers come out."""

    width: int  # columns of the micro-batch
    rows: (
        torch.Tensor
    )  # of each packed token its row in the micro-batch, shape (packed tokens,)
    columns: torch.Tensor  # and its column there
    places: torch.Tensor  # places in the packed row that predict an answer's tokens, shape (rows, answer's tokens)
    answer_columns: torch.Tensor  # the columns of these places, the same shape
    labels: torch.Tensor  # what they are to predict, the same shape
    parts: tuple[
        tuple[int, int, int], ...
    ]  # for each prompt its tokens that stand there once, its number of answers and the tokens of each


def _layout(call: dict[str, Any]) -> Layout | None:
    """Which rows of a call begin with the same prompt; None where a packed row would not be the same or no shorter.

    A row's prompt ends before its first label, wherever that is in other rows: TRL pads prompts of different lengths on
    the left for GRPO, and behind the answers for SFT and DPO.
    """
    ids, labels, mask = (
        call.get(name) for name in ("input_ids", "labels", "attention_mask")
    )
    known = {"input_ids", "labels", "attention_mask", "fused_lm_head", *_HARMLESS}
    if (
        ids is None
        or labels is None
        or any(value is not None for key, value in call.items() if key not in known)
    ):
        return None
    labelled = labels != -100
    if not labelled.any():
        return None
    mask = torch.ones_like(ids) if mask is None else mask
    width = ids.shape[1]
    column = torch.arange(width, device=ids.device)
    first = labelled.int().argmax(dim=1)
    longest = int(first.max())
    first = torch.where(labelled.any(dim=1), first, longest)
    if first.min() < 2:
        return None
    # The prompts, moved to the right so that all end in one column. Before them nothing may stand but padding.
    of_prompt = torch.arange(-longest, 0, device=ids.device) + first[:, None]
    before = mask.gather(1, of_prompt.clamp(min=0)) * (of_prompt >= 0)
    answer = mask * (column >= first[:, None])
    end = ((column + 1) * (mask.bool() | labelled)).amax(dim=1)
    if not (
        (before[:, :-1] <= before[:, 1:]).all()
        and before[:, -2:].all()
        and (answer.sum(dim=1) == (end - first).clamp(min=0)).all()
    ):
        return None
    # -1 is no token: a pad token within a prompt cannot pass for padding. Where the prompt ends decides its positions.
    tokens = ids.gather(1, of_prompt.clamp(min=0)).masked_fill(before == 0, -1)
    prompts, group = torch.unique(
        torch.cat([first[:, None], tokens], dim=1), dim=0, return_inverse=True
    )
    if len(prompts) == len(ids) > 1:
        return None
    # A prompt's last token predicts a token of its own for every answer, so each answer brings a copy of it.
    needed = end - first
    own = first[:, None] - 1 + torch.arange(int(needed.max()), device=ids.device)
    own = own.clamp(max=width - 1)  # behind the end of a row, where nothing is asked
    places = torch.zeros_like(own)
    rows = []
    columns = []
    parts = []
    start = 0
    ends = (prompts[:, 0] - 1).tolist()
    lengths = ((prompts[:, 1:] != -1).sum(dim=1) - 1).tolist()
    for number, (last, alone) in enumerate(zip(ends, lengths, strict=True)):
        answers = torch.nonzero(group == number)[:, 0]
        longest_answer = max(1, int(needed[answers].max()))
        rows += [answers[:1].expand(alone), answers.repeat_interleave(longest_answer)]
        columns += [
            column[last - alone : last],
            own[answers, :longest_answer].flatten(),
        ]
        start += alone
        size = len(answers) * longest_answer
        places[answers, :longest_answer] = (
            torch.arange(size, device=ids.device).view(-1, longest_answer) + start
        )
        parts.append((alone, len(answers), longest_answer))
        start += size
    return Layout(
        width,
        torch.cat(rows),
        torch.cat(columns),
        places,
        own,
        pad(labels, (0, 1), value=-100).gather(1, own + 1),
        tuple(parts),
    )


def packed(ids: torch.Tensor, layout: Layout) -> dict[str, Any]:
    """A micro-batch as one row for a model whose attention is `sozo_shared_prompt`.

    For each prompt the row holds it without its last token, then for each answer that token and all of the answer
    but its last one, as many as the longest answer to that prompt has, at the positions where they would stand alone.
    `ids` has the shape (rows, tokens); returned are keyword arguments of the model's forward.
    """
    return {
        "input_ids": ids[layout.rows, layout.columns][None],
        "position_ids": layout.columns[None],
        # A mask of four dimensions is taken as it is: transformers makes none, and ours needs none.
        "attention_mask": torch.ones((1, 1, 1, 1), dtype=torch.bool, device=ids.device),
        "shared_prompts": layout.parts,
    }


def _of_answers(places: torch.Tensor, backbone: Any, call: Any, outputs: Any) -> Any:
    """A forward hook: only the places of answers reach the output layer, which may cost more than all else.

    TRL's fused head leaves out what has no label on a GPU only.
    """
    outputs.last_hidden_state = outputs.last_hidden_state[:, places]
    return outputs


def unpacked(per_token: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Numbers of answers' tokens, shape (1, all of them), as TRL has them: (rows, tokens - 1), prompts zero."""
    numbers = per_token.view(layout.answer_columns.shape)
    columns = numbers.new_zeros((len(numbers), layout.width))
    return columns.scatter(1, layout.answer_columns, numbers)[:, :-1]


def answer_logits(
    model: Any, inputs: dict[str, Any], inner: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits for the tokens of a batch that have labels, and these labels: (rows, tokens, vocabulary), (rows, tokens).

    The prompt is computed once if `share_prompt` was told so of `inner`, which is `model` without what distributes it.
    """
    ids = inputs["input_ids"]
    labels = inputs["labels"]
    inner = without_adapter(inner)
    able = inner.config.get_text_config()._attn_implementation == _NAME and _equal(
        inner, model
    )
    layout = (
        _layout(inputs) if able and not why_not_shared(inner, ids.shape[1]) else None
    )
    if layout is None:
        unlabelled = {name: value for name, value in inputs.items() if name != "labels"}
        return model(**unlabelled, use_cache=False).logits[:, :-1], labels[:, 1:]
    logits = model(
        **packed(ids, layout), use_cache=False, logits_to_keep=layout.places.flatten()
    ).logits
    return logits[0].unflatten(0, layout.places.shape), layout.labels


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    shared_prompts: tuple[tuple[int, int, int], ...] | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention function: that of a packed row, or `sdpa` where the row is not packed.

    query: (1, heads, tokens, size). `shared_prompts`: for each prompt its tokens, its answers and the tokens of each.
    """
    plain = AttentionInterface()[_PLAIN]
    if shared_prompts is None:
        if (
            attention_mask is not None
            and attention_mask.shape == (1, 1, 1, 1)
            and query.shape[2] > 1
        ):
            # The mask of a packed row hides nothing by itself: tokens would see the future.
            name = type(module).__name__
            raise RuntimeError(
                f"{name} was not told how a packed row attends; set share_prompt: false, and report it"
            )
        return plain(module, query, key, value, attention_mask, **kwargs)
    if attention_mask is not None and attention_mask.shape != (1, 1, 1, 1):
        # Doge's, which it learns: equal logits while its parameter is zero, and no gradient for it.
        raise RuntimeError(
            f"{type(module).__name__} makes a mask of its own, which a packed row does not have"
        )
    outputs = []
    start = 0
    for shared, rows, tokens in shared_prompts:
        end = start + shared + rows * tokens
        states = [part[:, :, start:end] for part in (query, key, value)]
        kwargs["is_causal"] = True
        prompt = plain(
            module, *(part[:, :, :shared] for part in states), None, **kwargs
        )[0]
        kwargs["is_causal"] = False
        visible = torch.ones(
            (tokens, shared + tokens), dtype=torch.bool, device=query.device
        ).tril(shared)[None, None]
        # Each answer is a row of its own, and its keys and values stand behind the prompt's.
        queries, keys, values = (
            part[0, :, shared:].unflatten(1, (rows, -1)).transpose(0, 1)
            for part in states
        )
        before = [part[:, :, :shared].expand(rows, -1, -1, -1) for part in states[1:]]
        behind = (
            torch.cat([before[0], keys], dim=2),
            torch.cat([before[1], values], dim=2),
        )
        answers = plain(module, queries, *behind, visible, **kwargs)[0]
        outputs += [prompt, answers.reshape(1, -1, *answers.shape[2:])]
        start = end
    return torch.cat(outputs, dim=1), None


AttentionInterface.register(_NAME, _attend)
AttentionMaskInterface.register(_NAME, AttentionMaskInterface()[_PLAIN])
