"""Many samples of one prompt: the prompt is computed once, finished rows make room at once, nothing is sorted.

`model.generate` with the prompt repeated computes and stores it for every row, decodes padding until the longest row
ends, and draws with `torch.multinomial`, which over a vocabulary of 262,144 costs more than the model. Here the keys
and values of the prompt are stored once and attended to by all rows in one matrix product; each row has its own ones
behind them; a slot whose row has ended takes the next row; a token costs one uniform number and two short searches.
"""

import sys
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from sozo.data.errors import UserError
from sozo.models.prefix_cache import SharedPrefixCache, shared_attention
from sozo.models.traits import why_not_equal, why_not_shared, window_of, without_adapter

_BLOCK = 512
_BROKEN = -1  # the token of logits that are not finite: asking at once would wait for the device
_trials: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()  # of each model that was tried: why not


def why_not_sampled(model: Any, length: int) -> str | None:
    """Why `sample_tokens` cannot draw from `model` up to `length` tokens, prompt included, or None if it can.

    What the model says of itself comes first (`sozo.models.traits.why_not_shared`), then a trial, once for each model.
    """
    if reason := why_not_shared(model, length):
        return reason
    if model not in _trials:
        _trials[model] = _trial(model)
    return _trials[model]


def _trial(model: Any) -> str | None:
    """Two tokens of each of two slots behind a prompt of four, beside the forward pass of both rows."""
    device, vocabulary = next(model.parameters()).device, model.config.get_text_config().vocab_size
    prompt, own = torch.arange(4, 8, device=device), torch.arange(8, 12, device=device).view(2, 2)
    rows = torch.cat([prompt.expand(2, -1), own], dim=1) % vocabulary

    def steps() -> Tensor:
        filled = DynamicCache()
        model(input_ids=rows[:1, :4], past_key_values=filled, use_cache=True, logits_to_keep=1)
        cache = SharedPrefixCache(filled, 2, 2)
        with shared_attention(model):
            return torch.stack([_step(model, cache, rows[:, 4 + k], 4) for k in range(2)], dim=1)

    return why_not_equal(model, lambda: model(input_ids=rows, use_cache=False).logits[:, 4:], steps)


def _step(model: Any, cache: SharedPrefixCache, tokens: Tensor, prompt: int) -> Tensor:
    """Logits (slots, vocabulary) behind one more token of each slot; `prompt` is the prompt's length."""
    inputs = {"input_ids": tokens[:, None], "position_ids": (prompt + cache.lengths)[:, None]}
    cache.begin_step()
    logits: Tensor = model(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
    cache.end_step()
    return logits


class _Responses:
    """The tokens of all responses, shape (responses, most new tokens), and what draws the next ones."""

    def __init__(self, model: Any, prompt: int, uniforms: np.ndarray, ends: Sequence[int], temperature: float) -> None:
        device = next(model.parameters()).device
        self.model, self.prompt, self.temperature = model, prompt, temperature
        self.random = torch.from_numpy(np.ascontiguousarray(uniforms)).to(device)
        self.stop = torch.tensor([_BROKEN, *ends], dtype=torch.long, device=device)
        self.tokens = torch.zeros(uniforms.shape, dtype=torch.long, device=device)

    def write(self, logits: Tensor, rows: Any, places: Any, which: Tensor | None = None) -> Tensor:
        """Draw the tokens of responses `rows` at `places`; says which of them have ended. `which` is that of `draw`."""
        tokens = draw(logits, self.random[rows, places], self.temperature, which)
        self.tokens[rows, places] = tokens
        return torch.isin(tokens, self.stop)

    def texts(self) -> list[list[int]]:
        """Each response up to its end token; what was drawn behind it is nobody's."""
        ends = torch.isin(self.tokens, self.stop)
        lengths = torch.where(ends.any(dim=1), ends.long().argmax(dim=1) + 1, self.tokens.shape[1])
        rows = [row[:length] for row, length in zip(self.tokens.tolist(), lengths.tolist(), strict=True)]
        if any(row[-1] == _BROKEN for row in rows):
            raise FloatingPointError("the model's logits are not finite: its weights are broken or overflow this dtype")
        return rows


@torch.no_grad()  # type: ignore[untyped-decorator]
def sample_tokens(
    model: Any,
    prompt: Sequence[int],
    uniforms: np.ndarray,
    *,
    ends: Sequence[int],
    temperature: float = 1.0,
    slots: int = 256,
    check_every: int | None = None,
) -> list[list[int]]:
    """Draw one response per row of `uniforms` from the model's own distribution, nothing truncated: its new token ids.

    `model` is a causal language model in evaluation mode (see `why_not_sampled`), a PEFT model too.
    `uniforms` are numbers in [0, 1), shape (responses, most new tokens): `uniforms[r, t]` decides r's token t.
    A response keeps its end token, one of `ends`. `slots` are decoded at once; as each ends, the next takes its place.
    Whether one has ended is asked every `check_every` tokens (default: 1 on a CPU, 4 elsewhere, where asking waits for
    the device): the tokens are the same, and what is drawn behind an end is dropped.
    A FloatingPointError if the model's logits are not finite.
    """
    n, most = uniforms.shape
    if n == 0:
        return []
    if reason := why_not_sampled(model, len(prompt) + most):
        name = type(without_adapter(model)).__name__
        raise UserError(f"{name} cannot share its prompt among samples: {reason}")
    responses = _Responses(model, len(prompt), uniforms, ends, temperature)
    device, filled = responses.tokens.device, DynamicCache()
    ids = torch.tensor([list(prompt)], device=device)
    logits = model(input_ids=ids, past_key_values=filled, use_cache=True, logits_to_keep=1).logits[:, -1]
    stem = SharedPrefixCache(filled, 1, most - 1, room=min(n, slots))
    history = torch.zeros(n, dtype=torch.long, device=device)  # the slot of `stem` that holds a response's tokens
    ended = responses.write(logits, slice(None), 0, history)
    with shared_attention(model):
        live, alone = _share_beginnings(responses, stem, history, torch.nonzero(~ended)[:, 0], slots)
        # Each slot holds one response from here on: nothing is sorted, and nothing waits for the device but `nonzero`.
        rows, waiting, cache = live[:slots], live[slots:], stem
        if alone:
            rows = torch.empty_like(live).scatter_(0, history[live], live)
        else:
            cache = stem.branch(history[rows])
        check_every = check_every or (1 if device.type == "cpu" else 4)
        _fill_slots(responses, cache, rows, waiting, history, check_every)
    return responses.texts()


def _share_beginnings(
    responses: _Responses, stem: SharedPrefixCache, history: Tensor, live: Tensor, slots: int
) -> tuple[Tensor, bool]:
    """Decode while several responses have begun alike; which still go on, and whether each has its own slot of `stem`.

    An equal history is computed once. While others wait for a slot, only as long as few histories stand for all: from
    then on no slot may be idle.
    """
    for t in range(1, responses.tokens.shape[1]):
        if not len(live):
            break
        starts, which = torch.stack([history[live], responses.tokens[live, t - 1]]).unique(dim=1, return_inverse=True)
        if len(live) > slots and starts.shape[1] > min(slots, len(live) // 2):
            return live, False
        places = stem.follow(starts[0])
        step = torch.empty_like(starts[1])
        step[places], history[live] = starts[1], places[which]
        logits = _step(responses.model, stem, step, responses.prompt)
        ended = responses.write(logits, live, t, history[live])
        if starts.shape[1] == len(live):  # and so for good: histories that have parted never meet again
            return live, True
        live = live[~ended]
    return live[:0], False  # as long as they may be


def _fill_slots(
    responses: _Responses, cache: SharedPrefixCache, rows: Tensor, waiting: Tensor, history: Tensor, check_every: int
) -> None:
    """Decode the responses `rows`, one in each slot of `cache`; as each ends, one of `waiting` takes its slot."""
    most = responses.tokens.shape[1] - 1
    over = torch.isin(responses.tokens[rows, cache.lengths], responses.stop)
    while len(rows):
        ended = torch.nonzero(over | (cache.lengths == most))[:, 0]
        if len(ended):
            started, waiting = waiting[: len(ended)], waiting[len(ended) :]
            rows = cache.replace(rows, ended, started, history[started])
            over = torch.zeros_like(rows, dtype=torch.bool)
        for _ in range(min(check_every, most - cache.longest) if len(rows) else 0):
            step = responses.tokens[rows, cache.lengths].clamp(min=0)
            logits = _step(responses.model, cache, step, responses.prompt)
            over |= responses.write(logits, rows, cache.lengths)


def sample_each(model: Any, prompts: Sequence[Sequence[int]], uniforms: np.ndarray, **options: Any) -> list[list[int]]:
    """One response to each of `prompts`, equal or not; equal ones are computed once. Otherwise as `sample_tokens`.

    None goes on behind the model's window.
    """
    window = window_of(model) or sys.maxsize
    rows_of: dict[tuple[int, ...], list[int]] = {}
    for row, prompt in enumerate(prompts):
        rows_of.setdefault(tuple(prompt), []).append(row)
    responses: list[list[int]] = [[] for _ in prompts]
    for prompt, rows in rows_of.items():
        drawn = sample_tokens(model, prompt, uniforms[rows, : max(1, window - len(prompt))], **options)
        for row, response in zip(rows, drawn, strict=True):
            responses[row] = response
    return responses


def draw(logits: Tensor, uniforms: Tensor, temperature: float = 1.0, which: Tensor | None = None) -> Tensor:
    """Tokens (draws,) from softmax(logits / temperature), exact to float32 rounding, by inverting the CDF.

    The first search is among the masses of blocks of 512 tokens, the second among the tokens of that block. `logits`
    are (rows, vocabulary), `uniforms` float64 in [0, 1) of shape (draws,), and `which` says the row that each draw is
    from (else draw k is from row k). Where a row's logits are not finite (or all minus infinity) the token is -1.

    >>> logits = torch.tensor([[0.25, 0.5, 0.25]]).log()
    >>> draw(logits, torch.tensor([0.0, 0.3, 0.9], dtype=torch.float64), which=torch.tensor([0, 0, 0])).tolist()
    [0, 1, 2]
    """
    rows, vocabulary = logits.shape
    blocks = -(-vocabulary // _BLOCK)
    # A chunk's masses stay in the processor's cache; one scratch area spares fresh pages for each chunk.
    chunk = max(1, 2 ** (20 if logits.device.type == "cpu" else 28) // vocabulary)
    scratch = torch.empty((min(chunk, rows), blocks * _BLOCK), device=logits.device)
    tokens = torch.empty(len(uniforms), dtype=torch.long, device=logits.device)
    for start in range(0, rows, chunk):
        part = logits[start : start + chunk]
        mass = scratch[: len(part)]
        mass[:, :vocabulary] = part
        mass[:, vocabulary:] = -torch.inf
        if temperature != 1.0:
            mass.div_(temperature)
        torch.softmax(mass, dim=1, out=mass)  # in place: one pass with the processor's own vector exponential
        by_block = mass.view(len(part), blocks, _BLOCK)
        cumulative = by_block.sum(dim=2).double().cumsum(dim=1)
        if which is None:
            draws, row = slice(start, start + chunk), torch.arange(len(part), device=logits.device)
        else:
            draws = torch.nonzero((which >= start) & (which < start + chunk))[:, 0]
            row = which[draws] - start
        cumulative = cumulative[row]
        target = uniforms[draws] * cumulative[:, -1]
        block = _invert(cumulative, target)
        before = torch.where(block > 0, cumulative.gather(1, (block - 1).clamp(min=0)[:, None])[:, 0], 0.0)
        inside = by_block[row, block].double().cumsum(dim=1)
        token = block * _BLOCK + _invert(inside, target - before)
        tokens[draws] = torch.where(cumulative[:, -1].isfinite(), token, _BROKEN)
    return tokens


def _invert(cumulative: Tensor, target: Tensor) -> Tensor:
    """Per row the first index whose cumulative mass exceeds the target; rounding never picks one without mass."""
    index = torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]
    last = (cumulative < cumulative[:, -1:]).sum(dim=1)
    return torch.minimum(index, last)
