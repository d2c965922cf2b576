"""Cache and attention of `sozo.models.shared_prefix`: each prompt once for its slots, their own tokens behind it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import AttentionInterface, DynamicCache
from transformers.cache_utils import Cache, DynamicLayer

from sozo.data.errors import UserError
from sozo.models.model_support import without_adapter

_NAME = "sozo_shared_prefix"


class Prefixes:
    """Keys and values of prompts of any lengths, each filled by its prompt's forward pass, padded to the longest one.

    `lengths` are the prompts' tokens; `padding` says which columns (prompts, 1, 1, longest) are none of a prompt's, and
    is None where all are equally long.
    """

    def __init__(self, filled: Sequence[DynamicCache]) -> None:
        if not all(
            type(layer) is DynamicLayer for cache in filled for layer in cache.layers
        ):
            raise UserError("a layer's cache is more than keys and values")
        sizes = [cache.get_seq_length() for cache in filled]
        by_layer = list(zip(*(cache.layers for cache in filled), strict=True))
        device = by_layer[0][0].keys.device
        self.lengths = torch.tensor(sizes, device=device)
        columns = torch.arange(max(sizes), device=device)
        uneven = min(sizes) < max(sizes)
        self.padding = (
            (columns >= self.lengths[:, None])[:, None, None] if uneven else None
        )
        # What is not written is zero: 0 times NaN is no 0.
        self.layers = [
            [
                torch.cat(
                    [pad(part, (0, 0, 0, max(sizes) - part.shape[2])) for part in parts]
                )
                for parts in (
                    [layer.keys for layer in same],
                    [layer.values for layer in same],
                )
            ]
            for same in by_layer
        ]


class SharedPrefixCache(Cache):
    """Keys and values of prompts, stored once, and of every slot's own tokens behind its prompt (`lengths` of them).

    At first a slot is live for each of `prompts` (numbers of prompts), none with a token of its own, later up to `room`
    slots; an answer may have `most` tokens in the cache.
    """

    def __init__(
        self, prefixes: Prefixes, prompts: Tensor, most: int, *, room: int | None = None
    ) -> None:
        slots = room or len(prompts)
        super().__init__(
            layers=[
                _Layer(self, keys, values, slots) for keys, values in prefixes.layers
            ]
        )
        self.lengths, self.prompts = torch.zeros_like(prompts), prompts
        self.used = self.room = 0
        # What the host must know of `lengths` in each step, so that no step waits for the device.
        self.longest, self._even = 0, True
        self.hidden: Tensor | None = None
        # Of the live ones their numbers, from `begin_step` on
        self.slots = self.lengths
        self.prefixes, self._most, self._stem = prefixes, most, self
        self._seat()

    def branch(self, parents: Tensor) -> "SharedPrefixCache":
        """A cache with a slot for each of `parents`, slots of this one, that begins with its parent's tokens."""
        child = SharedPrefixCache(self.prefixes, self.prompts[parents], self._most)
        child._stem = self
        child._reserve(self.used)
        # Before a cache is branched from, its slots are equally long
        child.longest = self.longest
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
        added = torch.arange(
            live, live + max(0, len(more) - len(free)), device=parents.device
        )
        places = parents.clone()
        places[more] = torch.cat([free, added])[: len(more)]
        self.lengths, self.prompts = (
            pad(part, (0, len(added))) for part in (self.lengths, self.prompts)
        )
        self._copy(self, places[more], parents[more])
        held = self._close(free[len(more) :])
        now = torch.zeros(live + len(added), dtype=torch.long, device=parents.device)
        now[held] = torch.arange(len(held), device=parents.device)
        return now[places]

    def _copy(
        self, source: "SharedPrefixCache", slots: Tensor, parents: Tensor
    ) -> None:
        if not len(slots):
            return  # not even an empty copy: each would be two launches a layer
        self.lengths[slots] = source.lengths[parents]
        self.prompts[slots] = source.prompts[parents]
        used = source.used
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
            self.lengths, self.prompts = self.lengths[:live], self.prompts[:live]
        self._seat()
        return was

    def _seat(self) -> None:
        """Give each live slot a seat in a table (prompts, most slots of a prompt): what shares keys is one product.

        `seats` are the slots' seats and `occupants` the seats' slots, some slot at an empty one. Both are None where
        there is one prompt, whose slots sit in their own order.
        """
        self.seats = self.occupants = None
        if (count := len(self.prefixes.lengths)) > 1 and len(self.prompts):
            taken = torch.zeros_like(self.prefixes.lengths).scatter_add_(
                0, self.prompts, torch.ones_like(self.prompts)
            )
            row, width = self.prompts.argsort(stable=True), int(taken.max())
            prompts = self.prompts[row]
            slots = torch.arange(len(row), device=row.device)
            self.seats = torch.empty_like(row)
            self.seats[row] = (
                prompts * width + slots - (taken.cumsum(0) - taken)[prompts]
            )
            self.occupants = row.new_zeros(count * width)
            self.occupants[self.seats] = slots

    @property
    def positions(self) -> Tensor:
        """Of each live slot the position of its next token."""
        return self.prefixes.lengths[self.prompts] + self.lengths

    def _reserve(self, used: int) -> None:
        self.used = used
        if used > self.room:
            self.room = min(max(2 * self.room, used, 64), self._most)
            for layer in self.layers:
                more = (
                    0,
                    0,
                    0,
                    self.room - layer.keys.shape[2],
                )  # what is not written is zero: 0 times NaN is no 0
                layer.keys = pad(layer.keys, more)
                layer.values = pad(layer.values, more)

    def begin_step(self) -> None:
        """Make room for one more token of every slot and note which of the tokens stored are whose."""
        self._reserve(self.longest + 1)
        self.slots = torch.arange(len(self.lengths), device=self.lengths.device)
        # Where all are equally long, nothing is hidden from anybody.
        self.hidden = None
        if not self._even:
            columns = torch.arange(self.used, device=self.lengths.device)
            self.hidden = (columns > self.lengths[:, None])[:, None, None]

    def end_step(self) -> None:
        """Every slot has one more token."""
        self.lengths += 1
        self.longest += 1

    def replace(
        self, rows: Tensor, ended: Tensor, started: Tensor, parents: Tensor
    ) -> Tensor:
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
    """One layer: keys and values of prompts (prompts, heads, longest, size) and of slots (slots, heads, room, size)."""

    def __init__(
        self, cache: SharedPrefixCache, keys: Tensor, values: Tensor, slots: int
    ) -> None:
        super().__init__()
        self.cache, self.prefix_keys, self.prefix_values = cache, keys, values
        self.keys, self.values = (
            part.new_zeros((slots, part.shape[1], 0, part.shape[3]))
            for part in (keys, values)
        )
        self.is_initialized = True

    def update(
        self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Store one token per slot. The attention function is handed this layer in place of keys and values."""
        slots, lengths = self.cache.slots, self.cache.lengths
        # Under autocast a prompt's values are stored as wide as its keys, and come here narrower.
        self.keys[slots, :, lengths] = key_states[:, :, 0].to(self.keys.dtype)
        self.values[slots, :, lengths] = value_states[:, :, 0].to(self.values.dtype)
        return self, self

    def attend(self, query: Tensor, scaling: float | None) -> Tensor:
        """Attention of one query per slot (live, query heads, 1, size) to its prompt and the slot's own tokens."""
        live, query_heads, _, size = query.shape
        heads, length = self.prefix_keys.shape[1:3]
        group, used = query_heads // heads, self.cache.used
        keys, values = self.keys[:live, :, :used], self.values[:live, :, :used]
        query = (query * (size**-0.5 if scaling is None else scaling)).view(
            live, heads, group, size
        )
        # One matrix product per head for all slots of a prompt: this is where the shared prompt pays.
        to_prefix = self._by_prompt(query) @ self.prefix_keys.transpose(2, 3)
        if self.cache.prefixes.padding is not None:
            to_prefix.masked_fill_(self.cache.prefixes.padding, -torch.inf)
        # Twice as fast as query @ keys on a CPU
        to_own = (keys @ query.transpose(2, 3)).transpose(2, 3)
        if self.cache.hidden is not None:
            to_own = to_own.masked_fill(self.cache.hidden, -torch.inf)
        logits = torch.cat([self._by_slot(to_prefix, group), to_own], dim=-1)
        weights = logits.softmax(dim=-1, dtype=torch.float32).to(query.dtype)
        output = self._by_slot(
            self._by_prompt(weights[..., :length]) @ self.prefix_values, group
        )
        output = output + weights[..., length:] @ values
        return output.reshape(live, 1, query_heads, -1)

    def _by_prompt(self, tensor: Tensor) -> Tensor:
        """(live, heads, group, columns) -> (prompts, heads, slots of a prompt * group, columns)."""
        seated = (
            tensor if self.cache.occupants is None else tensor[self.cache.occupants]
        )
        return (
            seated.unflatten(0, (len(self.prefix_keys), -1))
            .transpose(1, 2)
            .flatten(2, 3)
        )

    def _by_slot(self, tensor: Tensor, group: int) -> Tensor:
        """(prompts, heads, slots of a prompt * group, columns) -> (live, heads, group, columns)."""
        seated = tensor.unflatten(2, (-1, group)).transpose(1, 2).flatten(0, 1)
        return seated if self.cache.seats is None else seated[self.cache.seats]

    def get_seq_length(self) -> int:
        """Longest length in the cache."""
        return self.prefix_keys.shape[2] + self.cache.used


def _attend(
    module: Any,
    query: Tensor,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    **kw: Any,
) -> tuple[Tensor, None]:
    """transformers' attention function for a `SharedPrefixCache`: `key` is one of its layers."""
    for name in ("softcap", "s_aux", "position_bias"):
        if kw.get(name) is not None:
            raise UserError(
                f"{type(module).__name__} needs {name}, which a shared prompt does not have"
            )
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
