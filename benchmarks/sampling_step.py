"""What a token of the shared-prefix sampler asks of a device: kernel launches, and waits of the host for the device.

    python benchmarks/sampling_step.py
    python benchmarks/sampling_step.py --layers 32 --check_every 4
    python benchmarks/sampling_step.py --prompts 8

Counted on a CPU among PyTorch's operations; no GPU is needed, and none is timed. A model of Llama's form with random
weights stands for any width: the count depends on the layers alone. An operation that is no view counts as one launch
(some take more); a wait is an operation whose result, or its shape, the host must read: `item`, `nonzero`, `unique`,
a mask as an index. Counts are per decoded step: what a run of twice as many steps has more. With --prompts the
answers are shared out among as many prompts of different lengths.
"""

import argparse
from collections import Counter
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import LlamaConfig, LlamaForCausalLM

from sozo.models import shared_prefix
from sozo.models.shared_prefix import sample_each

WAITS = (
    "_local_scalar_dense",
    "nonzero",
    "unique",
    "is_nonzero",
    "equal",
    "masked_select",
)
# They make no kernel run: a shape, an alias, memory that nobody has written to.
FREE = (
    "detach",
    "empty",
    "lift_fresh",
    "new_empty",
    "empty_like",
    "alias",
    "_unsafe_view",
)


class Counted(TorchDispatchMode):
    """Counts what runs while it lasts."""

    def __init__(self) -> None:
        super().__init__()
        self.launches: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if func.is_view or name in FREE:
            return func(*args, **(kwargs or {}))
        masks = name.startswith("index") and any(
            getattr(index, "dtype", None) == torch.bool
            for index in (args[1] if isinstance(args[1], list) else ())
        )
        if masks or name.startswith(WAITS):
            self.waits["a mask as an index" if masks else name] += 1
        if name != "_local_scalar_dense":
            self.launches[name] += 1
        return func(*args, **(kwargs or {}))


def count(
    model: Any,
    asked: list[list[int]],
    most: int,
    options: dict[str, Any],
    ends: list[int],
) -> tuple[Counted, int]:
    """What answers of up to `most` tokens to `asked` take, and how many times the model was called for them."""
    steps = 0

    def step(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        return inner(*args)

    def tolist(
        tensor: torch.Tensor,
    ) -> Any:  # on a CPU it is no operation, elsewhere a copy to the host
        counted.waits["tolist"] += 1
        return plainly(tensor)

    inner, shared_prefix._step = shared_prefix._step, step
    plainly, torch.Tensor.tolist = torch.Tensor.tolist, tolist  # type: ignore[method-assign]
    try:
        with Counted() as counted:
            sample_each(
                model,
                asked,
                np.random.default_rng(0).random((len(asked), most)),
                ends=ends,
                **options,
            )
    finally:
        shared_prefix._step = inner
        torch.Tensor.tolist = plainly  # type: ignore[method-assign]
    return counted, steps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--layers", type=int, default=32, help="of the model; an 8B one has 32"
    )
    parser.add_argument(
        "--prompts", type=int, default=1, help="of different lengths; at most 32"
    )
    parser.add_argument(
        "--check_every", type=int, help="tokens between two looks at what has ended"
    )
    parser.add_argument(
        "--names", action="store_true", help="also what the launches and waits are"
    )
    args = parser.parse_args()
    torch.manual_seed(0)
    shape = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    config = LlamaConfig(
        vocab_size=2048, num_hidden_layers=args.layers, initializer_range=0.3, **shape
    )
    model = LlamaForCausalLM(config).eval()
    options = {"check_every": args.check_every} if args.check_every else {}
    prompts = [[5 + k, 9, 3, 7] * (k + 1) for k in range(args.prompts)]
    count(
        model, prompts[:1] * 2, 2, {}, []
    )  # the trial of the model, which is made once
    # Two tokens are enough for all histories to differ; nothing ends in the first case, about every 40th token does
    # in the second, where three in four answers wait for a slot.
    cases = [
        ("all in slots, none ends", 32, 32, []),
        ("some end, others wait", 32, 128, list(range(51))),
    ]
    for name, slots, n, ends in cases:
        asked = [prompts[k * args.prompts // n] for k in range(n)]
        short, few = count(model, asked, 33, {"slots": slots, **options}, ends)
        long, many = count(model, asked, 65, {"slots": slots, **options}, ends)
        steps = many - few
        launches, waits = (
            {each: (after[each] - before[each]) / steps for each in after}
            for before, after in (
                (short.launches, long.launches),
                (short.waits, long.waits),
            )
        )
        print(
            f"{name}: {sum(launches.values()):.0f} launches and {sum(waits.values()):.2f} waits a step"
        )
        for each, times in [*launches.items(), *waits.items()] if args.names else []:
            print(f"  {each}: {times:.2f}")


if __name__ == "__main__":
    main()
