"""What a generator is: completions as a function of prompts, seed and batch index, so that runs can be resumed."""

from collections.abc import Sequence
from typing import Any, Protocol

from data.errors import UserError
from data.schema import Completion


class Generator(Protocol):
    """Anything that writes responses."""

    name: str  # the responses' source

    @property
    def temperature(self) -> float | None:
        """Sampling temperature; None where there is none."""

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One completion for each of `prompts`, equal or not: the same for the same arguments, in any process."""

    def describe(self) -> dict[str, Any]:
        """Settings for the run's record: how the texts came about."""


def entropy(seed: int, batch: int) -> list[int]:
    """What seeds batch number `batch`, for `numpy.random.SeedSequence`."""
    if seed < 0 or batch < 0:
        raise UserError(f"seed and batch must not be negative, but are {seed} and {batch}")
    return [seed, batch]


def request_seeds(n: int, seed: int, batch: int) -> list[int]:
    """One seed for each row of a batch, for engines that take one per request.

    53 bits: any JSON reader keeps them exactly, and 131,072 of them collide with a chance of one in a million.

    >>> request_seeds(3, seed=0, batch=1)[:2] == request_seeds(2, seed=0, batch=1)
    True
    """
    import numpy as np

    state = np.random.SeedSequence(entropy(seed, batch)).generate_state(n, np.uint64)
    return [int(value) >> 11 for value in state]
