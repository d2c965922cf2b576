"""What a generator is: answers as a function of prompts, seed and batch index."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sozo.data.errors import UserError
from sozo.data.schema import Completion
from sozo.scoring.final_text import NOT_AT_HAND
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
    """The generator's answer to each of `items`, which are batch number `batch`; `ids` are names for the answers.

    Items that are read (`Item.read`) are not asked.
    """
    prompts = [item.prompt for item in items if not item.read]
    answered = iter(generator.answer(prompts, seed, batch) if prompts else ())
    texts = [item.prompt for item in items if item.read]
    read = iter(read_texts(generator, texts) if texts else ())
    completions = [next(read if item.read else answered) for item in items]
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


def read_texts(generator: Generator, texts: Sequence[str]) -> list[Completion]:
    """Of each text its bits per character, as a completion that holds the number; an empty one where none is known.

    Known to a generator with a method `bits_per_character(texts)`, which gives a number or None for each: a model in
    transformers. A server and vLLM's engine have none, and that is no failure: nothing was asked of them.
    """
    read = getattr(generator, "bits_per_character", None)
    values = read(texts) if read else [None] * len(texts)
    return [
        Completion("", NOT_AT_HAND)
        if value is None
        else Completion(repr(float(value)), "stop")
        for value in values
    ]
