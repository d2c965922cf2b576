"""What this very device can do: matrix products and copies, measured; and what sampling can be at the best."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from study.estimates import Architecture

_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Roofline:
    """Measured speeds of a device."""

    operations: float  # floating-point operations a second, of a large matrix product
    bytes: float  # a second, read and written, of a large copy


def measure(device: str, dtype: str) -> Roofline:
    """The device's speeds, medians of five rounds. Something else that runs beside it shows in them."""
    import torch

    kind, cuda = getattr(torch, dtype), device != "cpu"
    n = 8192 if cuda else 512
    a, b = (torch.randn(n, n, device=device).to(kind) for _ in range(2))
    source = torch.zeros(2**30 if cuda else 2**26, dtype=torch.int32, device=device)  # 4 GiB, 256 MiB
    target = torch.empty_like(source)
    product = _median(lambda: torch.mm(a, b), device)
    copy = _median(lambda: target.copy_(source), device)
    return Roofline(2 * n**3 / product, 2 * source.numel() * 4 / copy)


def seconds(call: Callable[[], Any], device: str) -> tuple[float, Any]:
    """How long a call takes until the device has done it, and what it returns."""
    import torch

    wait = torch.cuda.synchronize if device != "cpu" else lambda: None
    wait()
    start = time.perf_counter()
    result = call()
    wait()
    return time.perf_counter() - start, result


def _median(call: Callable[[], Any], device: str) -> float:
    call()
    return statistics.median(seconds(call, device)[0] for _ in range(_ROUNDS))


def best_sampling(
    model: Architecture, roofline: Roofline, *, rows: int, prompt: int, response: int, element: int
) -> float:
    """Tokens a second that no sampler can exceed: `rows` responses of `response` tokens behind one shared prompt.

    A step reads all weights but the embeddings once, the prompt's keys and values once and each row's own, and
    multiplies every weight with every row; what takes longer decides. `element` is the bytes of a number.

    >>> small = Architecture(1000, 4, 2, 2, 1, 8, 10)  # 960 weights in products; a cached token is 16 bytes
    >>> round(best_sampling(small, Roofline(1e9, 1e9), rows=1, prompt=3, response=2, element=2))
    258264
    """
    weights = model.parameters - model.vocabulary * model.hidden_size
    cached = model.kv_cache_bytes(prompt + rows * response // 2, element)
    step = max((element * weights + cached) / roofline.bytes, 2 * weights * rows / roofline.operations)
    filling = max(element * weights / roofline.bytes, 2 * weights * prompt / roofline.operations)
    return rows * response / (filling + (response - 1) * step)
