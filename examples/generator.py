"""Generators of one's own: who draws lines of a file, and the best of several answers of another generator."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.schema import Completion
from sozo.models.generator import Generator, entropy
from sozo.models.generators import ModelWriter


class Lines:
    """An answer is a line of the file that `--model` names. A name in `sozo.generators` makes it a `--backend`."""

    temperature = None  # whatever was asked: there is none here

    def __init__(self, writer: ModelWriter) -> None:
        self.name = writer.source
        self._lines = Path(writer.model).read_text("utf-8").splitlines()

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One completion for each prompt: the same for the same arguments, in any process, so that runs can resume."""
        rng = np.random.default_rng(entropy(seed, batch))
        drawn = rng.integers(len(self._lines), size=len(prompts))
        return [Completion(self._lines[k], "stop") for k in drawn]

    def describe(self) -> dict[str, Any]:
        """What a record of the results must hold to say how the texts came about."""
        content = "\n".join(self._lines).encode()
        return {"generator": "lines", "sha256": hashlib.sha256(content).hexdigest()}


class BestOf:
    """Asks another generator `n` times and keeps the answer with the highest score: training has to beat this.

    `score` gives texts their scores, None to an unusable one.
    """

    def __init__(
        self,
        generator: Generator,
        score: Callable[[Sequence[str]], Sequence[float | None]],
        n: int,
    ) -> None:
        self.name = f"best of {n} of {generator.name}"
        self.temperature = generator.temperature
        self._generator, self._score, self._n = generator, score, n

    def answer(self, prompts: Sequence[str], seed: int, batch: int) -> list[Completion]:
        """One answer for each prompt, as above."""
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
        """The other's, too."""
        return {"generator": "best_of", "n": self._n, "of": self._generator.describe()}
