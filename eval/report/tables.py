"""The evaluation page's tables, in the paper's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from data.jcq import CONTENT_SHA256, CRITERIA
from eval.compare import DAT, JCQ_MEAN, SAT, VALID, Change
from eval.finished import Evaluated
from eval.report.cells import DASH, Cell, Format, cell, change_cell, digits, jcq_cell, of, share, with_change
from eval.report.paper import dat_figures, jcq_figures, paper_rows, sat_figure
from eval.show import percent
from rewards.tasks.dat.table11 import Table11
from rewards.tasks.jcq.tables import jcq_tables

Changes = Mapping[tuple[str, str], Change]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of the page.

    Args:
        name: Label of its title.
        columns: Labels of its columns; the first is that of the rows' names.
        rows: Name of each row and its cells.
        notes: Labels of what stands below it.
        papers: Heading and rows of the same table in the paper, digit for digit.
        translate: Whether the rows' names are labels.
        against: What a row's differences are from.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    notes: tuple[str, ...] = ()
    papers: tuple[tuple[str, ...], ...] = ()
    translate: bool = False
    against: Mapping[str, str] = field(default_factory=dict)

    def shade(self, made: Cell) -> float | None:
        """How strong a cell's colour is, 0 to 1, from the table's smallest number to its largest; None without one."""
        if made.heat is None:
            return None
        values = [other.heat for _, cells in self.rows for other in cells if other.heat is not None]
        low, high = min(values), max(values)
        return (made.heat - low) / (high - low) if high > low else 0.0


def overview(models: Sequence[Evaluated]) -> PageTable:
    """One line a model: DAT, JCQ, SAT."""
    rows = []
    for model in models:
        cells = [Cell(DASH)] * 3
        if model.dat:
            dat = model.dat.summary
            cells[0] = cell(dat.mean, _scale(dat.mean), dat.ci95, of(dat.valid, dat.num_responses))
        if model.jcq:
            cells[1] = replace(jcq_cell(model, JCQ_MEAN), heat=None)
        if model.sat:
            cells[2] = _sat_mean(model)
        rows.append((model.name, tuple(cells)))
    return PageTable("overview", ("model", "dat", "jcq", "sat"), tuple(rows))


def dat_table(models: Sequence[Evaluated], table: Table11, found: Changes) -> PageTable:
    """Valid responses, mean, standard deviation, unique words (Tables 6 and 11)."""
    rows = []
    for model, row in zip([model for model in models if model.dat], table.rows, strict=True):
        summary, paper = row.summary, dat_figures(model)
        style = _scale(summary.mean)
        valid = Cell(f"{summary.valid:,}", (percent(summary.valid, summary.num_responses),), paper.get("valid", ""))
        mean = replace(cell(summary.mean, style, summary.ci95), paper=paper.get("mean", ""))
        words = DASH if row.equal_size_words is None else f"{row.equal_size_words:,.0f}"
        cells = (
            Cell(f"{summary.num_responses:,}"),
            with_change(valid, found.get((model.name, VALID)), share),
            with_change(mean, found.get((model.name, DAT)), style),
            replace(cell(summary.std, style, None), paper=paper.get("std", "")),
            Cell(f"{summary.unique_words:,}", paper=paper.get("unique_words", "")),
            Cell(words, (f"n = {table.equal_size:,}",)),
        )
        rows.append((model.name, cells))
    columns = ("model", "trials", "valid", "mean", "std", "unique_words", "equal_words")
    return PageTable("table11", columns, tuple(rows), ("dat_note", "scale_note"), paper_rows("table11"))


def trials_table(models: Sequence[Evaluated]) -> PageTable:
    """The benchmark of a fixed number of valid responses (Table 6), where a larger table stands beside it."""
    rows = []
    for model in models:
        if model.trials is None:
            continue
        row = model.trials.summary
        style = _scale(row.mean)
        cells = (
            Cell(f"{row.valid:,}"),
            Cell(f"{row.num_responses:,}", (percent(row.valid, row.num_responses),)),
            cell(row.mean, style, row.ci95),
            cell(row.std, style, None),
        )
        rows.append((model.name, cells))
    return PageTable("table6", ("model", "valid_trials", "attempts", "mean", "std"), tuple(rows))


def jcq_table(name: str, models: Sequence[Evaluated], parts: Sequence[str], found: Changes) -> PageTable:
    """Models by criteria (Tables 3 and 12) or by tasks (4 and 13), the mean last; a heat map."""
    asked = [model for model in models if model.jcq]
    rows = []
    for model in asked:
        paper, cells = jcq_figures(model, name), []
        for column in (*(f"jcq/{part}" for part in parts), JCQ_MEAN):
            made = replace(jcq_cell(model, column), paper=paper.get(column, ""))
            cells.append(with_change(made, found.get((model.name, column)), digits(2)))
        rows.append((model.name, tuple(cells)))
    benchmark = all(model.jcq.settings["questions_sha256"] == CONTENT_SHA256 for model in asked if model.jcq)
    notes = ("jcq_note", *(() if benchmark else ("trial_note",)), "scale_note")
    return PageTable(name, ("model", *parts, "mean"), tuple(rows), notes, paper_rows(name))


def task_by_criterion(models: Sequence[Evaluated]) -> PageTable:
    """Tasks by criteria over all models (Table 5); a heat map."""
    table = jcq_tables([replace(m.jcq.scores, model=m.name) for m in models if m.jcq]).task_by_criterion
    rows = tuple(
        (task, tuple(replace(cell(c.mean, digits(2), None, of(c.scored, c.asked)), heat=c.mean) for c in cells))
        for task, cells in zip(table.rows, table.cells, strict=True)
    )
    return PageTable("table5", ("task", *CRITERIA, "mean"), rows, (), paper_rows("table5"), translate=True)


def sat_table(models: Sequence[Evaluated], found: Changes) -> PageTable:
    """Distance and compliance (Tables 7 and 14)."""
    rows = []
    for model in models:
        if model.sat is None:
            continue
        row = model.sat.summary
        mean = with_change(replace(_sat_mean(model), paper=sat_figure(model)), found.get((model.name, SAT)), digits(4))
        cells = (
            mean,
            Cell(percent(row.compliant, row.num_rewrites), (of(row.compliant, row.num_rewrites),)),
            cell(row.compliant_mean, digits(4), None, of(row.compliant_stories, row.num_stories)),
            cell(row.mean_length, digits(0), None),
            cell(row.mean_copied, share, None),
        )
        rows.append((model.name, cells))
    columns = ("model", "mean", "compliant", "compliant_mean", "length", "copied")
    return PageTable("table14", columns, tuple(rows), ("sat_note", "scale_note"), paper_rows("table14"))


def change_table(name: str, models: Sequence[Evaluated], columns: Sequence[str], found: Changes) -> PageTable:
    """Every difference from the base with its interval, effect size and corrected p-value."""
    there = [column for column in columns if any(key[1] == column for key in found)]
    base = {model: change.base for (model, _), change in found.items()}
    rows = tuple(
        (model.name, tuple(change_cell(found.get((model.name, column)), _style(column)) for column in there))
        for model in models
        if model.name in base
    )
    labels = tuple(column if column == JCQ_MEAN else column.partition("/")[2] or column for column in there)
    return PageTable(name, ("model", *labels), rows, ("changes_note",), against=base)


def _sat_mean(model: Evaluated) -> Cell:
    assert model.sat
    row = model.sat.summary
    return cell(row.mean, digits(4), row.ci95, of(row.scored_stories, row.num_stories))


def _style(column: str) -> Format:
    return share if column == VALID else digits(2 if column.startswith("jcq") else 4)


def _scale(mean: float | None) -> Format:
    """Four decimals for DAT scores, two for Olson's (0 to 200)."""
    return digits(4 if mean is None or mean <= 2 else 2)
