"""What a device can do, and what samplers make of it: is it the model's distribution, and how many tokens a second?"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpu.shapes import Shape
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.models.processes import freed_memory_kept
from sozo.training.estimates import Architecture

_ROUNDS, _PROMPTS = 5, 8
_MANY = f"shared_prefix, {_PROMPTS} prompts"


@dataclass(frozen=True, slots=True)
class Roofline:
    """Measured speeds of a device."""

    operations: float  # floating-point operations a second, of a large matrix product
    bytes: float  # a second, read and written, of a large copy


def measure_device(device: str, dtype: str) -> Roofline:
    """The device's speeds, medians of five rounds. Something else that runs beside it shows in them."""
    import torch

    kind, cuda = getattr(torch, dtype), device != "cpu"
    n = 8192 if cuda else 512
    a, b = (torch.randn(n, n, device=device).to(kind) for _ in range(2))
    source = torch.zeros(
        2**30 if cuda else 2**26, dtype=torch.int32, device=device
    )  # 4 GiB, 256 MiB
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
    model: Architecture,
    roofline: Roofline,
    *,
    rows: int,
    prompt: int,
    answer: int,
    element: int,
) -> float:
    """Tokens a second that no sampler can exceed: `rows` answers of `answer` tokens behind one shared prompt.

    A step reads all weights but the embeddings once, the prompt's keys and values once and each row's own, and
    multiplies every weight with every row; what takes longer decides. `element` is the bytes of a number.

    >>> small = Architecture(1000, 4, 2, 2, 1, 8, 10)  # 960 weights in products; a cached token is 16 bytes
    >>> round(best_sampling(small, Roofline(1e9, 1e9), rows=1, prompt=3, answer=2, element=2))
    258264
    """
    weights = model.parameters - model.vocabulary * model.hidden_size
    keys = 2 * model.layers * model.widths[2] * element  # and values, of a token
    cached = keys * (prompt + rows * answer // 2)
    step = max(
        (element * weights + cached) / roofline.bytes,
        2 * weights * rows / roofline.operations,
    )
    filling = max(
        element * weights / roofline.bytes, 2 * weights * prompt / roofline.operations
    )
    return rows * answer / (filling + (answer - 1) * step)


def check_samplers(
    shape: Shape, folder: Path, dtype: str, device: str, roofline: Roofline
) -> dict[str, Any]:
    """Of each sampler its speed, and how far its tokens are from the model's distribution (`calibration`)."""
    import torch

    from sozo.models.shared_prefix import sample_each, why_not_sampled
    from sozo.models.weights import load_model

    model, tokenizer = load_model(str(folder), dtype=dtype)
    model = model.to(device).eval()
    ids, rows, answer = (
        encode_text(tokenizer, prompt("dat")),
        4 * shape.rows,
        2 * shape.answer,
    )

    several = [
        ids + ids[: 1 + k] * (1 + k) for k in range(_PROMPTS)
    ]  # of unequal lengths

    def asked(name: str, rows: int) -> list[list[int]]:
        return [
            several[k * _PROMPTS // rows] if name == _MANY else ids for k in range(rows)
        ]

    def shared(
        number: int, rows: int, name: str = "shared_prefix"
    ) -> Sequence[Sequence[int]]:
        uniforms = np.random.default_rng([number, rows]).random((rows, answer))
        with freed_memory_kept():
            return sample_each(model, asked(name, rows), uniforms, ends=[], slots=rows)

    def generated(number: int, rows: int) -> Sequence[Sequence[int]]:
        torch.manual_seed(number)
        return generate(model, ids, rows, answer)

    samplers: dict[str, Callable[[int, int], Sequence[Sequence[int]]]] = {
        "model.generate": generated
    }
    reason = why_not_sampled(model, len(ids) + answer)
    if reason is None:
        samplers = {
            "shared_prefix": shared,
            _MANY: partial(shared, name=_MANY),
            **samplers,
        }
    options: dict[str, Any] = {"rows": rows, "prompt": len(ids), "answer": answer}
    best = best_sampling(
        shape.architecture, roofline, **options, element=model.dtype.itemsize
    )
    result: dict[str, Any] = {
        "options": options,
        "best": best,
        "refused": reason,
        "samplers": {},
    }
    for name, sample in samplers.items():
        sample(0, 2)
        took, tokens = seconds(lambda sample=sample: sample(1, rows), device)  # type: ignore[misc]
        speed = sum(map(len, tokens)) / took
        deviation = calibration(model, asked(name, rows), tokens)
        result["samplers"][name] = {"speed": speed, "deviation": deviation}
    return result


def generate(model: Any, ids: list[int], rows: int, answer: int) -> list[list[int]]:
    """Tokens by transformers' `model.generate` with the prompt repeated, nothing truncated and nothing ended."""
    import torch
    from transformers import GenerationConfig

    prompts = torch.tensor([ids], device=model.device).expand(rows, -1)
    whole = {
        "do_sample": True,
        "top_k": 0,
        "top_p": 1.0,
        "max_new_tokens": answer,
        "pad_token_id": 0,
    }
    before, model.generation_config = model.generation_config, GenerationConfig(**whole)
    try:
        with torch.no_grad():
            output = model.generate(
                input_ids=prompts, attention_mask=torch.ones_like(prompts)
            )
    finally:
        model.generation_config = before
    return output[:, len(ids) :].tolist()


def calibration(
    model: Any, prompts: Sequence[list[int]], tokens: Sequence[Sequence[int]]
) -> float:
    """How far the tokens' mean log-probability is from the negative mean entropy, in standard errors.

    Under the plain forward pass. Tokens that come from the model's distribution give a standard normal number, whatever
    the weights; a sampler that attends wrongly, or truncates, does not.
    """
    import torch

    total = variance = 0.0
    for ids, row in zip(prompts, tokens, strict=True):
        rows = torch.tensor([[*ids, *row]], device=model.device)
        with torch.no_grad():
            logits = model(
                input_ids=rows, use_cache=False, logits_to_keep=len(row) + 1
            ).logits[0, :-1]
        logs = logits.float().log_softmax(-1)
        chances = logs.exp()
        entropy = -(chances * logs).sum(-1)
        chosen = logs.gather(1, rows[0, len(ids) :, None])[:, 0]
        total += float((chosen + entropy).double().sum())
        variance += float(
            (chances * (logs + entropy[:, None]) ** 2).sum(-1).double().sum()
        )
    return total / variance**0.5
