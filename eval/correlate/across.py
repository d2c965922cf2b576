"""Correlations between benchmarks across models: Tables 9 and 10, and DAT with SAT (paper, sections 4.3.2 to 4.3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from data.published import load
from eval.correlate.scores import CELLS, ModelRow
from eval.statistics import Correlation, correlate_models, holm

ENOUGH = 3  # models, for a correlation


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of Table 8, 9 or 10.

    Attributes:
        task: Task, or `All`.
        criterion: Criterion, or `mean` of the four.
        correlation: Over the pairs that both sides have.
        p_holm: Its p-value corrected for the number of the table's cells; None where it has none.
        of: Pairs that there could be; some may lack a score.
        paper: The paper's correlation in this cell.
    """

    task: str
    criterion: str
    correlation: Correlation
    p_holm: float | None
    of: int
    paper: float | None

    def to_json(self) -> dict[str, Any]:
        """For a results file."""
        found = asdict(self.correlation)
        return {"task": self.task, "criterion": self.criterion, **found, **{k: getattr(self, k) for k in _OWN}}


_OWN = ("p_holm", "of", "paper")


@dataclass(frozen=True, slots=True)
class Across:
    """Correlations across models.

    Attributes:
        jcq_dat: Table 9, a cell for each of `CELLS`; None if fewer than three models have both.
        jcq_sat: Table 10.
        dat_sat: Section 4.3.4.
        models: How many models have both, by table: `Table 9`, `Table 10`, `DAT and SAT`.
    """

    jcq_dat: tuple[Cell, ...] | None
    jcq_sat: tuple[Cell, ...] | None
    dat_sat: Correlation | None
    models: dict[str, int]


def models_with_both(rows: Sequence[ModelRow]) -> dict[str, int]:
    """How many models have both benchmarks of each comparison.

    >>> models_with_both([])
    {'Table 9': 0, 'Table 10': 0, 'DAT and SAT': 0}
    """
    return {
        "Table 9": sum(bool(row.jcq and row.dat) for row in rows),
        "Table 10": sum(bool(row.jcq and row.sat) for row in rows),
        "DAT and SAT": sum(bool(row.dat and row.sat) for row in rows),
    }


def across_models(rows: Sequence[ModelRow]) -> Across:
    """All correlations that the models allow. A model counts where it has both benchmarks, so random nouns do not."""
    models = models_with_both(rows)
    dat = {row.model: row.dat.mean if row.dat else None for row in rows}
    sat = {row.model: row.sat.mean if row.sat else None for row in rows}
    return Across(
        _table(rows, dat, "jcq_dat_correlation") if models["Table 9"] >= ENOUGH else None,
        _table(rows, sat, "jcq_sat_correlation") if models["Table 10"] >= ENOUGH else None,
        correlate_models(dat, sat) if models["DAT and SAT"] >= ENOUGH else None,
        models,
    )


def _table(rows: Sequence[ModelRow], other: Mapping[str, float | None], published: str) -> tuple[Cell, ...]:
    both = [row for row in rows if row.jcq and other[row.model] is not None]
    found = [
        correlate_models({row.model: row.jcq_cells[task, criterion] for row in both}, other)
        for task, criterion in CELLS
    ]
    return make_cells(CELLS, found, [len(both)] * len(CELLS), published)


def make_cells(
    names: Sequence[tuple[str, str]], found: Sequence[Correlation], of: Sequence[int], published: str
) -> tuple[Cell, ...]:
    """The cells of one table, their p-values corrected together, beside the paper's."""
    paper = {(row["task"].lower(), row["criterion"]): row["pearson"] for row in load(published)}
    return tuple(
        Cell(task, criterion, correlation, p_holm, pairs, paper.get((task.lower(), criterion)))
        for (task, criterion), correlation, p_holm, pairs in zip(
            names, found, holm([one.p for one in found]), of, strict=True
        )
    )
