"""Many samples of a few prompts: each prompt is computed once, finished rows make room at once, nothing is sorted.

`model.generate` with a prompt repeated computes and stores it for every row, decodes padding until the longest row
ends, and draws with `torch.multinomial`, which over a vocabulary of 262,144 costs more than the model. Here the keys
and values of a prompt are stored once and attended to by all its rows in one matrix product; each row has its own ones
behind them; a slot whose row has ended takes the next row; a token costs one uniform number and two short searches.
Several prompts go through the model in one step: a row's tokens are those that it would have without the others.
"""

import functools
import sys
from collections.abc import Mapping, Sequence
from inspect import signature
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, DynamicCache

from sozo.data.errors import UserError
from sozo.models.model_support import (
    cache_bytes,
    free_bytes,
    why_not_equal,
    why_not_shared,
    window_of,
    without_adapter,
)
from sozo.models.prefix_cache import Prefixes, SharedPrefixCache, shared_attention

_BLOCK = 512
# The token of logits that are not finite: asking at once would wait for the device
_BROKEN = -1
# Of each model that was tried: why not
_trials: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()


def why_not_sampled(model: Any, length: int) -> str | None:
    """Why `sample_tokens` cannot draw from `model` up to `length` tokens, prompt included, or None if it can.

    What the model says of itself comes first (`model_support.why_not_shared`), then a trial, once for each model.
    """
    if reason := why_not_shared(model, length):
        return reason
    if model not in _trials:
        _trials[model] = _trial(model)
    return _trials[model]


def _trial(model: Any) -> str | None:
    """Two tokens of each of three slots behind prompts of four, four and three, beside the forward pass of the rows."""
    device = next(model.parameters()).device
    vocabulary = model.config.get_text_config().vocab_size
    rows = torch.arange(4, 22, device=device).view(3, 6) % vocabulary
    sizes = torch.tensor([4, 4, 3], device=device)
    rows[1, :4] = rows[0, :4]
    slots = torch.arange(3, device=device)

    def steps() -> Tensor:
        prefixes = Prefixes(
            [
                _fill(model, row[:size].tolist())[0]
                for row, size in ((rows[0], 4), (rows[2], 3))
            ]
        )
        cache = SharedPrefixCache(prefixes, torch.tensor([0, 0, 1], device=device), 2)
        with shared_attention(model):
            return torch.stack(
                [_step(model, cache, rows[slots, sizes + k]) for k in range(2)], dim=1
            )

    def plain() -> Tensor:
        logits = model(input_ids=rows, use_cache=False).logits
        return torch.stack([logits[slots, sizes + k] for k in range(2)], dim=1)

    return why_not_equal(model, plain, steps)


def _fill(model: Any, prompt: Sequence[int]) -> tuple[DynamicCache, Tensor]:
    """A prompt's keys and values, and the logits (1, vocabulary) behind it."""
    cache = DynamicCache()
    ids = torch.tensor([list(prompt)], device=next(model.parameters()).device)
    return cache, _last_logits(model, cache, input_ids=ids)


def _step(model: Any, cache: SharedPrefixCache, tokens: Tensor) -> Tensor:
    """Logits (slots, vocabulary) behind one more token of each slot."""
    cache.begin_step()
    logits = _last_logits(
        model, cache, input_ids=tokens[:, None], position_ids=cache.positions[:, None]
    )
    cache.end_step()
    return logits


def _last_logits(model: Any, cache: Cache, **inputs: Tensor) -> Tensor:
    architecture: Any = type(without_adapter(model))
    inputs |= {_cache_argument(architecture): cache}
    return model(**inputs, use_cache=True, logits_to_keep=1).logits[:, -1]


@functools.cache
def _cache_argument(architecture: Any) -> str:
    """What its forward calls the cache: transformers 5.24 renamed it, and 5.40 will not know the old name."""
    return (
        "cache"
        if "cache" in signature(architecture.forward).parameters
        else "past_key_values"
    )


class _Answers:
    """The tokens of all answers, shape (answers, most new tokens), and what draws the next ones."""

    def __init__(
        self,
        model: Any,
        uniforms: np.ndarray,
        ends: Sequence[int],
        temperature: float,
        truncation: Mapping[str, Any],
    ) -> None:
        device = next(model.parameters()).device
        self.model = model
        self.temperature = temperature
        self.truncation = truncation
        self.random = torch.from_numpy(np.ascontiguousarray(uniforms)).to(device)
        self.stop = torch.tensor([_BROKEN, *ends], dtype=torch.long, device=device)
        self.tokens = torch.zeros(uniforms.shape, dtype=torch.long, device=device)

    def write(
        self, logits: Tensor, rows: Any, places: Any, which: Tensor | None = None
    ) -> Tensor:
        """Draw the tokens of answers `rows` at `places`; says which of them have ended. `which` is that of `draw`."""
        random = self.random[rows, places]
        tokens = draw(logits, random, self.temperature, which, **self.truncation)
        self.tokens[rows, places] = tokens
        return torch.isin(tokens, self.stop)

    def texts(self) -> list[list[int]]:
        """Each answer up to its end token; what was drawn behind it is nobody's."""
        ends = torch.isin(self.tokens, self.stop)
        lengths = torch.where(
            ends.any(dim=1), ends.long().argmax(dim=1) + 1, self.tokens.shape[1]
        )
        rows = [
            row[:length]
            for row, length in zip(self.tokens.tolist(), lengths.tolist(), strict=True)
        ]
        if any(row[-1] == _BROKEN for row in rows):
            raise FloatingPointError(
                "the model's logits are not finite: its weights are broken or overflow this dtype"
            )
        return rows


def sample_tokens(
    model: Any, prompt: Sequence[int], uniforms: np.ndarray, **options: Any
) -> list[list[int]]:
    """Answers to one prompt: `sample_each` of it repeated for every row of `uniforms`."""
    return sample_each(model, [prompt] * len(uniforms), uniforms, **options)


@torch.no_grad()  # type: ignore[untyped-decorator]
def sample_each(
    model: Any,
    prompts: Sequence[Sequence[int]],
    uniforms: np.ndarray,
    *,
    ends: Sequence[int],
    temperature: float = 1.0,
    truncation: Mapping[str, Any] = MappingProxyType({}),
    slots: int = 256,
    check_every: int | None = None,
    free: int | None = None,
) -> list[list[int]]:
    """Draw an answer to each of `prompts` from the model's own distribution: its new token ids.

    Nothing is truncated but by `truncation`: `top_k`, `top_p` and `min_p` of `draw`.

    `prompts` are token ids, equal or not: equal ones are computed once, and all go through the model together.
    `model` is a causal language model in evaluation mode (see `why_not_sampled`), a PEFT model too.
    `uniforms` are numbers in [0, 1), shape (answers, most new tokens): `uniforms[r, t]` decides r's token t.
    An answer keeps its end token, one of `ends`, and goes on no further than the model's window.
    `slots` are decoded at once; as each ends, the next takes its place.
    Whether one has ended is asked every `check_every` tokens (default: 1 on a CPU, 4 elsewhere, where asking waits for
    the device): the tokens are the same, and what is drawn behind an end is dropped.
    Half of `free` bytes (default: what a GPU has) are for keys, values and logits: where not all prompts fit, fewer are
    decoded at once, and where not even one answer does, a UserError says so before anything is computed.
    A FloatingPointError if the model's logits are not finite.
    """
    if not all(prompts):
        raise UserError(
            "a prompt has no token for an answer to follow; give one that is not empty"
        )
    window = window_of(model) or sys.maxsize
    by_most = dict[int, dict[tuple[int, ...], list[int]]]()
    for row, prompt in enumerate(prompts):
        most = min(uniforms.shape[1], max(1, window - len(prompt)))
        by_most.setdefault(most, {}).setdefault(tuple(prompt), []).append(row)
    if reason := by_most and why_not_sampled(
        model, max(most + max(map(len, of)) for most, of in by_most.items())
    ):
        name = type(without_adapter(model)).__name__
        raise UserError(f"{name} cannot share its prompt among samples: {reason}")
    device = next(model.parameters()).device
    free = free_bytes(device) if free is None else free
    answers: list[list[int]] = [[] for _ in prompts]
    waves = [
        (most, rows_of, *wave)
        for most, rows_of in by_most.items()
        for wave in _waves(model, rows_of, most, slots, free)
    ]
    for most, rows_of, wave, slots_there in waves:
        rows = [row for prompt in wave for row in rows_of[prompt]]
        drawn = _Answers(model, uniforms[rows, :most], ends, temperature, truncation)
        check = check_every or (1 if device.type == "cpu" else 4)
        _sample(
            drawn, wave, [len(rows_of[prompt]) for prompt in wave], slots_there, check
        )
        for row, answer in zip(rows, drawn.texts(), strict=True):
            answers[row] = answer
    return answers


def _waves(
    model: Any,
    rows_of: dict[tuple[int, ...], list[int]],
    most: int,
    slots: int,
    free: int | None,
) -> list[tuple[list[tuple[int, ...]], int]]:
    """Which prompts are decoded together, and in how many slots.

    What is padded stays small: seats for as many slots as the most frequent prompt has are at most twice the slots, and
    prompts as long as the longest take no more tokens than the answers may.
    """

    def fitting(prompts: int, longest: int, rows: int) -> int:
        """Slots for `rows` that memory has room for behind so many prompts."""
        if free is None:
            return min(rows, slots)
        room = free // 2 - cache_bytes(model, prompts * longest, 0)
        return min(rows, slots, room // cache_bytes(model, most, 1))

    waves: list[tuple[list[tuple[int, ...]], int]] = []
    rows = 0
    for prompt in sorted(
        rows_of, key=lambda prompt: (len(rows_of[prompt]), len(prompt))
    ):
        count = len(rows_of[prompt])
        wave = waves[-1][0] if waves else []
        longest = max(map(len, [*wave, prompt]))
        live = min(rows + count, slots)
        padded = (len(wave) + 1) * count > 2 * live or (
            len(wave) + 1
        ) * longest > slots * most
        if (
            wave
            and not padded
            and fitting(len(wave) + 1, longest, rows + count) == live
        ):
            rows += count
            waves[-1] = ([*wave, prompt], live)
            continue
        rows = count
        waves.append(([prompt], fitting(1, len(prompt), count)))
        if free is not None and waves[-1][1] < 1:
            needed = 2 * cache_bytes(model, len(prompt) + most, 1) / 2**30
            raise UserError(
                f"a prompt of {len(prompt)} tokens and an answer of up to {most} need {needed:.2g} GiB beside the "
                f"model, and {free / 2**30:.2g} GiB are free; allow fewer new tokens"
            )
    return waves


def _sample(
    answers: _Answers,
    prompts: Sequence[Sequence[int]],
    counts: list[int],
    slots: int,
    check: int,
) -> None:
    """Draw the answers, so many of each prompt one behind the other."""
    n, most = answers.tokens.shape
    device = answers.tokens.device
    filled, logits = zip(
        *(_fill(answers.model, prompt) for prompt in prompts), strict=True
    )
    numbers = torch.arange(len(prompts), device=device)
    stem = SharedPrefixCache(
        Prefixes(filled), numbers, most - 1, room=min(n, max(slots, len(prompts)))
    )
    # The slot of `stem` that holds an answer's tokens.
    history = numbers.repeat_interleave(torch.tensor(counts, device=device))
    ended = answers.write(torch.cat(logits), slice(None), 0, history)
    with shared_attention(answers.model):
        live, alone = _share_beginnings(
            answers, stem, history, torch.nonzero(~ended)[:, 0], slots
        )
        # Each slot holds one answer from here on: nothing is sorted, and nothing waits for the device but `nonzero`.
        rows = live[:slots]
        waiting = live[slots:]
        cache = stem
        if alone:
            rows = torch.empty_like(live).scatter_(0, history[live], live)
        else:
            cache = stem.branch(history[rows])
        _fill_slots(answers, cache, rows, waiting, history, check)


def _share_beginnings(
    answers: _Answers,
    stem: SharedPrefixCache,
    history: Tensor,
    live: Tensor,
    slots: int,
) -> tuple[Tensor, bool]:
    """Decode while several answers have begun alike; which still go on, and whether each has its own slot of `stem`.

    An equal history is computed once. While others wait for a slot, only as long as few histories stand for all: from
    then on no slot may be idle.
    """
    for t in range(1, answers.tokens.shape[1]):
        if not len(live):
            break
        starts, which = torch.stack(
            [history[live], answers.tokens[live, t - 1]]
        ).unique(dim=1, return_inverse=True)
        if len(live) > slots and starts.shape[1] > min(slots, len(live) // 2):
            return live, False
        places = stem.follow(starts[0])
        step = torch.empty_like(starts[1])
        step[places] = starts[1]
        history[live] = places[which]
        logits = _step(answers.model, stem, step)
        ended = answers.write(logits, live, t, history[live])
        # And so for good: histories that have parted never meet again
        if starts.shape[1] == len(live):
            return live, True
        live = live[~ended]
    return live[:0], False  # as long as they may be


def _fill_slots(
    answers: _Answers,
    cache: SharedPrefixCache,
    rows: Tensor,
    waiting: Tensor,
    history: Tensor,
    check_every: int,
) -> None:
    """Decode the answers `rows`, one in each slot of `cache`; as each ends, one of `waiting` takes its slot."""
    most = answers.tokens.shape[1] - 1
    over = torch.isin(answers.tokens[rows, cache.lengths], answers.stop)
    while len(rows):
        ended = torch.nonzero(over | (cache.lengths == most))[:, 0]
        if len(ended):
            started = waiting[: len(ended)]
            waiting = waiting[len(ended) :]
            rows = cache.replace(rows, ended, started, history[started])
            over = torch.zeros_like(rows, dtype=torch.bool)
        for _ in range(min(check_every, most - cache.longest) if len(rows) else 0):
            step = answers.tokens[rows, cache.lengths].clamp(min=0)
            logits = _step(answers.model, cache, step)
            over |= answers.write(logits, rows, cache.lengths)


def draw(
    logits: Tensor,
    uniforms: Tensor,
    temperature: float = 1.0,
    which: Tensor | None = None,
    *,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
) -> Tensor:
    """Tokens (draws,) from softmax(logits / temperature), exact to float32 rounding, by inverting the CDF.

    The first search is among the masses of blocks of 512 tokens, the second among the tokens of that block. `logits`
    are (rows, vocabulary), `uniforms` float64 in [0, 1) of shape (draws,), and `which` says the row that each draw is
    from (else draw k is from row k). Where a row's logits are not finite (or all minus infinity) the token is -1.
    Truncated by `top_k`, `top_p` and `min_p` in this order, as `model.generate` does it; of tokens that are as likely
    as the last one that is kept all are kept.

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
        # In place: one pass with the processor's own vector exponential
        torch.softmax(mass, dim=1, out=mass)
        if top_k:
            _drop_below(mass, _kth_largest(mass, min(top_k, vocabulary)))
        share = top_p * mass.sum(dim=1) if top_p < 1 else None
        if min_p:
            _drop_below(mass, min_p * mass.amax(dim=1, keepdim=True))
        if which is None:
            draws = torch.arange(start, min(start + chunk, rows), device=logits.device)
        else:
            draws = torch.nonzero((which >= start) & (which < start + chunk))[:, 0]
        row = draws - start if which is None else which[draws] - start
        tokens[draws] = _draw(mass, share, row, uniforms[draws])
    return tokens


def _kth_largest(mass: Tensor, k: int) -> Tensor:
    """The k-th largest mass of each row, shape (rows, 1).

    Of the largest of every 512th token, the k largest stand for all places where the k likeliest tokens can be.
    """
    by_block = mass.view(len(mass), -1, _BLOCK)
    if k < _BLOCK // 2:
        places = by_block.amax(dim=1).topk(k, dim=1, sorted=False).indices
        places = places[:, None].expand(-1, by_block.shape[1], -1)
        mass = by_block.gather(2, places).flatten(1)
    return mass.topk(k, dim=1, sorted=False).values.amin(dim=1, keepdim=True)


def _drop_below(mass: Tensor, floor: Tensor) -> None:
    """Let no mass below its row's `floor` stay."""
    floor = floor.clamp(min=torch.finfo(mass.dtype).tiny)
    # In units of the floor it is one number for all rows: passes of the processor's vectors, faster than any mask.
    torch.threshold_(mass.div_(floor), 1 - 2**-24, 0.0)
    mass.mul_(floor)


def _draw(mass: Tensor, share: Tensor | None, row: Tensor, random: Tensor) -> Tensor:
    """A token of each `row` by its number; drawn anew while it is not among the likeliest that hold the row's `share`.

    That is asked of the tokens that were drawn alone, so that no row is sorted.
    """
    by_block = mass.view(len(mass), -1, _BLOCK)
    cumulative = by_block.sum(dim=2).double().cumsum(dim=1)
    tokens = _invert_blocks(by_block, cumulative, row, random)
    if share is None:
        return tokens
    scratch = torch.empty_like(mass)
    rejected = torch.arange(len(row), device=row.device)
    while len(rejected):
        outside = [
            _above(mass, row[some], tokens[some], scratch) >= share[row[some]]
            for some in rejected.split(len(scratch))
        ]
        rejected = rejected[torch.cat(outside)]
        random[rejected] = _another(random[rejected])
        tokens[rejected] = _invert_blocks(
            by_block, cumulative, row[rejected], random[rejected]
        )
    return tokens


def _above(mass: Tensor, row: Tensor, tokens: Tensor, scratch: Tensor) -> Tensor:
    """The mass of the tokens of a row that are likelier than one of them."""
    own = mass[row, tokens]
    likelier = torch.index_select(mass, 0, row, out=scratch[: len(row)])
    torch.threshold_(likelier.div_(own[:, None]), 1.0, 0.0)
    return likelier.sum(dim=1) * own


def _another(uniforms: Tensor) -> Tensor:
    """A number made of each one, independent of where among the tokens that was: SplitMix64 of its 53 bits."""

    def shifted(bits: Tensor, by: int) -> Tensor:
        return (bits >> by) & ((1 << 64 - by) - 1)

    bits = (uniforms * 2**53).long() - 7046029254386353131
    bits = (bits ^ shifted(bits, 30)) * -4658895280553007687
    bits = (bits ^ shifted(bits, 27)) * -7723592293110705685
    return shifted(bits ^ shifted(bits, 31), 11).double() / 2**53


def _invert_blocks(
    by_block: Tensor, cumulative: Tensor, row: Tensor, random: Tensor
) -> Tensor:
    cumulative = cumulative[row]
    target = random * cumulative[:, -1]
    block = _invert(cumulative, target)
    before = torch.where(
        block > 0,
        cumulative.gather(1, (block - 1).clamp(min=0)[:, None])[:, 0],
        0.0,
    )
    inside = by_block[row, block].double().cumsum(dim=1)
    token = block * _BLOCK + _invert(inside, target - before)
    return torch.where(cumulative[:, -1].isfinite(), token, _BROKEN)


def _invert(cumulative: Tensor, target: Tensor) -> Tensor:
    """Per row the first index whose cumulative mass exceeds the target; rounding never picks one without mass."""
    index = torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]
    last = (cumulative < cumulative[:, -1:]).sum(dim=1)
    return torch.minimum(index, last)
