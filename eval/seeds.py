"""Methods: models, and those trained at several seeds, told by their names; a study calls its rows A, A@1, A@2."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from sozo.data.study_folder import without_seed
from sozo.eval.evaluated import Evaluated
from sozo.scoring.measure import MEAN
from sozo.scoring.numbers import n_of
from sozo.scoring.statistics.seeds import over_seeds
from sozo.scoring.table import Cell
from sozo.scoring.translatable import Translatable, translatable
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

    def by(self, judge: str) -> "Method":
        """It with what a further judge scored."""
        return replace(
            self, runs={seed: one.by(judge) for seed, one in self.runs.items()}
        )

    def of_task(self, task: str) -> list[RunResult]:
        """The runs of a task that say most, of those seeds that have one."""
        return [run for model in self.runs.values() if (run := model.run(task))]


def judges_of(methods: Iterable[Method], task: str) -> list[str]:
    """The further judges that scored a task's answers."""
    models = chain(*(method.runs.values() for method in methods))
    keys = chain(*(model.judged for model in models))
    return list(dict.fromkeys(judge for name, judge in keys if name == task))


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


def over_runs(cells: Sequence[Cell]) -> Cell:
    """The mean of several runs' cells with Student's interval over these, written as they are; there must be a cell.

    >>> from sozo.scoring.numbers import SHARE
    >>> over_runs([Cell(value, SHARE) for value in (0.96, 0.97, 0.98)]).line
    '97.0% [94.5, 99.5], n = 3'
    """
    if len(cells) == 1:
        return cells[0]
    values = {
        k: cell.value
        for k, cell in enumerate(cells)
        if isinstance(cell.value, int | float)
    }
    if not values:
        return Cell(why=cells[0].why)
    first = cells[next(iter(values))]
    lacking = (
        (translatable("{n} seeds", n=n_of(len(values), len(cells))),)
        if len(values) < len(cells)
        else ()
    )
    mean = first.measure.inside(over_seeds(values), MEAN)
    return Cell(mean, first.measure, first.kind, below=lacking)


def caveats_of(runs: Sequence[RunResult], elsewhere: Collection[str] = ()) -> list[str]:
    """What numbers of runs must not be read without, but for what is said `elsewhere`: each once, and of counts the sum."""
    alike: dict[Any, list[Any]] = {}
    for caveat in chain(*(run.caveats for run in runs)):
        key: Any = caveat
        if isinstance(caveat, Translatable) and "of" in caveat.values and len(runs) > 1:
            key = (caveat.form, caveat.values.get("why"))
        if caveat not in elsewhere:
            alike.setdefault(key, []).append(caveat)
    return [
        own[0] if key == own[0] else _sum(own, len(runs)) for key, own in alike.items()
    ]


def scored_caveats(runs: Sequence[RunResult]) -> tuple[str, ...]:
    """Those of runs without who scored, for who says that beside."""
    return tuple(name for name in caveats_of(runs) if not name.startswith("by "))


def caveats_of_both(base: Method, method: Method, task: str) -> tuple[str, ...]:
    """The method's, and the base's with its name, where the method has them not."""
    own = scored_caveats(method.of_task(task))
    of_base = (
        translatable("{model}: {caveat}", model=base.name, caveat=caveat)
        for caveat in scored_caveats(base.of_task(task))
        if caveat not in own
    )
    return (*own, *of_base)


def _sum(counts: Sequence[Translatable], runs: int) -> str:
    """Counts of the same, such as answers that were cut off, together, and in how many of the runs."""
    n, of = (sum(one.values[name] for one in counts) for name in ("n", "of"))
    whole = translatable(counts[0].form, **{**counts[0].values, "n": n, "of": of})
    if len(counts) == runs:
        return whole
    return translatable("{caveat} ({n} seeds)", caveat=whole, n=n_of(len(counts), runs))
