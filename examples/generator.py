"""A generator of one's own: the best of several answers of another one. Training has to beat this to be worth it."""

from collections.abc import Callable, Sequence
from typing import Any

from sozo.data.schema import Completion
from sozo.models.generator import Generator


class BestOf:
    """Asks another generator n times and keeps the answer with the highest score.

    Args:
        generator: Who writes.
        score: Texts -> scores; None for an unusable one.
        n: Answers to choose from.
    """

    def __init__(
        self,
        generator: Generator,
        score: Callable[[Sequence[str]], Sequence[float | None]],
        n: int,
    ) -> None:
        self.name, self.temperature = (
            f"best of {n} of {generator.name}",
            generator.temperature,
        )
        self._generator, self._score, self._n = generator, score, n

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One answer for each prompt: the same for the same arguments, in any process, so that runs can resume."""
        repeated = [prompt for prompt in prompts for _ in range(self._n)]
        completions = self._generator.answer(repeated, seed, batch)
        scores = [
            -1.0 if score is None else score
            for score in self._score([c.text for c in completions])
        ]
        groups = range(0, len(repeated), self._n)
        return [
            completions[max(range(k, k + self._n), key=scores.__getitem__)]
            for k in groups
        ]

    def describe(self) -> dict[str, Any]:
        """What a record of the results must hold to say how the texts came about."""
        return {"generator": "best_of", "n": self._n, "of": self._generator.describe()}
