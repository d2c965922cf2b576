"""FSDP, where accelerate starts it: what it does not go with is said before a model is loaded."""

import os
from typing import Any

from accelerate.utils import str_to_bool

from sozo.data.errors import UserError


def check_fsdp(script: Any, training: Any) -> None:
    """Refuse what does not work under FSDP; without it, nothing."""
    if not (str_to_bool(os.environ.get("ACCELERATE_USE_FSDP", "false")) or training.fsdp):
        return
    if training.use_cpu:
        raise UserError(
            "accelerate has no FSDP on a CPU and would train without; take recipes/accelerate/cpu2_zero3.yaml, or GPUs"
        )
    if script.evaluate:
        raise UserError("evaluate does not work under FSDP; leave it out, or take DeepSpeed (zero3.yaml)")
    if getattr(script, "sampler", None) == "shared_prefix":
        raise UserError(
            "sampler shared_prefix does not work under FSDP; set sampler: trl, or take DeepSpeed (zero3.yaml)"
        )
