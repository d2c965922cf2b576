"""What appendix C says of evaluations: Table 23 (ranks), Table 24 (agreement with people) and Figure 1 (the curve)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from data.errors import UserError
from eval.agreement.agreement import Agreement, CurvePoint, agreement, agreement_curve
from eval.matrix import Matrix, RankedModel, rank_models
from eval.statistics import holm

DRAWS = 1000
SEED = 0


@dataclass(frozen=True, slots=True)
class Compared:
    """An evaluation against a reference.

    Attributes:
        agreement: Over models.
        p_holm: Its p-value corrected for the number of evaluations compared with this reference.
        curve: Figure 1: its correlation over random subsets of so many stories; empty without a correlation, or against
            the second reference.
    """

    agreement: Agreement
    p_holm: float | None
    curve: tuple[CurvePoint, ...]

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        return {
            **self.agreement.to_json(),
            "p_holm": self.p_holm,
            "curve": [point.to_json() for point in self.curve],
        }


@dataclass(frozen=True, slots=True)
class AppendixC:
    """The result of `python -m eval agreement`.

    Attributes:
        tables: Every evaluation: encoders, people, a judge.
        ranked: Table 23.
        compared: Tables 24 and Figure 1: each other evaluation against people, then encoders against the judge; only
            the latter without people; empty without either.
    """

    tables: tuple[Matrix, ...]
    ranked: tuple[RankedModel, ...]
    compared: tuple[Compared, ...]

    def to_json(self) -> dict[str, Any]:
        """For a results file, with every score by evaluation, model and story."""
        return {
            "draws": DRAWS,
            "seed": SEED,
            "ranked": [asdict(row) for row in self.ranked],
            "compared": [row.to_json() for row in self.compared],
            "scores": {table.name: table.to_json() for table in self.tables},
        }


def appendix_c(encoders: Sequence[Matrix], people: Matrix | None = None, judge: Matrix | None = None) -> AppendixC:
    """Ranks, agreement and curves of some evaluations of the same rewrites.

    >>> scores = {"A": {"1": 0.5}, "B": {"1": 0.3}, "C": {"1": 0.1}}
    >>> result = appendix_c([Matrix.of("encoder", scores)], Matrix.of("human", scores))
    >>> [(row.agreement.evaluation, round(row.agreement.pearson, 3)) for row in result.compared]
    [('encoder', 1.0)]
    """
    tables = tuple(table for table in (*encoders, people, judge) if table is not None)
    names = [table.name for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two evaluations are called {name}; leave one out, or give it by another path")
    compared: list[Compared] = []
    for reference in (people, judge):
        if reference is not None:
            others = [table for table in tables if table is not reference and table is not people]
            compared += _compared(others, reference, curves=not compared)
    return AppendixC(tables, rank_models(tables), tuple(compared))


def _compared(tables: Sequence[Matrix], reference: Matrix, *, curves: bool) -> list[Compared]:
    agreements = [agreement(table, reference) for table in tables]
    corrected = holm([result.p for result in agreements])
    rows = []
    for table, result, p in zip(tables, agreements, corrected, strict=True):
        with_curve = curves and result.pearson is not None
        curve = agreement_curve(table, reference, draws=DRAWS, seed=SEED) if with_curve else ()
        rows.append(Compared(result, p, curve))
    return rows
