"""GRPO of the tiny model with vLLM beside the trainer, in a process of its own: python grpo_run.py OUTPUT STALE_FROM

The engine for CPUs packs linear weights as it loads them and throws the originals away, so that no trainer could send
new ones: here, and nowhere in sozo, it multiplies by the weights as they are.
"""

import os
import sys
from functools import partial
from itertools import count
from pathlib import Path

os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "ERROR"}


def unpacked(layer, remove_weight):
    import torch

    layer.cpu_linear = torch.nn.functional.linear


def main(output, stale_from):
    """Twenty steps, after each of which the canary looks; from generation `stale_from` on the engine gets nothing."""
    import vllm
    from vllm.model_executor.layers import utils

    vllm.LLM, utils.dispatch_cpu_unquantized_gemm = (
        partial(vllm.LLM, enforce_eager=True),
        unpacked,
    )
    from trl.generation.vllm_generation import VLLMGeneration

    from sozo.data.errors import one_line_errors
    from sozo.training.config import parse
    from sozo.training.methods import recipe

    sync, calls = VLLMGeneration.sync_weights, count(1)
    VLLMGeneration.sync_weights = lambda self: (
        sync(self) if next(calls) < int(stale_from) else None
    )
    train, own, settings = recipe("grpo")
    words = {
        "config": Path(__file__).parents[2] / "recipes/tiny/grpo.yaml",
        "output_dir": output,
        "report_to": "none",
    }
    words |= {
        "sampler": "vllm",
        "vllm_mode": "colocate",
        "max_steps": 20,
        "canary_steps": 1,
        "logging_steps": 1,
    }
    words |= {
        "completions_per_step": 16,
        "per_device_train_batch_size": 16,
        "num_generations": 8,
    }
    words |= {"warmup_steps": 0, "save_steps": 5}
    # Each step moves the model by more than rounding does: the canary does not look at less.
    words |= {
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "lr_scheduler_kwargs": "{}",
    }
    with one_line_errors("grpo"):
        train(
            *parse(
                own,
                settings,
                [
                    part
                    for name, value in words.items()
                    for part in (f"--{name}", str(value))
                ],
            )
        )
    sys.stdout.write(f"weights sent {next(calls) - 1} times\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
