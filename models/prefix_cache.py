"""Cache and attention of `sozo.models.shared_prefix`: the prompt once for all slots, their own tokens behind it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import AttentionInterface, DynamicCache
from transformers.cache_utils import Cache, DynamicLayer

from sozo.data.errors import UserError
from sozo.models.traits import without_adapter

_NAME = "sozo_shared_prefix"


class SharedPrefixCache(Cache):
    """Keys and values of one prompt, stored once, and of every slot's own tokens behind it (`lengths` of them).

    The prompt's forward pass has filled `prefix`. At first `slots` are live, none with a token of its own, later up to
    `room`; a response may have `most` tokens in the cache.
    """

    def __init__(self, prefix: DynamicCache, slots: int, most: int, *, room: int | None = None) -> None:
        if not all(type(layer) is DynamicLayer for layer in prefix.layers):
            raise UserError("a layer's cache is more than keys and values")
        super().__init__(layers=[_Layer(self, layer.keys, layer.values, room or slots) for layer in prefix.layers])
        self.lengths = torch.zeros(slots, dtype=torch.long, device=prefix.layers[0].keys.device)
        self.used = self.room = 0
        # What the host must know of `lengths` in each step, so that no step waits for the device.
        self.longest, self._even = 0, True
        self.hidden: Tensor | None = None
        self.slots = self.lengths  # of the live ones their numbers, from `begin_step` on
        self._prefix, self._most, self._stem = prefix, most, self

    def branch(self, parents: Tensor) -> "SharedPrefixCache":
        """A cache with a slot for each of `parents`, slots of this one, that begins with its parent's tokens."""
        child = SharedPrefixCache(self._prefix, len(parents), self._most)
        child._stem = self
        child._reserve(self.used)
        child.longest = self.longest  # before a cache is branched from, its slots are equally long
        child._copy(self, torch.arange(len(parents), device=parents.device), parents)
        return child

    def follow(self, parents: Tensor) -> Tensor:
        """Let the live slots be one for each of `parents`, slots of this cache, that begins with its parent's tokens.

        A parent's first follower stays in its slot and nothing is copied; slots that nobody follows are filled. The
        `parents` ascend and are no more than there is room for. Returns the slot of each follower.
        """
        live = len(self.lengths)
        first = torch.ones_like(parents, dtype=torch.bool)
        first[1:] = parents[1:] != parents[:-1]
        childless = torch.ones(live, dtype=torch.bool, device=parents.device)
        childless[parents] = False
        free = torch.nonzero(childless)[:, 0]
        more = torch.nonzero(~first)[:, 0]
        added = torch.arange(live, live + max(0, len(more) - len(free)), device=parents.device)
        places = parents.clone()
        places[more] = torch.cat([free, added])[: len(more)]
        self.lengths = torch.cat([self.lengths, self.lengths.new_zeros(len(added))])
        self._copy(self, places[more], parents[more])
        held = self._close(free[len(more) :])
        now = torch.zeros(live + len(added), dtype=torch.long, device=parents.device)
        now[held] = torch.arange(len(held), device=parents.device)
        return now[places]

    def _copy(self, source: "SharedPrefixCache", slots: Tensor, parents: Tensor) -> None:
        if not len(slots):
            return  # not even an empty copy: each would be two launches a layer
        self.lengths[slots], used = source.lengths[parents], source.used
        for layer, other in zip(self.layers, source.layers, strict=True):
            layer.keys[slots, :, :used] = other.keys[parents, :, :used]
            layer.values[slots, :, :used] = other.values[parents, :, :used]

    def _close(self, free: Tensor) -> Tensor:
        """Fill the slots `free` with the last live ones; returns which slot each live one was before."""
        live = len(self.lengths) - len(free)
        was = torch.arange(live, device=free.device)
        if len(free):
            keep = torch.ones(len(self.lengths), dtype=torch.bool, device=free.device)
            keep[free] = False
            gaps, last = free[free < live], torch.nonzero(keep[live:])[:, 0] + live
            self._copy(self, gaps, last)
            was[gaps] = last
            self.lengths = self.lengths[:live]
        return was

    def _reserve(self, used: int) -> None:
        self.used = used
        if used > self.room:
            self.room = min(max(2 * self.room, used, 64), self._most)
            for layer in self.layers:
                more = (0, 0, 0, self.room - layer.keys.shape[2])  # what is not written is zero: 0 times NaN is no 0
                layer.keys, layer.values = pad(layer.keys, more), pad(layer.values, more)

    def begin_step(self) -> None:
        """Make room for one more token of every slot and note which of the tokens stored are whose."""
        self._reserve(self.longest + 1)
        self.slots = torch.arange(len(self.lengths), device=self.lengths.device)
        self.hidden = None  # Where all are equally long, nothing is hidden from anybody.
        if not self._even:
            columns = torch.arange(self.used, device=self.lengths.device)
            self.hidden = (columns > self.lengths[:, None])[:, None, None]

    def end_step(self) -> None:
        """Every slot has one more token."""
        self.lengths += 1
        self.longest += 1

    def replace(self, rows: Tensor, ended: Tensor, started: Tensor, parents: Tensor) -> Tensor:
        """Give the slots of ended rows to `started`, close the gaps that are left, and return the rows now in slots.

        `rows` are those of the live slots and `ended` the slots that have ended, ascending; at most as many are
        `started`, each with the tokens of the slot `parents` in the cache that this one branched from.
        """
        taken, free = ended[: len(started)], ended[len(started) :]
        rows = rows.clone()
        rows[taken] = started
        self._copy(self._stem, taken, parents)
        rows = rows[self._close(free)]
        if len(rows):
            shortest, self.longest = torch.stack(self.lengths.aminmax()).tolist()
            self._even = shortest == self.longest
        return rows


class _Layer(DynamicLayer):
    """One layer: the prompt's keys and values (heads, prompt, size), and (slots, heads, room, size) behind it."""

    def __init__(self, cache: SharedPrefixCache, keys: Tensor, values: Tensor, slots: int) -> None:
        super().__init__()
        self.cache, self.prefix_keys, self.prefix_values = cache, keys[0], values[0]
        self.keys, self.values = (part.new_zeros((slots, part.shape[1], 0, part.shape[3])) for part in (keys, values))
        self.is_initialized = True

    def update(self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Store one token per slot. The attention function is handed this layer in place of keys and values."""
        slots, lengths = self.cache.slots, self.cache.lengths
        self.keys[slots, :, lengths] = key_states[:, :, 0]
        self.values[slots, :, lengths] = value_states[:, :, 0]
        return self, self

    def attend(self, query: Tensor, scaling: float | None) -> Tensor:
        """Attention of one query per slot (live, query heads, 1, size) to the prompt and the slot's own tokens."""
        live, query_heads, _, size = query.shape
        heads, length = self.prefix_keys.shape[:2]
        group, used = query_heads // heads, self.cache.used
        keys, values = self.keys[:live, :, :used], self.values[:live, :, :used]
        query = (query * (size**-0.5 if scaling is None else scaling)).view(live, heads, group, size)
        # One matrix product per head for all slots: this is where the shared prompt pays.
        together = query.transpose(0, 1).reshape(heads, live * group, size)
        to_prefix = torch.bmm(together, self.prefix_keys.transpose(1, 2)).view(heads, live, group, length)
        to_own = (keys @ query.transpose(2, 3)).transpose(2, 3)  # twice as fast as query @ keys on a CPU
        if self.cache.hidden is not None:
            to_own = to_own.masked_fill(self.cache.hidden, -torch.inf)
        logits = torch.cat([to_prefix.transpose(0, 1), to_own], dim=-1)
        weights = logits.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
        from_prefix = weights[..., :length].transpose(0, 1).reshape(heads, live * group, length)
        output = torch.bmm(from_prefix, self.prefix_values).view(heads, live, group, -1).transpose(0, 1)
        output = output + weights[..., length:] @ values
        return output.reshape(live, 1, query_heads, -1)

    def get_seq_length(self) -> int:
        """Longest length in the cache."""
        return self.prefix_keys.shape[1] + self.cache.used


def _attend(
    module: Any, query: Tensor, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **kw: Any
) -> tuple[Tensor, None]:
    """transformers' attention function for a `SharedPrefixCache`: `key` is one of its layers."""
    for name in ("softcap", "s_aux", "position_bias"):
        if kw.get(name) is not None:
            raise UserError(f"{type(module).__name__} needs {name}, which a shared prompt does not have")
    return key.attend(query, scaling), None


# Without a mask function of this name transformers makes no mask.
AttentionInterface.register(_NAME, _attend)


@contextmanager
def shared_attention(model: Any) -> Iterator[None]:
    """The model's layers call `_attend` while this lasts."""
    config = without_adapter(model).config.get_text_config()
    before = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = before
