"""Tables of differences from the base: of each task what is compared, and the gains by a second encoder."""

from dataclasses import replace

from sozo.eval.curve import CURVE
from sozo.eval.findings import PART, Finding
from sozo.eval.report.labels import measure_label
from sozo.eval.report.tables import TaskOnPage, without_empty
from sozo.eval.second_encoder import PARTS
from sozo.models.trained_on import YES
from sozo.scoring.measure import DIFFERENCE, LEVEL, RATIO, Measure
from sozo.scoring.numbers import number, p_value, percent
from sozo.scoring.table import OF, Cell, Table
from sozo.scoring.translatable import translatable

_EFFECT = Measure("effect", 2)
_SHOWN = ("gain_own", "gain_second", "gain_shuffled", "gain_pairing", "known_pairs")


def difference_tables(page: TaskOnPage) -> list[Table]:
    """A task's differences, a line a pair of models: the measures of the first screen, then the others."""
    own = [
        row
        for row in page.found.rows
        if row.task == page.task.name and row.kind in (DIFFERENCE, RATIO, CURVE)
    ]
    measures = {
        row.measure.name: row.measure
        for row in sorted(own, key=lambda row: not row.first)
    }
    # A point of the curve itself has no height above it.
    lacking = {
        row.measure.name: Cell(why="" if row.kind == CURVE else "not_measured")
        for row in own
    }
    rows = []
    for base, method in page.found.compared.pairs:
        cells = {
            row.measure.name: detailed(row)
            for row in own
            if (row.model, row.base) == (method.name, base.name)
        }
        if (
            cells
            and base.of_task(page.task.name)
            and method.of_task(page.task.name)
            and not method.reference
        ):
            each = [cells.get(name, lacking[name]) for name in measures]
            row = page.row(method, each, base.name)
            of_base = [
                translatable(OF, of=base.name, caveat=caveat)
                for caveat in page.own_caveats(base)
                if caveat not in row.caveats
            ]
            rows.append(replace(row, caveats=(*row.caveats, *of_base)))
    scales = filter(
        None, dict.fromkeys(run.scale.get("score_name") for run in page.runs)
    )
    notes = ("differences_note", "arrow_note", "points_note", *scales)
    headings = ("model", *map(measure_label, measures.values()))
    table = without_empty(
        Table(
            page.titled("{task}: differences"),
            headings,
            tuple(rows),
            notes,
            scope=page.scope,
        )
    )
    return [table] if table.rows or table.empty else []


def gain_tables(page: TaskOnPage) -> list[Table]:
    """The gains by the runs' own encoder and by the second one, in standard deviations; none without a second one."""
    own = [
        row
        for row in page.found.rows
        if row.task == page.task.name and row.column in (*PARTS, "known_pairs")
    ]
    if not any(row.kind == PART for row in own):
        return []
    rows = []
    for base, method in page.found.compared.pairs:
        cells = {
            row.column: row.cell
            for row in own
            if (row.model, row.base) == (method.name, base.name)
        }
        if cells:
            rows.append(page.row(method, [cells[name] for name in _SHOWN], base.name))
    by = {row.by for row in own if row.column == "gain_second"}
    notes = (
        "second_encoder_note",
        translatable("The second encoder is {encoder}.", encoder=", ".join(by)),
    )
    name = page.titled("{task}: gains by a second encoder")
    return [Table(name, ("model", *_SHOWN), tuple(rows), notes)]


def detailed(row: Finding) -> Cell:
    """A difference with its level, p, effect size, what was subtracted, and whether it is evidence."""
    cell, known = row.cell, row.estimate
    lines: list[str] = []
    if known.low is not None and known.level != LEVEL:
        lines.append(translatable("interval of {level}", level=percent(known.level)))
    if row.p_corrected is not None:
        lines.append(p_value(row.p_corrected))
    if row.effect is not None:
        lines.append(f"d = {number(row.effect, _EFFECT, DIFFERENCE)}")
    if known.reason:
        lines.append(known.reason)
    if row.target == YES:
        lines.append("target")
    more = {
        "level": known.level,
        "p": row.p_corrected,
        "effect": row.effect,
        "base_n": known.base_n,
        "model_value": row.value,
        "base_value": row.base_value,
    }
    known_of = {
        name: value
        for name, value in more.items()
        if value is not None and known.value is not None
    }
    return replace(cell, below=(*lines, *row.below), more=known_of)
