"""What appendix C says of evaluations: Table 23 (ranks), Table 24 (agreement with people) and Figure 1 (the curve)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sozo.data.errors import UserError
from sozo.eval.agreement.curve import DRAWS, SEED, CurvePoint, agreement_curve, differ
from sozo.eval.matrix import Matrix, Placed, aligned, rank_models
from sozo.scoring.statistics import holm
from sozo.scoring.statistics.correlation import few, pearson

MIN_MODELS = 3


@dataclass(frozen=True, slots=True)
class Agreement:
    """Pearson's correlation of the models' mean scores in two evaluations, over the stories that both have whole."""

    evaluation: str  # the one that is tested
    reference: str  # what it is tested against: people
    models: int  # that both have
    stories: int  # on which all those models have a score in both: the means are over these
    pearson: float | None = None  # None with fewer than three models, no story, or the same mean for all models
    p: float | None = None  # two-sided, of no correlation
    ci95: tuple[float, float] | None = None  # Fisher's; None with fewer than four models. Eleven still make it wide.
    p_holm: float | None = None  # p corrected for the number of evaluations compared with this reference
    curve: tuple[CurvePoint, ...] = ()  # Figure 1; empty without a correlation, or against the second reference

    @property
    def reason(self) -> str | None:
        """Why there is no correlation, or else why it says little; None if neither."""
        if self.pearson is not None:
            return few(self.models, "models")
        if self.models < MIN_MODELS:
            return f"{self.models} models have both: a correlation needs {MIN_MODELS}"
        return "all models have the same mean" if self.stories else "no story has scores of all models in both"

    def to_json(self) -> dict[str, Any]:
        """For a results file, with neither correction nor curve."""
        names = ("evaluation", "reference", "models", "stories", "pearson", "p", "ci95", "reason")
        return {name: getattr(self, name) for name in names}


def agreement(matrix: Matrix, reference: Matrix) -> Agreement:
    """How far `matrix` agrees with `reference` over models: a cell of Table 24.

    >>> scores = Matrix.of("encoder", {"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}})
    >>> people = Matrix.of("human", {"A": {"1": 1.0}, "B": {"1": 0.0}, "C": {"1": 0.5}})
    >>> round(agreement(scores, people).pearson, 3)
    0.5
    """
    ours, theirs = aligned(matrix, reference)
    models, items = ours.shape
    names = (matrix.name, reference.name, models, items)
    if models < MIN_MODELS or not items or not (differ(ours.mean(axis=1)) and differ(theirs.mean(axis=1))):
        return Agreement(*names)
    result = pearson(ours.mean(axis=1), theirs.mean(axis=1), unit="models")
    ci95 = None if result.low is None or result.high is None else (result.low, result.high)
    return Agreement(*names, result.r, result.p, ci95)


@dataclass(frozen=True, slots=True)
class AppendixC:
    """The result of `sozo agreement`."""

    tables: tuple[Matrix, ...]  # every evaluation: encoders, people, a judge
    ranked: dict[str, dict[str, Placed]]  # Table 23: model -> evaluation -> its place
    # Table 24 and Figure 1: each other evaluation against people, then encoders against the judge; only the latter
    # without people; empty without either.
    compared: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        """For a results file, with every score by evaluation, model and story."""
        ranked = [
            {"model": model, "by_evaluation": {name: asdict(placed) for name, placed in row.items()}}
            for model, row in self.ranked.items()
        ]
        compared = [
            {**row.to_json(), "p_holm": row.p_holm, "curve": list(map(asdict, row.curve))} for row in self.compared
        ]
        scores = {table.name: table.to_json() for table in self.tables}
        return {"draws": DRAWS, "seed": SEED, "ranked": ranked, "compared": compared, "scores": scores}


def appendix_c(encoders: Sequence[Matrix], people: Matrix | None = None, judge: Matrix | None = None) -> AppendixC:
    """Ranks, agreement and curves of some evaluations of the same rewrites.

    >>> scores = {"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}}
    >>> result = appendix_c([Matrix.of("encoder", scores)], Matrix.of("human", scores))
    >>> [(row.evaluation, round(row.pearson, 3)) for row in result.compared]
    [('encoder', 1.0)]
    """
    tables = tuple(table for table in (*encoders, people, judge) if table is not None)
    names = [table.name for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two evaluations are called {name}; leave one out, or give it by another path")
    compared: list[Agreement] = []
    for reference in (people, judge):
        if reference is None:
            continue
        with_curves, others = not compared, [table for table in tables if table not in (reference, people)]
        results = [agreement(table, reference) for table in others]
        for table, result, p in zip(others, results, holm([result.p for result in results]), strict=True):
            curve = agreement_curve(table, reference) if with_curves and result.pearson is not None else ()
            compared.append(replace(result, p_holm=p, curve=curve))
    return AppendixC(tables, rank_models(tables), tuple(compared))
