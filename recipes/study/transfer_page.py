"""The page of a study's transfer matrix, and the same in Markdown: the claim, what trains what, the values."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sozo.data.errors import UserError
from sozo.data.markdown import bullets
from sozo.data.record import write_json, write_whole
from sozo.eval.report.exports import write_tables
from sozo.eval.report.render import render
from sozo.scoring.measure import Measure
from sozo.scoring.numbers import SHARE, number, p_value
from sozo.scoring.table import Cell, Content, Table, markdown, tabulate
from sozo.tasks import finished_run
from study.claims import when_noted
from study.config import Study
from study.steps import answers_folder
from study.transfer import FEWEST, Column, Effect, Matrix, make_column

_DEVIATIONS = Measure("deviations", 2)
_FEW = "too few valid answers"
_SMALLEST = "what 80% of such studies would have seen, (t at 97.5% + t at 80%) x standard error."


def read_matrix(study: Study) -> Matrix:
    """The matrix of a study whose steps are finished."""
    assert study.transfer is not None
    transfer, columns = study.transfer, {}
    for task in transfer.columns:
        measure, scores, valid = transfer.measure(task), {}, np.zeros((len(study.rows), len(study.seeds)))
        for arm, seed in study.points:
            folder = answers_folder(study, arm, seed) / task
            if (run := finished_run(folder)) is None:
                raise UserError(f"{folder}: holds no finished run; run the study again")
            answers, place = list(run.answers()), (study.rows.index(arm), study.seeds.index(seed))
            # Of a task's first measure invalid answers may have a value too; of another one who has a value is valid.
            marks = f"{task}/valid" if measure.name == task else ""
            valued = [answer.values for answer in answers if measure.name in answer.values]
            own = [values[measure.name] for values in valued if values.get(marks, 1.0) > 0]
            scores[place], valid[place] = np.array(own), len(own) / len(answers)
        columns[task] = make_column(measure, scores, valid)
    names = [arm.name for arm in study.rows]
    return Matrix(names, study.seeds, transfer.against, columns, transfer.claim, transfer.controls)


def claim_table(study: Study, matrix: Matrix) -> Table:
    """What was claimed beforehand, and what came out."""
    (verdict, reason), claim, found = matrix.verdict, matrix.claim, matrix.found
    by_seed = ", ".join(number(value, _DEVIATIONS, signed=True) for value in map(_known, matrix.by_seed.values()))
    cells: dict[str, Content] = {
        "Claim": claim.name,
        "Found": Cell(found.mean, _DEVIATIONS, found.low, found.high, signed=True, below=(f"by seed {by_seed}",)),
        "Smallest effect": Cell(_known(matrix.smallest), _DEVIATIONS),
        "p": None if found.p is None else p_value(found.p),
        "So it": Cell(verdict, below=(reason,) if reason else ()),
        "Written": when_noted(Path(study.output_dir), claim),
    }
    cells_of = f"{len(claim.cells)} cells ({', '.join(claim.rows)} on {', '.join(claim.columns)})"
    notes = [
        f"Found: the mean over {cells_of} of the difference from {matrix.against}, with its 95% interval.",
        "Its interval is over the seeds; its unit standard deviations of an answer's value.",
        f"Smallest effect: {_SMALLEST}",
        "It held where the interval is above 0, and failed where it is below; p is two-sided.",
    ]
    return tabulate("The claim", [cells], notes)


def effects_table(matrix: Matrix) -> Table:
    """What each row's training does to each column, more than training for form alone."""
    rows = [
        {"Trained on": row} | {name: _effect(matrix.effect(row, name), own) for name, own in matrix.columns.items()}
        for row in matrix.rows
        if row != matrix.against
    ]
    notes = [
        f"Each number is a difference from {matrix.against} at the same seed, with its 95% interval over the seeds.",
        "The error is that of the column: what differs by chance between trainings, over all trained rows.",
        f"Seen from: {_SMALLEST}",
        "Of its own: the difference as a share of what training on the column's own task does.",
        f"Exploratory, but for the claim: {len(rows) * len(matrix.columns)} cells are not corrected for their number.",
    ]
    return tabulate("What trains what", rows, notes)


def _effect(effect: Effect | None, column: Column) -> Cell:
    if effect is None:
        return Cell(why=_FEW)
    measure, interval = column.measure, effect.interval
    below = [f"seen from {number(effect.smallest, measure, signed=True).lstrip('+')}"]
    if effect.of_diagonal is not None:
        below.append(f"{effect.of_diagonal:.0%} of its own")
    return Cell(interval.mean, measure, interval.low, interval.high, signed=True, below=tuple(below))


def values_table(matrix: Matrix) -> Table:
    """The values from which the differences are taken, and how many answers are valid."""
    rows = [
        {"Trained on": row} | {own.measure.name: _value(own, k) for own in matrix.columns.values()}
        for k, row in enumerate(matrix.rows)
    ]
    counts = ", ".join(f"{name} {own.n:,}" for name, own in matrix.columns.items())
    notes = [
        f"Means over the seeds over equally many valid answers of every row: {counts}.",
        f"Valid: the share of all answers. A row with fewer than {FEWEST} valid ones at a seed has no value.",
    ]
    return tabulate("Values", rows, notes)


def _value(column: Column, row: int) -> Cell:
    mean, valid = _known(column.values[row].mean()), number(float(column.valid[row].mean()), SHARE)
    return Cell(mean, column.measure, why=_FEW if mean is None else "", below=(f"valid {valid}",))


def _known(value: float) -> float | None:
    """None for NaN."""
    return None if math.isnan(value) else float(value)


def to_json(matrix: Matrix) -> dict[str, Any]:
    """For `metrics.json`: everything by column, row and seed."""
    columns = {}
    for name, own in matrix.columns.items():
        effects = {row: matrix.effect(row, name) for row in matrix.rows}
        columns[name] = {
            "measure": own.measure.name,
            "n": own.n,
            "answer_sd": _known(own.sd),
            "values": {row: list(map(_known, matrix.row(name, row))) for row in matrix.rows},
            "valid": dict(zip(matrix.rows, own.valid.tolist(), strict=True)),
            "effects": {row: asdict(effect) for row, effect in effects.items() if effect},
        }
    verdict, reason = matrix.verdict
    claim = asdict(matrix.claim) | {"verdict": verdict, "reason": reason, "found": asdict(matrix.found)}
    claim |= {"by_seed": list(map(_known, matrix.by_seed.values())), "smallest": _known(matrix.smallest)}
    return {"seeds": list(matrix.seeds), "against": matrix.against, "claim": claim, "columns": columns}


def write_matrix(folder: Path, study: Study) -> str:
    """Write result.md, report.html and, last, metrics.json into `folder`; returns the Markdown."""
    assert study.transfer is not None
    matrix, title = read_matrix(study), f"What trains what: {study.model.replace('{seed}', 'SEED')}"
    tables = [claim_table(study, matrix), effects_table(matrix), values_table(matrix)]
    sections = [f"## {table.name}\n\n{markdown(table)}\n{bullets(table.notes)}" for table in tables]
    text = "\n".join([*(f"{line}\n" for line in study.transfer.notes), *sections])
    write_whole(folder / "result.md", f"# {title}\n\n{text}".encode())
    write_tables(folder / "report-tables", tables)
    template = Path(__file__).with_name("transfer.html")
    write_whole(folder / "report.html", render(template, title=title, answer=study.transfer.notes, tables=tables))
    write_json(folder / "metrics.json", to_json(matrix))
    return text
