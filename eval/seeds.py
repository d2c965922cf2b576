"""Methods: models, and those trained at several seeds, told by their names; a study calls its rows A, A@1, A@2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sozo.data.study_folder import without_seed
from sozo.eval.evaluated import Evaluated
from sozo.tasks.run_result import RunResult


@dataclass(frozen=True, slots=True)
class Method:
    """A model, or what one training makes at several seeds."""

    name: str  # without the seed, if there are several
    runs: Mapping[
        str, Evaluated
    ]  # model by seed; "" is that of a name without a number, a study's first one

    @property
    def several(self) -> bool:
        """Whether there are several seeds."""
        return len(self.runs) > 1

    @property
    def seeds(self) -> int:
        """How many seeds; 0 of a model alone, which is no mean over seeds."""
        return len(self.runs) if self.several else 0

    @property
    def one_training(self) -> bool:
        """Whether one training of ours stands behind it, of which another seed may say otherwise."""
        return self.first.trained and not self.several

    @property
    def first(self) -> Evaluated:
        """The model of the first seed."""
        return next(iter(self.runs.values()))

    @property
    def reference(self) -> bool:
        """Whether lists of nouns were drawn and no model wrote: what models are held against."""
        return all(model.reference for model in self.runs.values())

    def at(self, seed: str) -> Evaluated:
        """The model of a seed; the first one where it has no such seed."""
        return self.runs.get(seed, self.first)

    def of_task(self, task: str) -> list[RunResult]:
        """The runs of a task that say most, of those seeds that have one."""
        return [run for model in self.runs.values() if (run := model.run(task))]


def fold(models: Sequence[Evaluated]) -> list[Method]:
    """The methods, in the order of their first models. NAME@1 alone is no seed of anything.

    >>> [(m.name, list(m.runs)) for m in fold([Evaluated(name) for name in ("base", "A", "B@7", "A@1")])]
    [('base', ['']), ('A', ['', '1']), ('B@7', [''])]
    """
    found: dict[tuple[Path | None, str], dict[str, Evaluated]] = {}
    for model in models:
        name, seed = without_seed(model.name)
        found.setdefault((model.study, name), {})[seed.removeprefix("@")] = model
    methods = [Method(name, runs) for (_, name), runs in found.items()]
    return [
        method if method.several else Method(method.first.name, {"": method.first})
        for method in methods
    ]
