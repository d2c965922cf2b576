"""What appendix C says of evaluations: Table 23 (ranks), Table 24 (agreement with people) and Figure 1 (the curve)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from data.errors import UserError
from eval.agreement.agreement import DRAWS, SEED, Agreement, agreement, agreement_curve
from eval.matrix import Matrix, RankedModel, rank_models
from eval.statistics import holm


@dataclass(frozen=True, slots=True)
class AppendixC:
    """The result of `python -m eval agreement`."""

    tables: tuple[Matrix, ...]  # every evaluation: encoders, people, a judge
    ranked: tuple[RankedModel, ...]  # Table 23
    # Table 24 and Figure 1: each other evaluation against people, then encoders against the judge; only the latter
    # without people; empty without either.
    compared: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        """For a results file, with every score by evaluation, model and story."""
        return {
            "draws": DRAWS,
            "seed": SEED,
            "ranked": [asdict(row) for row in self.ranked],
            "compared": [
                {**row.to_json(), "p_holm": row.p_holm, "curve": [asdict(point) for point in row.curve]}
                for row in self.compared
            ],
            "scores": {table.name: table.to_json() for table in self.tables},
        }


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
        with_curves = not compared
        others = [table for table in tables if table is not reference and table is not people]
        results = [agreement(table, reference) for table in others]
        for table, result, p in zip(others, results, holm([result.p for result in results]), strict=True):
            curve = agreement_curve(table, reference) if with_curves and result.pearson is not None else ()
            compared.append(replace(result, p_holm=p, curve=curve))
    return AppendixC(tables, rank_models(tables), tuple(compared))
