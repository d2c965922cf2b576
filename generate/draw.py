"""One token per response from the model's own distribution: one uniform number each, nothing sorted or truncated."""

from __future__ import annotations

import torch

_BLOCK = 512


def draw(
    logits: torch.Tensor, uniforms: torch.Tensor, temperature: float = 1.0, which: torch.Tensor | None = None
) -> torch.Tensor:
    """Tokens from softmax(logits / temperature), exact to float32 rounding, by inverting the CDF.

    The first search is among the masses of blocks of 512 tokens, the second among the tokens of the block found.

    Args:
        logits: Shape (rows, vocabulary), any floating dtype.
        uniforms: Shape (draws,), in [0, 1), float64.
        temperature: Above 0.
        which: The row that each draw is from, shape (draws,); draw k is from row k if not given.

    Returns:
        Tokens, shape (draws,).

    Raises:
        FloatingPointError: A row's logits are not finite (NaN, infinity, or all minus infinity).

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
        if not torch.isfinite(cumulative[:, -1]).all():
            raise FloatingPointError("the model's logits are not finite: its weights are broken or overflow this dtype")
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
        tokens[draws] = block * _BLOCK + _invert(inside, target - before)
    return tokens


def _invert(cumulative: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Per row the first index whose cumulative mass exceeds the target; rounding never picks one without mass."""
    index = torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]
    last = (cumulative < cumulative[:, -1:]).sum(dim=1)
    return torch.minimum(index, last)
