"""Methods: models, and those trained at several seeds, told by their names; a study calls its rows A, A@1, A@2."""

from collections.abc import Iterable, Mapping, Sequence
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
    # Model by seed; "" is that of a name without a number, a study's first one.
    runs: Mapping[str, Evaluated]

    @property
    def seeds(self) -> int:
        """How many seeds; 0 of a model alone, which is no mean over seeds."""
        return len(self.runs) if len(self.runs) > 1 else 0

    @property
    def one_training(self) -> bool:
        """Whether one training of ours stands behind it, of which another seed may say otherwise."""
        return self.first.trained and not self.seeds

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
        one if one.seeds else Method(one.first.name, {"": one.first}) for one in methods
    ]


def over_runs(cells: Sequence[Cell]) -> Cell:
    """The mean of several runs' cells with Student's interval over these, written as they are; there must be a cell.

    >>> from sozo.scoring.numbers import SHARE
    >>> over_runs([Cell(value, SHARE) for value in (0.96, 0.97, 0.98)]).line
    '97.0% [94.5, 99.5], n = 3'
    """
    if len(cells) == 1:
        return cells[0]
    known = [cell for cell in cells if isinstance(cell.value, int | float)]
    if not known:
        return Cell(why=cells[0].why)
    first, lacking = known[0], list[str]()
    if len(known) < len(cells):
        lacking.append(translatable("{n} seeds", n=n_of(len(known), len(cells))))
    values = {k: float(cell.value or 0) for k, cell in enumerate(known)}
    mean = first.measure.inside(over_seeds(values), MEAN)
    return Cell(mean, first.measure, first.kind, below=tuple(lacking))


def caveats_of(runs: Sequence[RunResult], *, scorer: bool = False) -> list[str]:
    """What numbers of runs must not be read without, each once, and of counts the sum; perhaps who scored, too."""
    found: dict[Any, str] = {}
    for caveat in chain(*(run.caveats for run in runs)):
        if not isinstance(caveat, Translatable) or "of" not in caveat.values:
            found[caveat] = caveat
            continue
        own = dict(caveat.values)
        n, of = own.pop("n"), own.pop("of")
        key = caveat.form, str(own)
        if isinstance(before := found.get(key), Translatable):
            n, of = n + before.values["n"], of + before.values["of"]
        found[key] = translatable(caveat.form, **own, n=n, of=of)
    return [text for text in found.values() if scorer or not text.startswith("by ")]
