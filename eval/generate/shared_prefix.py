"""Many samples of one prompt: the prompt is computed once, finished rows make room at once, nothing is sorted.

`model.generate` with the prompt repeated computes and stores it for every row, decodes padding until the longest row
ends, and draws with `torch.multinomial`, which over a vocabulary of 262,144 costs more than the model. Here the keys
and values of the prompt are stored once and attended to by all rows in one matrix product; each row has its own ones
behind them; a slot whose row has ended takes the next row; a token costs one uniform number and two short searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface, DynamicCache
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicLayer

from eval.generate.protocol import GeneratorError

_NAME = "sozo_shared_prefix"
_BLOCK = 512
_ATTENTION_ARGUMENTS = ("softcap", "s_aux", "position_bias")


class UnsupportedModelError(GeneratorError):
    """The model attends in a way that a shared prefix cannot reproduce; the message says which."""


def why_unsupported(model: Any, length: int) -> str | None:
    """Why `model` cannot be sampled this way up to `length` tokens in all, or None if it can.

    Models whose attention is full, or a sliding window that nothing falls out of, and goes through transformers'
    attention interface: Llama, Qwen2, Qwen3, Mistral, Gemma 3 and their like.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None)
    if config.is_encoder_decoder:
        return "it is an encoder-decoder"
    if kinds - {"full_attention", "sliding_attention"}:
        return f"it has layers of type {', '.join(sorted(kinds - {'full_attention', 'sliding_attention'}))}"
    if not getattr(model, "_supports_attention_backend", False):
        return "its attention does not go through transformers' attention interface"
    if getattr(config, "attn_logit_softcapping", None):
        return "it caps attention logits"
    slides = "sliding_attention" in kinds or not getattr(config, "layer_types", None)
    if slides and window and window < length and getattr(config, "use_sliding_window", True):
        return f"its sliding window of {window} tokens is shorter than prompt and response ({length})"
    return None


@torch.no_grad()  # type: ignore[untyped-decorator]
def sample_tokens(
    model: Any,
    prompt: Sequence[int],
    uniforms: np.ndarray,
    *,
    ends: Sequence[int],
    temperature: float = 1.0,
    slots: int = 256,
) -> list[list[int]]:
    """Draw one response per row of `uniforms` from the model's own distribution, nothing truncated.

    Args:
        model: A causal language model in evaluation mode (see `why_unsupported`); a PEFT model too.
        prompt: Token ids, at least one.
        uniforms: Numbers in [0, 1), shape (responses, most new tokens): token t of response r is decided by
            `uniforms[r, t]`.
        ends: Tokens that end a response; the response keeps its end token.
        temperature: Above 0.
        slots: Responses decoded at once; as each ends, the next begins in its place.

    Returns:
        New token ids of each response, 1 to `uniforms.shape[1]` of them.

    Raises:
        UnsupportedModelError: See `why_unsupported`.
        FloatingPointError: The model's logits are not finite.
    """
    n, most = uniforms.shape
    if n == 0:
        return []
    reason = why_unsupported(_base(model), len(prompt) + most)
    if reason:
        raise UnsupportedModelError(f"{type(_base(model)).__name__} cannot share its prompt among samples: {reason}")
    device = next(model.parameters()).device
    random = torch.from_numpy(np.ascontiguousarray(uniforms)).to(device)
    stop = torch.tensor(list(ends), dtype=torch.long, device=device)

    filled = DynamicCache()
    ids = torch.tensor([list(prompt)], device=device)
    logits = model(input_ids=ids, past_key_values=filled, use_cache=True, logits_to_keep=1).logits[:, -1]
    tokens = torch.zeros((n, most), dtype=torch.long, device=device)
    tokens[:, 0] = draw(logits.expand(n, -1), random[:, 0], temperature)
    lengths = torch.ones(n, dtype=torch.long, device=device)

    waiting = torch.nonzero(~torch.isin(tokens[:, 0], stop))[:, 0] if most > 1 else tokens.new_empty(0)
    rows, waiting = waiting[:slots], waiting[slots:]
    cache = SharedPrefixCache(filled, len(rows), most - 1)
    with _shared_attention(model):
        while len(rows):
            step = tokens[rows, cache.lengths]
            positions = (len(prompt) + cache.lengths)[:, None]
            cache.begin_step()
            logits = model(
                input_ids=step[:, None], position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1
            ).logits[:, -1]
            cache.end_step()
            token = draw(logits, random[rows, cache.lengths], temperature)
            tokens[rows, cache.lengths] = token
            lengths[rows] += 1
            done = torch.isin(token, stop) | (cache.lengths == most - 1)
            if done.any():
                started = waiting[: int(done.sum())]
                waiting = waiting[len(started) :]
                rows = cache.replace(rows, done, started)
    return [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)]


def draw(logits: torch.Tensor, uniforms: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """One token per row from softmax(logits / temperature), exact to float32 rounding, by inverting the CDF.

    The first search is among the masses of blocks of 512 tokens, the second among the tokens of the block found.

    Args:
        logits: Shape (rows, vocabulary), any floating dtype.
        uniforms: Shape (rows,), in [0, 1), float64.
        temperature: Above 0.

    Raises:
        FloatingPointError: A row's logits are not finite (NaN, infinity, or all minus infinity).

    >>> logits = torch.tensor([[0.25, 0.5, 0.25]]).log()
    >>> [int(draw(logits, torch.tensor([u], dtype=torch.float64))) for u in (0.0, 0.3, 0.9)]
    [0, 1, 2]
    """
    rows, vocabulary = logits.shape
    blocks = -(-vocabulary // _BLOCK)
    # A chunk's masses stay in the processor's cache; one scratch area spares fresh pages for each chunk.
    chunk = max(1, 2 ** (22 if logits.device.type == "cpu" else 28) // vocabulary)
    scratch = torch.zeros((min(chunk, rows), blocks * _BLOCK), device=logits.device)
    tokens = torch.empty(rows, dtype=torch.long, device=logits.device)
    for start in range(0, rows, chunk):
        part = logits[start : start + chunk]
        padded = scratch[: len(part)]
        mass = padded[:, :vocabulary]
        mass.copy_(part)
        mass.sub_(mass.amax(dim=1, keepdim=True))
        if temperature != 1.0:
            mass.div_(temperature)
        mass.exp_()
        by_block = padded.view(len(part), blocks, _BLOCK)
        cumulative = by_block.sum(dim=2).double().cumsum(dim=1)
        total = cumulative[:, -1]
        if not torch.isfinite(total).all():
            raise FloatingPointError("the model's logits are not finite: its weights are broken or overflow this dtype")
        target = uniforms[start : start + chunk] * total
        block = _invert(cumulative, target)
        before = torch.where(block > 0, cumulative.gather(1, (block - 1).clamp(min=0)[:, None])[:, 0], 0.0)
        inside = by_block[torch.arange(len(part), device=logits.device), block].double().cumsum(dim=1)
        tokens[start : start + chunk] = block * _BLOCK + _invert(inside, target - before)
    return tokens


def _invert(cumulative: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Per row the first index whose cumulative mass exceeds the target; rounding never picks one without mass."""
    found = torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]
    last = (cumulative < cumulative[:, -1:]).sum(dim=1)
    return torch.minimum(found, last)


class SharedPrefixCache(Cache):
    """Keys and values of one prompt, stored once, and of every slot's own tokens behind it.

    Args:
        prefix: The cache that the prompt's forward pass has filled (batch of one).
        slots: Responses decoded at once.
        most: Tokens that a response may have in the cache.

    Attributes:
        lengths: Tokens of each live slot in the cache, shape (live,).
    """

    def __init__(self, prefix: DynamicCache, slots: int, most: int) -> None:
        if not all(type(layer) is DynamicLayer for layer in prefix.layers):
            raise UnsupportedModelError("a layer's cache is more than keys and values")
        super().__init__(layers=[_Layer(self, layer.keys, layer.values, slots) for layer in prefix.layers])
        self.lengths = torch.zeros(slots, dtype=torch.long, device=prefix.layers[0].keys.device)
        self.used = 0
        self.room = 0
        self.hidden: torch.Tensor | None = None
        self._most = most

    def begin_step(self) -> None:
        """Make room for one more token of every slot and note which of the tokens stored are whose."""
        self.used = int(self.lengths.max()) + 1
        if self.used > self.room:
            self.room = min(max(2 * self.room, 64), self._most)
            for layer in self.layers:
                layer.grow(self.room)
        columns = torch.arange(self.used, device=self.lengths.device)
        beyond = columns > self.lengths[:, None]
        # Where all are equally long, nothing is hidden from anybody.
        self.hidden = beyond[:, None, None] if bool(beyond.any()) else None

    def end_step(self) -> None:
        """The forward pass has stored one token per slot."""
        self.lengths += 1

    def replace(self, rows: torch.Tensor, done: torch.Tensor, started: torch.Tensor) -> torch.Tensor:
        """Give the slots of ended rows to `started`, and close the gaps that are left with the last live ones.

        Args:
            rows: Row of each live slot.
            done: Which of them have ended.
            started: Rows to begin, at most as many as have ended.

        Returns:
            The rows that the live slots now hold.
        """
        ended = torch.nonzero(done)[:, 0]
        taken, free = ended[: len(started)], ended[len(started) :]
        rows, lengths = rows.clone(), self.lengths.clone()
        rows[taken], lengths[taken] = started, 0
        live = len(rows) - len(free)
        if len(free):
            keep = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
            keep[free] = False
            gaps = free[free < live]
            last = torch.nonzero(keep[live:])[:, 0] + live
            rows[gaps], lengths[gaps] = rows[last], lengths[last]
            for layer in self.layers:
                layer.keys[gaps, :, : self.used] = layer.keys[last, :, : self.used]
                layer.values[gaps, :, : self.used] = layer.values[last, :, : self.used]
        self.lengths = lengths[:live]
        return rows[:live]


class _Layer(CacheLayerMixin):
    """One layer: the prompt's keys and values (heads, prompt, size), and (slots, heads, room, size) behind it."""

    is_sliding = False

    def __init__(self, cache: SharedPrefixCache, keys: torch.Tensor, values: torch.Tensor, slots: int) -> None:
        super().__init__()
        self.cache = cache
        self.prefix_keys, self.prefix_values = keys[0], values[0]
        shape = (slots, *self.prefix_keys.shape[:1], 0)
        self.keys = keys.new_zeros((*shape, keys.shape[-1]))
        self.values = values.new_zeros((*shape, values.shape[-1]))
        self.is_initialized = True

    def grow(self, room: int) -> None:
        """Enlarge the slots' share to `room` tokens; what is not written is zero, since 0 times NaN is no 0."""
        self.keys = _grown(self.keys, room)
        self.values = _grown(self.values, room)

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Store one token per slot. The attention function is handed this layer in place of keys and values."""
        lengths = self.cache.lengths
        slot = torch.arange(len(lengths), device=lengths.device)
        self.keys[slot, :, lengths] = key_states[:, :, 0]
        self.values[slot, :, lengths] = value_states[:, :, 0]
        return self, self

    def attend(self, query: torch.Tensor, scaling: float | None) -> torch.Tensor:
        """Attention of one query per slot (live, query heads, 1, size) to the prompt and the slot's own tokens."""
        live, query_heads, _, size = query.shape
        heads, length = self.prefix_keys.shape[:2]
        group, used = query_heads // heads, self.cache.used
        keys, values = self.keys[:live, :, :used], self.values[:live, :, :used]
        query = (query * (size**-0.5 if scaling is None else scaling)).view(live, heads, group, size)
        # One matrix product per head for all slots: this is where the shared prompt pays.
        together = query.transpose(0, 1).reshape(heads, live * group, size)
        to_prefix = torch.bmm(together, self.prefix_keys.transpose(1, 2)).view(heads, live, group, length)
        to_own = query @ keys.transpose(2, 3)
        if self.cache.hidden is not None:
            to_own = to_own.masked_fill(self.cache.hidden, -torch.inf)
        logits = torch.cat([to_prefix.transpose(0, 1), to_own], dim=-1)
        weights = logits.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
        from_prefix = weights[..., :length].transpose(0, 1).reshape(heads, live * group, length)
        output = torch.bmm(from_prefix, self.prefix_values).view(heads, live, group, -1).transpose(0, 1)
        output = output + weights[..., length:] @ values
        return output.reshape(live, 1, query_heads, -1)

    def lazy_initialization(self, key_states: Any, value_states: Any) -> None:
        """Nothing: the prompt has initialised it."""

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset for a mask, which nobody makes."""
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        """Longest length in the cache."""
        return self.prefix_keys.shape[1] + self.cache.used

    def get_max_length(self) -> int:
        """No maximum."""
        return -1


def _grown(stored: torch.Tensor, room: int) -> torch.Tensor:
    larger = stored.new_zeros((*stored.shape[:2], room, stored.shape[3]))
    larger[:, :, : stored.shape[2]] = stored
    return larger


def _attend(
    module: Any, query: torch.Tensor, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **kw: Any
) -> tuple[torch.Tensor, None]:
    """transformers' attention function for a `SharedPrefixCache`: `key` is one of its layers."""
    for name in _ATTENTION_ARGUMENTS:
        if kw.get(name) is not None:
            raise UnsupportedModelError(f"{type(module).__name__} needs {name}, which a shared prompt does not have")
    return key.attend(query, scaling), None


# Without a mask function of this name transformers makes no mask.
AttentionInterface.register(_NAME, _attend)


def _base(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@contextmanager
def _shared_attention(model: Any) -> Iterator[None]:
    """The model's layers call `_attend`, as long as this lasts."""
    config = _base(model).config.get_text_config()
    before = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = before
