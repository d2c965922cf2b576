"""A trial of a way that spares work, before its numbers are trusted: does it give what the plain way gives?"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sozo.models.traits import in_eval_mode, without_adapter


@torch.no_grad()  # type: ignore[untyped-decorator]
def why_not_equal(model: Any, plain: Callable[[], Tensor], spared: Callable[[], Tensor]) -> str | None:
    """Why `spared` cannot stand for `plain`, or None if it can; both give logits (..., vocabulary) of the same tokens.

    They are equal where the distributions differ by less than 1% in total variation on average (10% in half precision,
    whose rounding differs by more than 1%). Whatever `spared` raises is a reason too, but no lack of memory.
    """
    with in_eval_mode(model):
        expected = plain().float().softmax(-1)
        if not torch.isfinite(expected).all():
            return None  # broken weights are told of elsewhere
        try:
            result = spared().float().softmax(-1)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # whatever an architecture's own code runs into
            return f"{type(error).__name__} in {type(without_adapter(model)).__name__}: {' '.join(str(error).split())}"
    half = torch.is_autocast_enabled(expected.device.type) or next(model.parameters()).dtype != torch.float32
    distance = float((result - expected).abs().sum(-1).mean() / 2)
    if distance < (0.1 if half else 0.01):  # never true of NaN
        return None
    return f"in a trial {type(without_adapter(model)).__name__} gave other numbers (total variation {distance:.3f})"
