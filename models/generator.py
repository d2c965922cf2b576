"""What a generator is: answers as a function of prompts, seed and batch index."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Completion
from sozo.tasks.task import Answer, Item


class Generator(Protocol):
    """Anything that writes answers."""

    name: str  # the answers' source

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None where there is none."""

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One answer for each of `prompts`, equal or not: the same for the same arguments, in any process."""

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: how the texts came about."""


def entropy(seed: int, batch: int) -> list[int]:
    """What seeds batch number `batch`, for `numpy.random.SeedSequence`."""
    if seed < 0 or batch < 0:
        raise UserError(
            f"seed and batch must not be negative, but are {seed} and {batch}"
        )
    return [seed, batch]


def request_seeds(n: int, seed: int, batch: int) -> list[int]:
    """One seed for each row of a batch, for engines that take one per request. Any JSON reader keeps its 53 bits.

    >>> request_seeds(3, seed=0, batch=1)[:2] == request_seeds(2, seed=0, batch=1)
    True
    """
    state = np.random.SeedSequence(entropy(seed, batch)).generate_state(n, np.uint64)
    return [int(value) >> 11 for value in state]


def answer_items(
    generator: Generator,
    items: Sequence[Item],
    seed: int,
    batch: int,
    ids: Sequence[str] | None = None,
) -> list[Answer]:
    """The generator's answer to each of `items`, which are batch number `batch`; `ids` are names for the answers."""
    completions = generator.answer([item.prompt for item in items], seed, batch)
    names = ids or [str(number) for number in range(len(items))]
    return [
        Answer(
            name,
            item.id,
            c.text,
            generator.name,
            seed,
            generator.temperature,
            c.finish_reason,
        )
        for name, item, c in zip(names, items, completions, strict=True)
    ]
